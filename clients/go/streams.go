package muniment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// tally checks that an answer came to its end: it takes every message, and nil after the last.
type tally[R any] func(message *R) error

// stream makes a call that answers with a stream. What has begun is not repeated.
func stream[Q proto.Message, R any](
	ctx context.Context, c *Client, m *method,
	open func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[R], error),
	request Q, check func() tally[R], options []CallOption,
) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		var err error
		if err = c.activity.begin(); err != nil {
			yield(nil, err)
			return
		}
		defer c.activity.end()
		// A reader that stops early must not leave the server sending.
		ctx, cancel, err := c.withDeadline(ctx, m, options)
		if err != nil {
			yield(nil, err)
			return
		}
		defer cancel()
		ctx, span := c.tracing.start(ctx, m, request)
		defer func() { span.end(nil, err) }()
		if err = receive(ctx, c, span, open, request, check(), yield); err != nil {
			yield(nil, err)
		}
	}
}

func receive[Q proto.Message, R any](
	ctx context.Context, c *Client, span *callSpan,
	open func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[R], error),
	request Q, check tally[R], yield func(*R, error) bool,
) error {
	ctx, err := c.withMetadata(ctx, span)
	if err != nil {
		return err
	}
	answers, err := open(ctx, request)
	if err != nil {
		return toError(err, nil, span.traceID(), "")
	}
	for {
		message, err := answers.Recv()
		if errors.Is(err, io.EOF) {
			return check(nil)
		}
		if err != nil {
			return toError(err, answers.Trailer(), span.traceID(), "")
		}
		if err := check(message); err != nil {
			return err
		}
		if !yield(message, nil) {
			return nil
		}
	}
}

// cutOff is the error of an answer without its end.
func cutOff(format string, values ...any) error {
	return &Error{Code: codes.Unavailable, Message: fmt.Sprintf(format, values...)}
}

// pages reads page by page until there is no further one.
func pages[R any](
	first string, fetch func(token string) (*R, error), next func(*R) string,
) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		for token := first; ; {
			page, err := fetch(token)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page, nil) {
				return
			}
			if token = next(page); token == "" {
				return
			}
		}
	}
}

// items are all items of all pages.
func items[R, T any](all iter.Seq2[*R, error], of func(*R) []*T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, each := range of(page) {
				if !yield(each, nil) {
					return
				}
			}
		}
	}
}
