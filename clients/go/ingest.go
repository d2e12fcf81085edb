package muniment

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// Ingest takes in turns of a conversation: keeps them and makes candidate memories of them.
func (c *Client) Ingest(
	ctx context.Context, request *pb.IngestRequest, options ...CallOption,
) (*pb.IngestResponse, error) {
	response, _, err := unary(ctx, c, methodIngest, c.memory.Ingest, request, options)
	return response, err
}

// GetIngest says how far an ingest has come.
func (c *Client) GetIngest(
	ctx context.Context, request *pb.GetIngestRequest, options ...CallOption,
) (*pb.GetIngestResponse, error) {
	response, _, err := unary(ctx, c, methodGetIngest, c.memory.GetIngest, request, options)
	return response, err
}

// IngestStream is a conversation under way. End it with CloseAndRecv, or by ending its context.
type IngestStream struct {
	client    *Client
	stream    grpc.ClientStreamingClient[pb.StreamIngestRequest, pb.StreamIngestResponse]
	span      *callSpan
	finish    func(*pb.StreamIngestResponse, error)
	requestID string
	begun     bool
}

// StreamIngest is Ingest for a conversation under way: send any number of requests of one scope, and get
// one answer at the end. Each is stored when it arrives. It is not repeated: after an error repeat all of it,
// which does no harm, since each turn is taken in once.
//
// The context, or else the deadline for exports, covers the whole conversation.
func (c *Client) StreamIngest(ctx context.Context, options ...CallOption) (*IngestStream, error) {
	if err := c.activity.begin(); err != nil {
		return nil, err
	}
	ctx, cancel, err := c.withDeadline(ctx, methodStreamIngest, options)
	if err != nil {
		c.activity.end()
		return nil, err
	}
	ctx, span := c.tracing.start(ctx, methodStreamIngest, nil)
	made := &IngestStream{client: c, span: span}
	var once sync.Once
	made.finish = func(response *pb.StreamIngestResponse, err error) {
		once.Do(func() {
			span.end(response, err)
			cancel()
			c.activity.end()
		})
	}
	outgoing, err := c.withMetadata(ctx, span)
	if err == nil {
		if made.stream, err = c.memory.StreamIngest(outgoing); err != nil {
			err = toError(err, nil, span.traceID(), "")
		}
	}
	if err != nil {
		made.finish(nil, err)
		return nil, err
	}
	// Somebody who gives up by ending the context need not call anything more.
	context.AfterFunc(ctx, func() { made.finish(nil, toError(ctx.Err(), nil, span.traceID(), "")) })
	return made, nil
}

// Send sends some turns. The first request gets a request id if it has none. After an error the stream is over, and
// CloseAndRecv returns the reason.
func (s *IngestStream) Send(request *pb.StreamIngestRequest) error {
	if !s.begun {
		request = withRequestID(request)
		s.begun, s.requestID = true, request.GetRequestId()
		s.span.SetAttributes(keyRequestID.String(s.requestID))
	}
	err := s.stream.Send(request)
	if errors.Is(err, io.EOF) {
		// The server has answered already; RecvMsg knows what.
		_, err = s.CloseAndRecv()
		if err == nil {
			err = io.EOF
		}
		return err
	}
	if err != nil {
		failure := toError(err, nil, s.span.traceID(), s.requestID)
		s.finish(nil, failure)
		return failure
	}
	return nil
}

// CloseAndRecv says that this was all, and waits for the answer.
func (s *IngestStream) CloseAndRecv() (*pb.StreamIngestResponse, error) {
	response, err := s.stream.CloseAndRecv()
	if err != nil {
		failure := toError(err, s.stream.Trailer(), s.span.traceID(), s.requestID)
		s.finish(nil, failure)
		return nil, failure
	}
	if token := response.GetConsistencyToken(); token != nil {
		s.client.wrote(token)
	}
	s.finish(response, nil)
	return response, nil
}
