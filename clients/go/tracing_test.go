package muniment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	muniment "github.com/muniment/muniment/clients/go"
	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

func traced() (*tracetest.InMemoryExporter, *sdktrace.TracerProvider) {
	exporter := tracetest.NewInMemoryExporter()
	return exporter, sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
}

func valuesOf(attributes []attribute.KeyValue) map[string]any {
	made := map[string]any{}
	for _, each := range attributes {
		made[string(each.Key)] = each.Value.AsInterface()
	}
	return made
}

func TestSpansByTheMemoryConventions(t *testing.T) {
	p := newPeer(t)
	p.on("Recall", ok(&pb.RecallResponse{RecallId: "r", Memories: []*pb.RankedMemory{{}}}))
	p.on("Audit", fail(codes.PermissionDenied, "PERMISSION_DENIED"))
	exporter, provider := traced()
	client := connect(t, p, muniment.WithTracerProvider(provider))
	scope := muniment.Subject("ada")
	scope.Agent, scope.Session = proto.String("bot"), proto.String("s-1")
	if _, err := client.Recall(background(t), &pb.RecallRequest{Scope: scope, Query: "a question"}); err != nil {
		t.Fatal(err)
	}
	for range client.Audit(background(t), &pb.AuditRequest{}) {
	}
	spans := exporter.GetSpans()
	recall, audit := spans[0], spans[1]
	got := valuesOf(recall.Attributes)
	for name, want := range map[string]any{
		"gen_ai.operation.name": "search_memory", "gen_ai.provider.name": "muniment",
		"gen_ai.memory.record.count": int64(1), "muniment.recall.id": "r", "gen_ai.agent.id": "bot",
		"gen_ai.conversation.id": "s-1", "server.address": "127.0.0.1",
	} {
		if got[name] != want {
			t.Errorf("%s: %v", name, got[name])
		}
	}
	if recall.Name != "search_memory" || recall.SpanKind != trace.SpanKindClient || recall.Status.Code != otelcodes.Unset {
		t.Error(recall.Name, recall.SpanKind, recall.Status)
	}
	if strings.Contains(fmt.Sprint(recall.Attributes), "question") {
		t.Error("the query was recorded")
	}
	parent := p.received("Recall")[0].metadata.Get("traceparent")
	if len(parent) != 1 || parent[0] != fmt.Sprintf("00-%s-%s-01", recall.SpanContext.TraceID(), recall.SpanContext.SpanID()) {
		t.Error(parent)
	}
	got = valuesOf(audit.Attributes)
	if audit.Name != "muniment.v1.MemoryService/Audit" || audit.Status.Code != otelcodes.Error ||
		got["error.type"] != "PERMISSION_DENIED" || got["rpc.response.status_code"] != "PERMISSION_DENIED" ||
		got["muniment.error.reason"] != "PERMISSION_DENIED" || got["rpc.method"] != audit.Name {
		t.Error(audit.Name, audit.Status, got)
	}
}

func TestTraceContextTravelsWithoutAnSDK(t *testing.T) {
	p := newPeer(t)
	p.on("GetConsent", ok(&pb.GetConsentResponse{}))
	client := connect(t, p)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := propagation.TraceContext{}.Extract(background(t), propagation.MapCarrier{"traceparent": parent})
	_, _ = client.GetConsent(ctx, &pb.GetConsentRequest{})
	_, _ = client.GetConsent(background(t), &pb.GetConsentRequest{})
	calls := p.received("GetConsent")
	if got := calls[0].metadata.Get("traceparent"); len(got) != 1 || got[0] != parent {
		t.Error(got)
	}
	if got := calls[1].metadata.Get("traceparent"); len(got) != 0 {
		t.Error(got)
	}
}

func recalledWith(ids ...string) *pb.RecallResponse {
	made := &pb.RecallResponse{RecallId: "r"}
	for _, id := range ids {
		made.Memories = append(made.Memories, &pb.RankedMemory{Memory: &pb.Memory{MemoryId: id}})
	}
	return made
}

func TestModelCallStampsAndReports(t *testing.T) {
	p := newPeer(t)
	p.on("Recall", ok(recalledWith("1", "2")))
	p.on("ReportUse", ok(&pb.ReportUseResponse{}))
	exporter, provider := traced()
	client := connect(t, p, muniment.WithTracerProvider(provider))
	recalled, err := client.Recall(background(t), &pb.RecallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, chat := provider.Tracer("app").Start(background(t), "chat")
	call := client.ModelCall(recalled)
	call.Model, call.Outcome = "some-model", pb.UseOutcome_USE_OUTCOME_HELPFUL
	err = call.Do(ctx, func(context.Context) error {
		if call.Use("9") == nil {
			t.Error("a memory that was not offered was accepted")
		}
		return call.Use("2")
	})
	chat.End()
	if err != nil || call.ReportError != nil {
		t.Fatal(err, call.ReportError)
	}
	report := p.received("ReportUse")[0].requests[0].(*pb.ReportUseRequest)
	if fmt.Sprint(report.GetMemoryIds()) != "[2]" || report.GetModel() != "some-model" || report.GetRecallId() != "r" ||
		report.GetOutcome() != pb.UseOutcome_USE_OUTCOME_HELPFUL || report.GetRequestId() == "" {
		t.Error(report)
	}
	spans := exporter.GetSpans()
	at := slices.IndexFunc(spans, func(each tracetest.SpanStub) bool { return each.Name == "chat" })
	got := valuesOf(spans[at].Attributes)
	if got["muniment.recall.id"] != "r" || fmt.Sprint(got["muniment.recall.memory.ids"]) != "[2]" {
		t.Error(got)
	}
	if links := spans[at].Links; len(links) != 1 || links[0].SpanContext.SpanID() != spans[0].SpanContext.SpanID() {
		t.Error(links)
	}
}

func TestModelCallThatFailsReportsNothing(t *testing.T) {
	p := newPeer(t)
	p.on("Recall", ok(recalledWith("1")))
	p.on("ReportUse", fail(codes.NotFound, "RECALL_NOT_FOUND"))
	exporter, provider := traced()
	client := connect(t, p, muniment.WithTracerProvider(provider))
	recalled, err := client.Recall(background(t), &pb.RecallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the model is down")
	call := client.ModelCall(recalled)
	if err := call.Do(background(t), func(context.Context) error { return broken }); err != broken {
		t.Error(err)
	}
	if len(p.received("ReportUse")) != 0 {
		t.Error("a failed model call was reported")
	}
	if own := exporter.GetSpans()[1]; own.Name != "muniment.model_call" || own.Status.Code != otelcodes.Error {
		t.Error(own.Name, own.Status)
	}
	if err := call.Do(background(t), func(context.Context) error { return nil }); err != nil {
		t.Error("a report that failed lost the answer:", err)
	}
	if !errors.Is(call.ReportError, muniment.ErrNotFound) {
		t.Error(call.ReportError)
	}
	call.Strict = true
	if err := call.Do(background(t), func(context.Context) error { return nil }); !errors.Is(err, muniment.ErrNotFound) {
		t.Error(err)
	}
}
