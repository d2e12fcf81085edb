package muniment

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// Environment variables that Connect reads for what it is not told.
const (
	TargetVariable = "MUNIMENT_TARGET"
	TenantVariable = "MUNIMENT_TENANT"
	APIKeyVariable = "MUNIMENT_API_KEY"
)

var (
	tenantForm     = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)
	clientForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+ ()-]{0,63}$`)
	credentialForm = regexp.MustCompile(`^[\x21-\x7e]+$`)
)

// TokenSource returns the credential (a JWT or an API key) for the next call. It is asked for every call, by
// several goroutines at once: cache what is costly. The context ends with the call's deadline.
type TokenSource func(ctx context.Context) (string, error)

// Deadlines are how long calls may take, repetitions included, when neither their context has a deadline nor
// they are given a Timeout. What is 0 keeps its default.
type Deadlines struct {
	Recall    time.Duration // 2 s
	Write     time.Duration // 5 s
	Supersede time.Duration // 5 s; Restore, Retract, UndoWrite and DecideReview, too
	Erase     time.Duration // 30 s; SetConsent, too
	Ingest    time.Duration // 30 s; ImportMemories, too
	Export    time.Duration // 600 s, for a whole export or a whole StreamIngest
	Other     time.Duration // 5 s
}

func (d Deadlines) of(kind deadlineKind) time.Duration {
	return [...]time.Duration{d.Other, d.Recall, d.Write, d.Supersede, d.Erase, d.Ingest, d.Export}[kind]
}

func (d Deadlines) complete() (Deadlines, error) {
	for _, each := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&d.Recall, 2 * time.Second},
		{&d.Write, 5 * time.Second},
		{&d.Supersede, 5 * time.Second},
		{&d.Erase, 30 * time.Second},
		{&d.Ingest, 30 * time.Second},
		{&d.Export, 600 * time.Second},
		{&d.Other, 5 * time.Second},
	} {
		if *each.value < 0 {
			return d, errors.New("muniment: a deadline must be above 0")
		}
		if *each.value == 0 {
			*each.value = each.standard
		}
	}
	return d, nil
}

type settings struct {
	endpoint       endpoint
	tenant         string
	apiKey         string
	tokenSource    TokenSource
	tls            *tls.Config
	insecure       bool
	deadlines      Deadlines
	clientName     string
	ownWrites      bool
	logger         *slog.Logger
	tracerProvider trace.TracerProvider
	meterProvider  metric.MeterProvider
	dialOptions    []grpc.DialOption
}

// Option is a setting of Connect.
type Option func(*settings)

// WithTenant names the tenant that all calls are made for.
func WithTenant(name string) Option { return func(s *settings) { s.tenant = name } }

// WithAPIKey gives the credential.
func WithAPIKey(key string) Option { return func(s *settings) { s.apiKey = key } }

// WithTokenSource gives a function that returns the credential for each call, instead of an API key.
func WithTokenSource(source TokenSource) Option { return func(s *settings) { s.tokenSource = source } }

// WithTLS says how to encrypt. Without it, everything but loopback is encrypted with the system's authorities.
// For mutual TLS set Certificates; see [TLSFiles].
func WithTLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// WithInsecure allows plaintext to elsewhere than loopback: then everybody on the way can read the
// credential and the memories.
func WithInsecure() Option { return func(s *settings) { s.insecure = true } }

// WithDeadlines changes how long calls may take.
func WithDeadlines(deadlines Deadlines) Option { return func(s *settings) { s.deadlines = deadlines } }

// WithClientName gives name and version of your program for the audit trail, for example "support-bot/2.1".
func WithClientName(name string) Option { return func(s *settings) { s.clientName = name } }

// WithoutReadYourWrites makes recalls not wait until they can find this client's own writes by meaning, should the
// server make its vectors after it answered the write.
func WithoutReadYourWrites() Option { return func(s *settings) { s.ownWrites = false } }

// WithLogger is told what must not get lost but is no error: a use report that failed, memories left out of a
// list. By default [slog.Default].
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.logger = logger } }

// WithTracerProvider makes spans with it instead of the global one.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(s *settings) { s.tracerProvider = provider }
}

// WithMeterProvider measures with it instead of the global one.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(s *settings) { s.meterProvider = provider }
}

// WithDialOptions adds options of grpc, interceptors for example. They come after the client's own; an
// interceptor sees the metadata of calls, the credential included.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dialOptions = append(s.dialOptions, options...) }
}

// TLSFiles reads a TLS configuration from files of PEM text: authority, which may have signed the server's certificate
// (empty: those of the system), and for mutual TLS the client's own certificate and key (both or neither).
func TLSFiles(authority, certificate, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		pem, err := os.ReadFile(authority)
		if err != nil {
			return nil, fmt.Errorf("muniment: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("muniment: no certificate in %s", authority)
		}
	}
	if (certificate == "") != (key == "") {
		return nil, errors.New("muniment: certificate and key belong together")
	}
	if certificate != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("muniment: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// complete fills in what is not given and checks everything. No error tells a credential.
func (s *settings) complete(target string) error {
	var err error
	if s.endpoint, err = parseTarget(first(target, os.Getenv(TargetVariable), DefaultTarget)); err != nil {
		return err
	}
	s.tenant = first(s.tenant, os.Getenv(TenantVariable))
	if s.tenant == "" {
		return errors.New("muniment: no tenant: use WithTenant, or set " + TenantVariable)
	}
	if !tenantForm.MatchString(s.tenant) {
		return fmt.Errorf("muniment: tenant %q is not of the form [a-z0-9][a-z0-9_.-]{0,62}", s.tenant)
	}
	if s.tls != nil && s.insecure {
		return errors.New("muniment: WithTLS and WithInsecure exclude each other")
	}
	if s.tls == nil && !s.insecure && !s.endpoint.isLoopback() {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if s.tokenSource == nil {
		key := first(s.apiKey, os.Getenv(APIKeyVariable))
		if key == "" {
			return errors.New("muniment: no credential: use WithAPIKey or WithTokenSource, or set " + APIKeyVariable)
		}
		if !credentialForm.MatchString(key) {
			return errors.New("muniment: the API key must be printable ASCII text without spaces")
		}
		// In a closure no printing of the settings shows it.
		s.tokenSource = func(context.Context) (string, error) { return key, nil }
	} else if s.apiKey != "" {
		return errors.New("muniment: WithAPIKey and WithTokenSource exclude each other")
	}
	s.apiKey = ""
	if s.clientName == "" {
		s.clientName = clientName
	} else if s.clientName += " (" + clientName + ")"; !clientForm.MatchString(s.clientName) {
		return fmt.Errorf("muniment: the client name must be a name and a version like my-agent/1.2, at most "+
			"%d letters, digits, spaces and ._/+()-", 64-len(clientName)-3)
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	s.deadlines, err = s.deadlines.complete()
	return err
}

func first(texts ...string) string {
	for _, each := range texts {
		if each != "" {
			return each
		}
	}
	return ""
}

type callSettings struct {
	timeout time.Duration
}

// CallOption is a setting of one call.
type CallOption func(*callSettings)

// Timeout is how long the call may take, repetitions included. For an iterator: each page.
func Timeout(timeout time.Duration) CallOption {
	return func(s *callSettings) { s.timeout = timeout }
}
