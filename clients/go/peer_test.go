package muniment_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"

	muniment "github.com/muniment/muniment/clients/go"
)

const key = "mk_dev_5ecret"

// received is a call as it arrived.
type received struct {
	requests  []proto.Message
	metadata  metadata.MD
	remaining time.Duration
}

// answer is what the peer says to one call: messages, and then a failure or OK.
type answer struct {
	messages []proto.Message
	failure  *status.Status
	trailers metadata.MD
	// Waited for before answering.
	hold chan struct{}
}

func ok(messages ...proto.Message) answer { return answer{messages: messages} }

func fail(code codes.Code, reason string, details ...protoadapt.MessageV1) answer {
	made := status.New(code, "it failed")
	if reason != "" {
		details = append([]protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason, Domain: muniment.Domain}}, details...)
	}
	made, err := made.WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return answer{failure: made, trailers: metadata.Pairs("muniment-request-id", "cafe")}
}

func retryInfo(delay time.Duration) protoadapt.MessageV1 {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}
}

// peer is the other end of the wire. It knows the protocol, not the product: a test says what it answers, in order,
// the last answer again and again, and looks at what arrived.
type peer struct {
	target  string
	server  *grpc.Server
	mutex   sync.Mutex
	calls   map[string][]received
	answers map[string][]answer
}

func newPeer(t *testing.T, options ...grpc.ServerOption) *peer {
	t.Helper()
	made := &peer{calls: map[string][]received{}, answers: map[string][]answer{}}
	made.listen(t, "127.0.0.1:0", options...)
	t.Cleanup(func() { made.server.Stop() })
	return made
}

func (p *peer) listen(t *testing.T, address string, options ...grpc.ServerOption) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p.target = listener.Addr().String()
	p.server = grpc.NewServer(append(options, grpc.UnknownServiceHandler(p.handle))...)
	go func() { _ = p.server.Serve(listener) }()
}

func (p *peer) on(method string, answers ...answer) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.answers[method] = answers
}

func (p *peer) received(method string) []received {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]received(nil), p.calls[method]...)
}

func (p *peer) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method := full[strings.LastIndex(full, "/")+1:]
	name := protoreflect.FullName(strings.ReplaceAll(full[1:], "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return status.Error(codes.Unimplemented, "unknown method")
	}
	described := found.(protoreflect.MethodDescriptor)
	kind, err := protoregistry.GlobalTypes.FindMessageByName(described.Input().FullName())
	if err != nil {
		return err
	}
	var call received
	call.metadata, _ = metadata.FromIncomingContext(stream.Context())
	if deadline, ok := stream.Context().Deadline(); ok {
		call.remaining = time.Until(deadline)
	}
	for {
		request := kind.New().Interface()
		if stream.RecvMsg(request) != nil {
			break
		}
		call.requests = append(call.requests, request)
		if !described.IsStreamingClient() {
			break
		}
	}
	p.mutex.Lock()
	p.calls[method] = append(p.calls[method], call)
	answers := p.answers[method]
	if len(answers) > 1 {
		p.answers[method] = answers[1:]
	}
	p.mutex.Unlock()
	if len(answers) == 0 {
		return status.Error(codes.Unimplemented, "no answer")
	}
	return say(stream, answers[0])
}

func say(stream grpc.ServerStream, given answer) error {
	if given.hold != nil {
		select {
		case <-given.hold:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
	for _, each := range given.messages {
		if err := stream.SendMsg(each); err != nil {
			return err
		}
	}
	stream.SetTrailer(given.trailers)
	return given.failure.Err()
}

func connect(t *testing.T, p *peer, options ...muniment.Option) *muniment.Client {
	t.Helper()
	client, err := muniment.Connect(p.target,
		append([]muniment.Option{muniment.WithTenant("acme"), muniment.WithAPIKey(key)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func background(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx
}
