package muniment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// ModelCall is one call of a model that recalled memories go into; see [Client.ModelCall]. The fields may be set until
// the function given to Do returns.
type ModelCall struct {
	// Model is the name of the model that is prompted.
	Model string
	// PromptRef is your pointer to the prompt, for example the id of a run; no personal data.
	PromptRef string
	// Outcome is what the memories did for the prompt; not set: no judgement.
	Outcome pb.UseOutcome
	// Span is what is stamped. Not set: that of the context given to Do or, when that is not recorded, a
	// new one around the function.
	Span trace.Span
	// Strict makes Do return the error when the report fails. Otherwise it is logged and kept in ReportError, since
	// losing the model's answer would be worse.
	Strict bool
	// ReportError is why a report was not recorded, after Do; nil when all were.
	ReportError error

	client  *Client
	recalls []*Recalled
	used    [][]string
	stamped trace.Span
}

// ModelCall wraps the model call that recalled memories go into, so that its prompt can be proven:
//
//	call := client.ModelCall(recalled)
//	call.Model = "some-model"
//	err := call.Do(ctx, func(ctx context.Context) error {
//		answer, err = callTheModel(ctx, prompt+recalled.Context())
//		return err
//	})
//
// The span of the model call is stamped with the ids of the memories and linked to the recall. When the function
// succeeds, the use is reported; when it fails, nothing is. All recalls that the prompt was made from may be given.
func (c *Client) ModelCall(recalled *Recalled, more ...*Recalled) *ModelCall {
	made := &ModelCall{client: c, recalls: append([]*Recalled{recalled}, more...)}
	for _, each := range made.recalls {
		made.used = append(made.used, each.PromptMemoryIDs())
	}
	return made
}

// MemoryIDs are the memories that will be reported: those of the packed contexts, or all where none was packed,
// unless Use says otherwise.
func (m *ModelCall) MemoryIDs() []string { return slices.Concat(m.used...) }

// Use states which memories really entered the prompt, in their order there; may be none. It fails for a
// memory that no recall of this call offered.
func (m *ModelCall) Use(memoryIDs ...string) error {
	used := make([][]string, len(m.recalls))
	for _, id := range memoryIDs {
		at := slices.IndexFunc(m.recalls, func(each *Recalled) bool {
			return slices.Contains(each.MemoryIDs(), id)
		})
		if at < 0 {
			return fmt.Errorf("muniment: memory %s was not offered by this recall", id)
		}
		if !slices.Contains(used[at], id) {
			used[at] = append(used[at], id)
		}
	}
	m.used = used
	if m.stamped != nil {
		m.writeIDs(m.stamped)
	}
	return nil
}

// Stamp says it on one more span, for example one that was opened inside the function.
func (m *ModelCall) Stamp(span trace.Span) {
	for i, each := range m.recalls {
		stamp(span, each.GetRecallId(), m.used[i], each.span)
	}
	m.writeIDs(span)
}

func (m *ModelCall) writeIDs(span trace.Span) {
	if span.IsRecording() {
		span.SetAttributes(stampAttributes(m.recalls[0].GetRecallId(), m.MemoryIDs())...)
	}
}

// Do runs the function, stamps the span, and reports the use when the function succeeds.
func (m *ModelCall) Do(ctx context.Context, run func(ctx context.Context) error) (err error) {
	span := m.Span
	if span == nil {
		span = spanOf(ctx)
		if !span.IsRecording() {
			ctx, span = m.client.tracing.tracer.Start(ctx, spanModelCall)
			defer func() {
				if err != nil {
					span.SetAttributes(keyErrorType.String("_OTHER"))
					span.SetStatus(otelcodes.Error, "")
				}
				span.End()
			}()
		}
	}
	m.stamped = span
	m.Stamp(span)
	if err := run(ctx); err != nil {
		return err
	}
	return m.report(ctx)
}

func (m *ModelCall) report(ctx context.Context) error {
	m.ReportError = nil
	for i, each := range m.recalls {
		_, err := m.client.ReportUse(ctx, &pb.ReportUseRequest{
			RecallId:  each.GetRecallId(),
			MemoryIds: m.used[i],
			Outcome:   m.Outcome,
			Model:     m.Model,
			PromptRef: m.PromptRef,
		})
		if err == nil {
			continue
		}
		if m.Strict {
			return err
		}
		var failure *Error
		if errors.As(err, &failure) {
			m.client.settings.logger.WarnContext(ctx, "muniment: the use of a recall was not reported",
				"recall", each.GetRecallId(), "reason", first(failure.Reason, codeName(failure.Code)))
		}
		m.ReportError = err
	}
	return nil
}

func spanOf(ctx context.Context) trace.Span { return trace.SpanFromContext(ctx) }
