package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	muniment "github.com/muniment/muniment/clients/go"
	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// recorder keeps the finished spans of all clients.
var recorder = &spanRecorder{}

type spanRecorder struct {
	mutex sync.Mutex
	spans []sdktrace.ReadOnlySpan
}

func (s *spanRecorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s *spanRecorder) Shutdown(context.Context) error                  { return nil }
func (s *spanRecorder) ForceFlush(context.Context) error                { return nil }
func (s *spanRecorder) OnEnd(span sdktrace.ReadOnlySpan) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.spans = append(s.spans, span)
}

func (s *spanRecorder) drain() []answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made := []answer{}
	for _, each := range s.spans {
		var parent any
		if each.Parent().HasSpanID() {
			parent = each.Parent().SpanID().String()
		}
		links := []answer{}
		for _, link := range each.Links() {
			links = append(links, answer{
				"trace_id":   link.SpanContext.TraceID().String(),
				"span_id":    link.SpanContext.SpanID().String(),
				"attributes": attributes(link.Attributes),
			})
		}
		made = append(made, answer{
			"name":           each.Name(),
			"kind":           strings.ToUpper(each.SpanKind().String()),
			"trace_id":       each.SpanContext().TraceID().String(),
			"span_id":        each.SpanContext().SpanID().String(),
			"parent_span_id": parent,
			"status":         strings.ToUpper(each.Status().Code.String()),
			"attributes":     attributes(each.Attributes()),
			"links":          links,
		})
	}
	s.spans = nil
	return made
}

func attributes(pairs []attribute.KeyValue) answer {
	made := answer{}
	for _, each := range pairs {
		made[string(each.Key)] = each.Value.AsInterface()
	}
	return made
}

func modelCall(ctx context.Context, c *muniment.Client, r *request) (answer, error) {
	var message pb.RecallRequest
	if err := parse(r.Request, &message); err != nil {
		return nil, err
	}
	recalled, err := c.Recall(ctx, &message)
	if err != nil {
		return nil, err
	}
	call := c.ModelCall(recalled)
	call.Model, call.PromptRef = r.Model, r.PromptRef
	call.Outcome = pb.UseOutcome(pb.UseOutcome_value[r.Outcome])
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	chat, span := provider.Tracer("driver").Start(ctx, "chat", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	failed := errors.New("the model failed")
	err = call.Do(chat, func(context.Context) error {
		if r.Fail {
			return failed
		}
		if r.Used != nil {
			return call.Use(*r.Used...)
		}
		return nil
	})
	if err != nil && !errors.Is(err, failed) {
		return nil, err
	}
	ids := call.MemoryIDs()
	if ids == nil {
		ids = []string{}
	}
	return answer{"response": answer{
		"recallId": recalled.GetRecallId(), "memoryIds": ids, "reported": err == nil && call.ReportError == nil,
	}}, nil
}
