package muniment

import (
	"context"
	_ "embed"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

//go:embed munimentv1/service_config.json
var serviceConfig string

const closeTimeout = 5 * time.Second

// Client makes calls for one tenant. Get one from [Connect]. It is safe for concurrent use.
type Client struct {
	settings   settings
	connection *grpc.ClientConn
	memory     pb.MemoryServiceClient
	audit      pb.AuditServiceClient
	review     pb.ReviewServiceClient
	subject    pb.SubjectServiceClient
	tracing    *tracing
	activity   activity
	token      atomic.Pointer[pb.ConsistencyToken]
}

// Connect makes a client. Nothing is sent yet; the first call connects.
//
// target is host:port, or a gRPC target such as dns:///host:port or unix:/path. What is not given comes from
// the environment: MUNIMENT_TARGET (or else 127.0.0.1:7443), MUNIMENT_TENANT, MUNIMENT_API_KEY.
//
// Everything but loopback is encrypted, see [WithTLS] and [WithInsecure].
func Connect(target string, options ...Option) (*Client, error) {
	made := &Client{settings: settings{ownWrites: true}}
	for _, option := range options {
		option(&made.settings)
	}
	if err := made.settings.complete(target); err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if made.settings.tls != nil {
		transport = credentials.NewTLS(made.settings.tls)
	}
	// A server that restarts is back within the first retries, not after a second.
	reconnect := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 10 * time.Second}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent(clientName),
		grpc.WithDefaultServiceConfig(serviceConfig),
		// What repeats calls is the contract's, not whoever's DNS records say.
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 60 * time.Second, Timeout: 20 * time.Second}),
	}, made.settings.dialOptions...)
	connection, err := grpc.NewClient(made.settings.endpoint.target, dial...)
	if err != nil {
		return nil, fmt.Errorf("muniment: %w", err)
	}
	made.connection = connection
	made.memory = pb.NewMemoryServiceClient(connection)
	made.audit = pb.NewAuditServiceClient(connection)
	made.review = pb.NewReviewServiceClient(connection)
	made.subject = pb.NewSubjectServiceClient(connection)
	made.tracing = newTracing(&made.settings)
	return made, nil
}

// Close refuses new calls, waits up to five seconds for those under way, cuts off the rest, and closes the
// connection.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.activity.close(ctx)
	return c.connection.Close()
}

// Shutdown is Close with a time of your own to wait. It returns the context's error when calls had to be cut off.
func (c *Client) Shutdown(ctx context.Context) error {
	waited := c.activity.close(ctx)
	if err := c.connection.Close(); err != nil {
		return err
	}
	return waited
}

// String names the target and the tenant, and nothing secret.
func (c *Client) String() string {
	return fmt.Sprintf("muniment.Client(%s, tenant %s)", c.settings.endpoint.target, c.settings.tenant)
}

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// ConsistencyToken marks the state of the store after the freshest change that was answered; nil before the first one.
// Give it to another client's reads with [AtLeastAsFresh].
func (c *Client) ConsistencyToken() *pb.ConsistencyToken { return c.token.Load() }

// Connection is the connection below, for calls that this package does not know. They carry no
// credential: see [Client.Outgoing].
func (c *Client) Connection() grpc.ClientConnInterface { return c.connection }

// Outgoing adds to a context what every call of this client carries, for calls over Connection: credential, tenant
// and trace context.
func (c *Client) Outgoing(ctx context.Context) (context.Context, error) {
	return c.withMetadata(ctx, &callSpan{Span: spanOf(ctx)})
}
