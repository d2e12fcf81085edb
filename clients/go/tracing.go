package muniment

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Names of OpenTelemetry: the GenAI memory conventions are in development and in no release yet, the RPC
// conventions are those of schemaURL. Constants of a package would not be there or move with its version.
const (
	scopeName = "muniment.client"
	schemaURL = "https://opentelemetry.io/schemas/1.44.0"

	keyErrorType      = attribute.Key("error.type")
	keyServerAddress  = attribute.Key("server.address")
	keyServerPort     = attribute.Key("server.port")
	keyRPCSystem      = attribute.Key("rpc.system.name")
	keyRPCMethod      = attribute.Key("rpc.method")
	keyRPCStatus      = attribute.Key("rpc.response.status_code")
	keyOperation      = attribute.Key("gen_ai.operation.name")
	keyProvider       = attribute.Key("gen_ai.provider.name")
	keyRecordID       = attribute.Key("gen_ai.memory.record.id")
	keyRecordCount    = attribute.Key("gen_ai.memory.record.count")
	keyAgentID        = attribute.Key("gen_ai.agent.id")
	keyConversationID = attribute.Key("gen_ai.conversation.id")
	keyErrorReason    = attribute.Key("muniment.error.reason")
	keyRequestID      = attribute.Key("muniment.request.id")
	keyRecallID       = attribute.Key("muniment.recall.id")
	keyRecallIDs      = attribute.Key("muniment.recall.memory.ids")
	keyRecallOmitted  = attribute.Key("muniment.recall.memory.omitted")
	keySupersedeNewID = attribute.Key("muniment.supersede.new_id")
	keyErasureID      = attribute.Key("muniment.erasure.id")

	spanModelCall = "muniment.model_call"

	// Ids written onto a span: 50 UUIDs stay under the 2 kB at which some trace stores cut values.
	stampedIDs = 50
)

// Not the global propagator: that one may send baggage, too.
var propagator propagation.TraceContext

type tracing struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
	server   []attribute.KeyValue
}

func newTracing(s *settings) *tracing {
	provider, meters := s.tracerProvider, s.meterProvider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	made := &tracing{
		tracer: provider.Tracer(scopeName,
			trace.WithInstrumentationVersion(Version), trace.WithSchemaURL(schemaURL)),
		server: []attribute.KeyValue{keyServerAddress.String(s.endpoint.host)},
	}
	if s.endpoint.port != 0 {
		made.server = append(made.server, keyServerPort.Int(s.endpoint.port))
	}
	meter := meters.Meter(scopeName,
		metric.WithInstrumentationVersion(Version), metric.WithSchemaURL(schemaURL))
	histogram, err := meter.Float64Histogram("rpc.client.call.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of outbound calls, retries included."),
		metric.WithExplicitBucketBoundaries(
			0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	if err != nil {
		otel.Handle(err)
	}
	made.duration = histogram
	return made
}

// callSpan is the span of one call.
type callSpan struct {
	trace.Span
	tracing *tracing
	method  *method
	started time.Time
}

func (t *tracing) start(ctx context.Context, m *method, request proto.Message) (context.Context, *callSpan) {
	name := m.operation
	attributes := make([]attribute.KeyValue, 0, 8)
	if name != "" {
		attributes = append(attributes, keyOperation.String(name), keyProvider.String("muniment"))
	} else {
		name = m.name
		attributes = append(attributes, keyRPCSystem.String("grpc"), keyRPCMethod.String(m.name))
	}
	attributes = append(attributes, t.server...)
	started := time.Now()
	ctx, span := t.tracer.Start(ctx, name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	if span.IsRecording() && request != nil {
		span.SetAttributes(requestAttributes(request)...)
	}
	return ctx, &callSpan{span, t, m, started}
}

// traceID is empty when nothing is traced.
func (s *callSpan) traceID() string {
	if context := s.SpanContext(); context.HasTraceID() {
		return context.TraceID().String()
	}
	return ""
}

// end ends the span; err is what the call returns.
func (s *callSpan) end(response proto.Message, err error) {
	code, recording := codes.OK, s.IsRecording()
	if err != nil {
		code = codes.Unknown
		failure := err.Error()
		var known *Error
		if errors.As(err, &known) {
			code, failure = known.Code, first(known.Reason, codeName(known.Code))
		} else {
			// A token source may say anything, so its words are not recorded.
			failure = "_OTHER"
		}
		if recording {
			s.SetAttributes(keyErrorType.String(failure))
			if known != nil && known.Reason != "" {
				s.SetAttributes(keyErrorReason.String(known.Reason))
			}
			// The text of an error is nobody's business in a trace.
			s.SetStatus(otelcodes.Error, "")
		}
	} else if recording && response != nil {
		s.SetAttributes(responseAttributes(response)...)
	}
	if recording && s.method.operation == "" {
		s.SetAttributes(keyRPCStatus.String(codeName(code)))
	}
	labels := make([]attribute.KeyValue, 0, 6)
	labels = append(labels,
		keyRPCSystem.String("grpc"), keyRPCMethod.String(s.method.name), keyRPCStatus.String(codeName(code)))
	labels = append(labels, s.tracing.server...)
	if code != codes.OK {
		labels = append(labels, keyErrorType.String(codeName(code)))
	}
	if s.tracing.duration != nil {
		s.tracing.duration.Record(context.Background(), time.Since(s.started).Seconds(),
			metric.WithAttributes(labels...))
	}
	s.End()
}

// carrier lets the propagator write into metadata.
type carrier metadata.MD

func (c carrier) Get(key string) string { return first(metadata.MD(c).Get(key)...) }
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }
func (c carrier) Keys() []string        { return nil }

// stampAttributes say which memories of which recall entered a prompt.
func stampAttributes(recallID string, memoryIDs []string) []attribute.KeyValue {
	made := []attribute.KeyValue{
		keyRecallID.String(recallID),
		keyRecallIDs.StringSlice(memoryIDs[:min(len(memoryIDs), stampedIDs)]),
	}
	if omitted := len(memoryIDs) - stampedIDs; omitted > 0 {
		made = append(made, keyRecallOmitted.Int(omitted))
	}
	return made
}

func stamp(span trace.Span, recallID string, memoryIDs []string, recall trace.SpanContext) {
	if !span.IsRecording() {
		return
	}
	attributes := stampAttributes(recallID, memoryIDs)
	span.SetAttributes(attributes...)
	if recall.IsValid() {
		// The link says it again, because a second recall stamped onto the span overwrites the first.
		span.AddLink(trace.Link{SpanContext: recall, Attributes: attributes})
	}
}
