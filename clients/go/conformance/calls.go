package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	muniment "github.com/muniment/muniment/clients/go"
	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

type (
	options  []muniment.CallOption
	unaryRPC func(ctx context.Context, c *muniment.Client, request proto.Message, o options) (proto.Message, error)
	listRPC  func(ctx context.Context, c *muniment.Client, request proto.Message, o options) iter.Seq2[proto.Message, error]
)

func unary[Q, R proto.Message](
	method func(*muniment.Client, context.Context, Q, ...muniment.CallOption) (R, error),
) unaryRPC {
	return func(ctx context.Context, c *muniment.Client, request proto.Message, o options) (proto.Message, error) {
		return method(c, ctx, request.(Q), o...)
	}
}

func list[Q, T proto.Message](
	method func(*muniment.Client, context.Context, Q, ...muniment.CallOption) iter.Seq2[T, error],
) listRPC {
	return func(ctx context.Context, c *muniment.Client, request proto.Message, o options) iter.Seq2[proto.Message, error] {
		return func(yield func(proto.Message, error) bool) {
			for each, err := range method(c, ctx, request.(Q), o...) {
				if !yield(each, err) {
					return
				}
			}
		}
	}
}

// firstPage calls a paginated method once.
func firstPage[Q, R proto.Message](
	method func(*muniment.Client, context.Context, Q, ...muniment.CallOption) iter.Seq2[R, error],
) unaryRPC {
	return func(ctx context.Context, c *muniment.Client, request proto.Message, o options) (proto.Message, error) {
		for page, err := range method(c, ctx, request.(Q), o...) {
			return page, err
		}
		return nil, errors.New("no page")
	}
}

var unaryRPCs = map[string]unaryRPC{
	"MemoryService/Write": unary((*muniment.Client).Write),
	"MemoryService/Recall": func(ctx context.Context, c *muniment.Client, r proto.Message, o options) (proto.Message, error) {
		recalled, err := c.Recall(ctx, r.(*pb.RecallRequest), o...)
		if err != nil {
			return nil, err
		}
		return recalled.RecallResponse, nil
	},
	"MemoryService/Supersede":        unary((*muniment.Client).Supersede),
	"MemoryService/Erase":            unary((*muniment.Client).Erase),
	"MemoryService/GetErasure":       unary((*muniment.Client).GetErasure),
	"MemoryService/GetMemory":        unary((*muniment.Client).GetMemory),
	"MemoryService/ListMemories":     firstPage((*muniment.Client).ListMemoryPages),
	"MemoryService/ReportUse":        unary((*muniment.Client).ReportUse),
	"MemoryService/Ingest":           unary((*muniment.Client).Ingest),
	"MemoryService/GetIngest":        unary((*muniment.Client).GetIngest),
	"MemoryService/Restore":          unary((*muniment.Client).Restore),
	"MemoryService/Retract":          unary((*muniment.Client).Retract),
	"MemoryService/UndoWrite":        unary((*muniment.Client).UndoWrite),
	"MemoryService/Audit":            firstPage((*muniment.Client).AuditPages),
	"AuditService/GetRecall":         unary((*muniment.Client).GetRecall),
	"ReviewService/ListReviews":      firstPage((*muniment.Client).ListReviewPages),
	"ReviewService/DecideReview":     unary((*muniment.Client).DecideReview),
	"SubjectService/SetConsent":      unary((*muniment.Client).SetConsent),
	"SubjectService/GetConsent":      unary((*muniment.Client).GetConsent),
	"SubjectService/DescribeSubject": unary((*muniment.Client).DescribeSubject),
	"SubjectService/ImportMemories":  unary((*muniment.Client).ImportMemories),
}

var listRPCs = map[string]listRPC{
	"MemoryService/ListMemories":    list((*muniment.Client).ListMemories),
	"MemoryService/Audit":           list((*muniment.Client).Audit),
	"ReviewService/ListReviews":     list((*muniment.Client).ListReviews),
	"AuditService/ExportAudit":      list((*muniment.Client).ExportAudit),
	"SubjectService/ExportMemories": list((*muniment.Client).ExportMemories),
}

// messagesOf makes a new request and a new response of a method.
func messagesOf(method string) (request, response proto.Message, streams bool, err error) {
	name := protoreflect.FullName("muniment.v1." + strings.Replace(method, "/", ".", 1))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	described, ok := found.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return nil, nil, false, wrong("unknown method %q", method)
	}
	input, err := protoregistry.GlobalTypes.FindMessageByName(described.Input().FullName())
	if err != nil {
		return nil, nil, false, driverError{err}
	}
	output, err := protoregistry.GlobalTypes.FindMessageByName(described.Output().FullName())
	if err != nil {
		return nil, nil, false, driverError{err}
	}
	return input.New().Interface(), output.New().Interface(), described.IsStreamingServer(), nil
}

func call(ctx context.Context, c *muniment.Client, r *request) (answer, error) {
	message, response, streams, err := messagesOf(r.Method)
	if err != nil {
		return nil, err
	}
	var o options
	if r.TimeoutMS > 0 && !r.Raw {
		o = options{muniment.Timeout(time.Duration(r.TimeoutMS) * time.Millisecond)}
	}
	if r.Stream != nil {
		return streamIngest(ctx, c, r, o)
	}
	if err := parse(r.Request, message); err != nil {
		return nil, err
	}
	if r.Raw {
		var cancel context.CancelFunc
		if ctx, cancel, err = rawContext(ctx, c, r); err != nil {
			return nil, err
		}
		defer cancel()
		if streams {
			return rawStream(ctx, c, r, message, response)
		}
		if err := c.Connection().Invoke(ctx, "/muniment.v1."+r.Method, message, response); err != nil {
			return nil, err
		}
		return one(response)
	}
	if r.AllPages || streams {
		method, ok := listRPCs[r.Method]
		if !ok {
			return nil, wrong("%s is not paginated", r.Method)
		}
		return several(method(ctx, c, message, o), r.Take)
	}
	method, ok := unaryRPCs[r.Method]
	if !ok {
		return nil, wrong("unknown method %q", r.Method)
	}
	if response, err = method(ctx, c, message, o); err != nil {
		return nil, err
	}
	return one(response)
}

func parse(text json.RawMessage, message proto.Message) error {
	if text == nil {
		return nil
	}
	if err := protojson.Unmarshal(text, message); err != nil {
		return driverError{err}
	}
	return nil
}

func one(message proto.Message) (answer, error) {
	text, err := protojson.Marshal(message)
	return answer{"response": json.RawMessage(text)}, err
}

func several(all iter.Seq2[proto.Message, error], take int) (answer, error) {
	made := []json.RawMessage{}
	for each, err := range all {
		if err != nil {
			return nil, err
		}
		text, err := protojson.Marshal(each)
		if err != nil {
			return nil, err
		}
		if made = append(made, text); len(made) == take {
			break
		}
	}
	return answer{"response": made}, nil
}

func streamIngest(ctx context.Context, c *muniment.Client, r *request, o options) (answer, error) {
	if r.Method != "MemoryService/StreamIngest" {
		return nil, wrong("%s takes no stream", r.Method)
	}
	messages := make([]*pb.StreamIngestRequest, len(r.Stream))
	for i, each := range r.Stream {
		messages[i] = &pb.StreamIngestRequest{}
		if err := parse(each, messages[i]); err != nil {
			return nil, err
		}
	}
	if r.Raw {
		ctx, cancel, err := rawContext(ctx, c, r)
		if err != nil {
			return nil, err
		}
		defer cancel()
		stream, err := pb.NewMemoryServiceClient(c.Connection()).StreamIngest(ctx)
		if err != nil {
			return nil, err
		}
		for _, each := range messages {
			if stream.Send(each) != nil {
				break
			}
		}
		response, err := stream.CloseAndRecv()
		if err != nil {
			return nil, err
		}
		return one(response)
	}
	stream, err := c.StreamIngest(ctx, o...)
	if err != nil {
		return nil, err
	}
	for _, each := range messages {
		if err := stream.Send(each); err != nil {
			return nil, err
		}
	}
	response, err := stream.CloseAndRecv()
	if err != nil {
		return nil, err
	}
	return one(response)
}

func rawContext(ctx context.Context, c *muniment.Client, r *request) (context.Context, context.CancelFunc, error) {
	ctx, err := c.Outgoing(ctx)
	if err != nil {
		return nil, nil, err
	}
	if r.TimeoutMS > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.TimeoutMS)*time.Millisecond)
		return ctx, cancel, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, nil
}

func rawStream(
	ctx context.Context, c *muniment.Client, r *request, message, response proto.Message,
) (answer, error) {
	description := &grpc.StreamDesc{ServerStreams: true}
	stream, err := c.Connection().NewStream(ctx, description, "/muniment.v1."+r.Method)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stream.SendMsg(message), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return several(func(yield func(proto.Message, error) bool) {
		for {
			each := response.ProtoReflect().New().Interface()
			err := stream.RecvMsg(each)
			if errors.Is(err, io.EOF) || !yield(each, err) || err != nil {
				return
			}
		}
	}, r.Take)
}
