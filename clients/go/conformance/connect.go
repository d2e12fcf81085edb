package main

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	muniment "github.com/muniment/muniment/clients/go"
)

var printable = regexp.MustCompile(`^[\x20-\x7e]*$`)

func (d *driver) connect(r *request) error {
	options := []muniment.Option{muniment.WithTenant(r.Tenant), muniment.WithAPIKey(r.APIKey)}
	if r.Insecure {
		options = append(options, muniment.WithInsecure())
	}
	if r.TLS != nil {
		config, err := muniment.TLSFiles(r.TLS["ca"], r.TLS["certificate"], r.TLS["key"])
		if err != nil {
			return localError{err}
		}
		config.ServerName = r.TLS["server_name"]
		options = append(options, muniment.WithTLS(config))
	}
	if r.Consistency == "none" {
		options = append(options, muniment.WithoutReadYourWrites())
	}
	if r.MetadataOverride != nil {
		options = append(options, muniment.WithDialOptions(override(r.MetadataOverride)...))
	}
	if r.Trace {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
		options = append(options, muniment.WithTracerProvider(provider))
	}
	made, err := muniment.Connect(r.Target, options...)
	if err != nil {
		return localError{err}
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if before, ok := d.clients[name(r)]; ok {
		_ = before.client.Close()
	}
	d.clients[name(r)] = connected{made, r.MetadataOverride}
	return nil
}

// checkOverride refuses metadata that gRPC cannot carry.
func checkOverride(pairs [][2]*string) error {
	for _, pair := range pairs {
		if pair[1] != nil && !printable.MatchString(*pair[1]) {
			return localError{fmt.Errorf("the value of %s is not printable ASCII", *pair[0])}
		}
	}
	return nil
}

// override replaces what the client sends.
func override(pairs [][2]*string) []grpc.DialOption {
	change := func(ctx context.Context) context.Context {
		sent, _ := metadata.FromOutgoingContext(ctx)
		for _, pair := range pairs {
			sent.Delete(*pair[0])
		}
		for _, pair := range pairs {
			if pair[1] == nil {
				continue
			}
			sent.Append(*pair[0], *pair[1])
		}
		return metadata.NewOutgoingContext(ctx, sent)
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
			invoker grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			return invoker(change(ctx), method, request, reply, connection, options...)
		}),
		grpc.WithChainStreamInterceptor(func(
			ctx context.Context, description *grpc.StreamDesc, connection *grpc.ClientConn, method string,
			streamer grpc.Streamer, options ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return streamer(change(ctx), description, connection, method, options...)
		}),
	}
}

// contextOf is the context of a request: its remote parent, and when it is cancelled.
func contextOf(r *request) (context.Context, context.CancelFunc, error) {
	ctx := context.Background()
	if r.TraceParent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": r.TraceParent})
	}
	ctx, cancel := context.WithCancel(ctx)
	if r.CancelAfterMS != nil {
		time.AfterFunc(time.Duration(*r.CancelAfterMS)*time.Millisecond, cancel)
	}
	return ctx, cancel, nil
}
