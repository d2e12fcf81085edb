package muniment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

const (
	// Rounds of one call, the first included; as many as the service config has attempts.
	rounds = 4
	// How much longer than asked for to wait, at most. Upwards only: callers that were refused
	// together must not come back together, nor too early.
	spread = 0.25
	// What a round needs at least.
	leastTime = 20 * time.Millisecond
)

// activity counts what is under way, for Close to wait for.
type activity struct {
	mutex  sync.Mutex
	count  int
	closed bool
	idle   chan struct{}
}

func (a *activity) begin() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.closed {
		return ErrClosed
	}
	a.count++
	return nil
}

func (a *activity) end() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.count--; a.count == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

// close refuses new calls and waits for those under way.
func (a *activity) close(ctx context.Context) error {
	a.mutex.Lock()
	a.closed = true
	if a.count == 0 {
		a.mutex.Unlock()
		return nil
	}
	if a.idle == nil {
		a.idle = make(chan struct{})
	}
	idle := a.idle
	a.mutex.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// withDeadline gives the context the deadline of the call: the one asked for, or else the context's own, or
// else the default of the method.
func (c *Client) withDeadline(
	ctx context.Context, m *method, options []CallOption,
) (context.Context, context.CancelFunc, error) {
	var call callSettings
	for _, option := range options {
		option(&call)
	}
	if call.timeout < 0 {
		return nil, nil, fmt.Errorf("muniment: a timeout must be above 0, not %v", call.timeout)
	}
	if call.timeout == 0 {
		if _, ok := ctx.Deadline(); ok {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel, nil
		}
		call.timeout = c.settings.deadlines.of(m.deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, call.timeout)
	return ctx, cancel, nil
}

// withMetadata adds what every call carries. Values of the caller's own under these keys are replaced: the service
// refuses doubled ones.
func (c *Client) withMetadata(ctx context.Context, span *callSpan) (context.Context, error) {
	credential, err := c.settings.tokenSource(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, toError(ctx.Err(), nil, span.traceID(), "")
		}
		return nil, fmt.Errorf("muniment: the token source failed: %w", err)
	}
	if !credentialForm.MatchString(credential) {
		return nil, errors.New("muniment: the token source returned what is not printable ASCII text without spaces")
	}
	made := metadata.MD{}
	if given, ok := metadata.FromOutgoingContext(ctx); ok {
		made = given
	}
	made.Set("authorization", "Bearer "+credential)
	made.Set("muniment-tenant", c.settings.tenant)
	made.Set("muniment-client", c.settings.clientName)
	propagator.Inject(ctx, carrier(made))
	return metadata.NewOutgoingContext(ctx, made), nil
}

// pause waits before another round. It returns false when there is none.
func pause(ctx context.Context, failure *Error, round int) bool {
	asked, ok := failure.RetryAfter()
	if failure.Code != codes.Unavailable || !ok || round >= rounds {
		return false
	}
	wait := time.Duration(float64(asked) * (1 + rand.Float64()*spread))
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait+leastTime {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hold keeps the token of a change.
func (c *Client) hold(request, response proto.Message) {
	answered, ok := response.(interface {
		GetConsistencyToken() *pb.ConsistencyToken
	})
	if ok && changes(request) {
		if token := answered.GetConsistencyToken(); token != nil {
			c.wrote(token)
		}
	}
}

// wrote holds the token of a change, unless it is older than the one held: answers of calls that run at the same
// time arrive in any order. Servers that tell no order are taken at their word.
func (c *Client) wrote(token *pb.ConsistencyToken) {
	for {
		held := c.token.Load()
		if held != nil && token.GetOrder() != 0 && token.GetOrder() < held.GetOrder() {
			return
		}
		if c.token.CompareAndSwap(held, token) {
			return
		}
	}
}

// unary makes a call that answers once.
//
// gRPC itself repeats what failed with UNAVAILABLE, as the contract's service config says, and waits as long as
// the trailer grpc-retry-pushback-ms asks for. Its attempts may be used up or throttled, and a proxy may drop the
// trailer; gRPC does not know RetryInfo. What is left of the deadline is used here to ask again after it.
func unary[Q, R proto.Message](
	ctx context.Context, c *Client, m *method,
	stub func(context.Context, Q, ...grpc.CallOption) (R, error), request Q, options []CallOption,
) (response R, recorded trace.SpanContext, err error) {
	if err = c.activity.begin(); err != nil {
		return response, recorded, err
	}
	defer c.activity.end()
	ctx, cancel, err := c.withDeadline(ctx, m, options)
	if err != nil {
		return response, recorded, err
	}
	defer cancel()
	request = withRequestID(request)
	ctx, span := c.tracing.start(ctx, m, request)
	defer func() { span.end(response, err) }()
	for round := 1; ; round++ {
		outgoing, err := c.withMetadata(ctx, span)
		if err != nil {
			return response, recorded, err
		}
		var trailers metadata.MD
		response, err := stub(outgoing, request, grpc.Trailer(&trailers))
		if err == nil {
			c.hold(request, response)
			return response, span.SpanContext(), nil
		}
		failure := toError(err, trailers, span.traceID(), requestID(request))
		if !pause(ctx, failure, round) {
			if ctx.Err() != nil {
				// Ended while waiting: that is the reason, not what was waited for.
				failure = toError(ctx.Err(), nil, span.traceID(), requestID(request))
			}
			return response, recorded, failure
		}
	}
}
