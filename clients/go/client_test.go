package muniment_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"encoding/pem"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	muniment "github.com/muniment/muniment/clients/go"
	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func token(text string) *pb.ConsistencyToken { return &pb.ConsistencyToken{Token: text} }

func write(subject, content string) *pb.WriteRequest {
	return &pb.WriteRequest{Scope: muniment.Subject(subject), Items: muniment.Facts(content)}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	for name, options := range map[string][]muniment.Option{
		"no tenant":       {muniment.WithAPIKey(key)},
		"no credential":   {muniment.WithTenant("acme")},
		"upper case":      {muniment.WithTenant("Acme"), muniment.WithAPIKey(key)},
		"not ASCII":       {muniment.WithTenant("ümlaut"), muniment.WithAPIKey(key)},
		"space in key":    {muniment.WithTenant("acme"), muniment.WithAPIKey("5ecret key")},
		"both":            {muniment.WithTenant("acme"), muniment.WithTLS(&tls.Config{}), muniment.WithInsecure()},
		"two credentials": {muniment.WithTenant("acme"), muniment.WithAPIKey(key), muniment.WithTokenSource(func(context.Context) (string, error) { return "", nil })},
		"client name":     {muniment.WithTenant("acme"), muniment.WithAPIKey(key), muniment.WithClientName("ü")},
		"deadline":        {muniment.WithTenant("acme"), muniment.WithAPIKey(key), muniment.WithDeadlines(muniment.Deadlines{Recall: -1})},
	} {
		client, err := muniment.Connect("127.0.0.1:7443", options...)
		if err == nil || client != nil || strings.Contains(err.Error(), "5ecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, target := range []string{"https://example.com", "example.com:99999", "a:b:c", "::1"} {
		if _, err := muniment.Connect(target, muniment.WithTenant("acme"), muniment.WithAPIKey(key)); err == nil {
			t.Errorf("%s was accepted", target)
		}
	}
}

func TestSettingsFromTheEnvironment(t *testing.T) {
	p := newPeer(t)
	p.on("GetConsent", ok(&pb.GetConsentResponse{}))
	t.Setenv(muniment.TargetVariable, p.target)
	t.Setenv(muniment.TenantVariable, "from-env")
	t.Setenv(muniment.APIKeyVariable, "env-key")
	client, err := muniment.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.GetConsent(background(t), &pb.GetConsentRequest{}); err != nil {
		t.Fatal(err)
	}
	got := p.received("GetConsent")[0].metadata
	if got.Get("muniment-tenant")[0] != "from-env" || got.Get("authorization")[0] != "Bearer env-key" {
		t.Error(got)
	}
}

func TestMetadataOfEveryCall(t *testing.T) {
	p := newPeer(t)
	p.on("Write", ok(&pb.WriteResponse{}))
	client := connect(t, p, muniment.WithClientName("bot/1"))
	ctx := metadata.AppendToOutgoingContext(background(t), "muniment-tenant", "other", "x-own", "1")
	if _, err := client.Write(ctx, write("ada", "text")); err != nil {
		t.Fatal(err)
	}
	got := p.received("Write")[0].metadata
	for name, want := range map[string]string{
		"authorization": "Bearer " + key, "muniment-tenant": "acme", "x-own": "1",
		"muniment-client": "bot/1 (muniment-go/" + muniment.Version + ")",
	} {
		if values := got.Get(name); len(values) != 1 || values[0] != want {
			t.Errorf("%s: %q", name, values)
		}
	}
	if agent := got.Get("user-agent")[0]; !strings.HasPrefix(agent, "muniment-go/") {
		t.Error(agent)
	}
}

func TestTokenSourceIsAskedForEveryCall(t *testing.T) {
	p := newPeer(t)
	p.on("GetConsent", ok(&pb.GetConsentResponse{}))
	count := 0
	source := func(context.Context) (string, error) {
		if count++; count == 3 {
			return "", errors.New("no luck")
		}
		return fmt.Sprintf("jwt-%d", count), nil
	}
	client, err := muniment.Connect(p.target, muniment.WithTenant("acme"), muniment.WithTokenSource(source))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 {
		if _, err := client.GetConsent(background(t), &pb.GetConsentRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.GetConsent(background(t), &pb.GetConsentRequest{}); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Error(err)
	}
	if got := p.received("GetConsent")[1].metadata.Get("authorization")[0]; got != "Bearer jwt-2" {
		t.Error(got)
	}
}

func TestRequestIDIsFilledInAndTheRequestLeftAlone(t *testing.T) {
	p := newPeer(t)
	p.on("Write", ok(&pb.WriteResponse{}))
	client := connect(t, p)
	request := write("ada", "text")
	for range 2 {
		if _, err := client.Write(background(t), request); err != nil {
			t.Fatal(err)
		}
	}
	if request.GetRequestId() != "" {
		t.Error("the caller's request was changed")
	}
	var ids []string
	for _, each := range p.received("Write") {
		ids = append(ids, each.requests[0].(*pb.WriteRequest).GetRequestId())
	}
	if !uuid4.MatchString(ids[0]) || !uuid4.MatchString(ids[1]) || ids[0] == ids[1] {
		t.Error(ids)
	}
	request.RequestId = "own"
	if _, err := client.Write(background(t), request); err != nil {
		t.Fatal(err)
	}
	if got := p.received("Write")[2].requests[0].(*pb.WriteRequest).GetRequestId(); got != "own" {
		t.Error(got)
	}
}

func TestDeadlines(t *testing.T) {
	p := newPeer(t)
	for method, answered := range map[string]proto.Message{
		"Write": &pb.WriteResponse{}, "Recall": &pb.RecallResponse{}, "Erase": &pb.EraseResponse{},
		"Ingest": &pb.IngestResponse{}, "GetMemory": &pb.GetMemoryResponse{},
	} {
		p.on(method, ok(answered))
	}
	client := connect(t, p)
	ctx := background(t)
	_, _ = client.Write(ctx, write("ada", "text"))
	_, _ = client.Recall(ctx, &pb.RecallRequest{})
	_, _ = client.Erase(ctx, &pb.EraseRequest{})
	_, _ = client.Ingest(ctx, &pb.IngestRequest{})
	_, _ = client.GetMemory(ctx, &pb.GetMemoryRequest{}, muniment.Timeout(9*time.Second))
	for method, want := range map[string]time.Duration{
		"Write": 5 * time.Second, "Recall": 2 * time.Second, "Erase": 30 * time.Second,
		"Ingest": 30 * time.Second, "GetMemory": 9 * time.Second,
	} {
		if got := p.received(method)[0].remaining; got > want || got < want-time.Second {
			t.Errorf("%s: %v", method, got)
		}
	}
	limited, cancel := context.WithTimeout(ctx, 7*time.Second)
	defer cancel()
	_, _ = client.Recall(limited, &pb.RecallRequest{})
	if got := p.received("Recall")[1].remaining; got < 6*time.Second {
		t.Errorf("the context's own deadline was not kept: %v", got)
	}
}

func TestDeadlineExceededAndCancellation(t *testing.T) {
	p := newPeer(t)
	p.on("Write", answer{hold: make(chan struct{})})
	client := connect(t, p)
	_, err := client.Write(background(t), write("ada", "text"), muniment.Timeout(50*time.Millisecond))
	var failure *muniment.Error
	if !errors.As(err, &failure) || failure.Code != codes.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if !uuid4.MatchString(failure.RequestID) {
		t.Error("the error does not tell the request id to repeat with")
	}
	ctx, cancel := context.WithCancel(background(t))
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err = client.Write(ctx, write("ada", "text")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestErrorsCarryWhatTheServiceSays(t *testing.T) {
	p := newPeer(t)
	p.on("Write", fail(codes.InvalidArgument, "INVALID_REQUEST",
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "items[0].content", Reason: "string.min_bytes", Description: "is empty"},
		}},
		&errdetails.RequestInfo{RequestId: "trace"}, retryInfo(3*time.Second)))
	client := connect(t, p)
	_, err := client.Write(background(t), write("ada", "secret text"))
	var failure *muniment.Error
	if !errors.As(fmt.Errorf("wrapped: %w", err), &failure) || !errors.Is(err, muniment.ErrInvalidRequest) ||
		errors.Is(err, muniment.ErrNotFound) {
		t.Fatal(err)
	}
	if failure.Reason != "INVALID_REQUEST" || failure.CallID != "cafe" || failure.TraceID != "trace" {
		t.Errorf("%+v", failure)
	}
	if got := failure.Violations; len(got) != 1 || got[0].Field != "items[0].content" || got[0].Rule != "string.min_bytes" {
		t.Error(got)
	}
	if delay, ok := failure.RetryAfter(); !ok || delay != 3*time.Second {
		t.Error(delay, ok)
	}
	if want := "muniment: INVALID_ARGUMENT (INVALID_REQUEST): it failed\n  items[0].content: is empty"; err.Error() != want {
		t.Error(err)
	}
	p.on("Write", answer{failure: fail(codes.Aborted, "").failure})
	_, err = client.Write(background(t), write("ada", "text"))
	if !errors.Is(err, muniment.ErrConflict) || err.Error() != "muniment: ABORTED: it failed" {
		t.Error(err)
	}
}

func TestTextThatIsNotUTF8IsRefusedHere(t *testing.T) {
	p := newPeer(t)
	client := connect(t, p)
	_, err := client.Write(background(t), write("ada", "\xff"))
	var failure *muniment.Error
	if !errors.As(err, &failure) || !failure.Local || !errors.Is(err, muniment.ErrInvalidRequest) {
		t.Error(err)
	}
}

func TestUnavailableIsRepeatedWithTheSameRequestID(t *testing.T) {
	p := newPeer(t)
	p.on("Write", fail(codes.Unavailable, ""), fail(codes.Unavailable, ""), ok(&pb.WriteResponse{}))
	client := connect(t, p)
	if _, err := client.Write(background(t), write("ada", "text")); err != nil {
		t.Fatal(err)
	}
	calls := p.received("Write")
	if len(calls) != 3 {
		t.Fatal(len(calls))
	}
	first := calls[0].requests[0].(*pb.WriteRequest).GetRequestId()
	for _, each := range calls {
		if each.requests[0].(*pb.WriteRequest).GetRequestId() != first {
			t.Error("another request id")
		}
	}
}

func TestUnavailableIsRepeatedFourTimesAtMost(t *testing.T) {
	p := newPeer(t)
	p.on("Write", fail(codes.Unavailable, "DATABASE_UNAVAILABLE"))
	client := connect(t, p)
	_, err := client.Write(background(t), write("ada", "text"))
	if !errors.Is(err, muniment.ErrUnavailable) || len(p.received("Write")) != 4 {
		t.Error(err, len(p.received("Write")))
	}
	p.on("Recall", fail(codes.Internal, "INTERNAL"))
	_, _ = client.Recall(background(t), &pb.RecallRequest{})
	if len(p.received("Recall")) != 1 {
		t.Error("INTERNAL was repeated")
	}
}

func TestRetryInfoIsWaitedFor(t *testing.T) {
	p := newPeer(t)
	// A pushback that refuses ends gRPC's own attempts; RetryInfo says when to come again.
	busy := fail(codes.Unavailable, "SHUTTING_DOWN", retryInfo(100*time.Millisecond))
	busy.trailers.Set("grpc-retry-pushback-ms", "-1")
	p.on("Write", busy, ok(&pb.WriteResponse{}))
	client := connect(t, p)
	started := time.Now()
	if _, err := client.Write(background(t), write("ada", "text")); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took < 100*time.Millisecond || len(p.received("Write")) != 2 {
		t.Error(took, len(p.received("Write")))
	}
	later := fail(codes.Unavailable, "SHUTTING_DOWN", retryInfo(time.Minute))
	later.trailers.Set("grpc-retry-pushback-ms", "-1")
	p.on("Recall", later)
	_, err := client.Recall(background(t), &pb.RecallRequest{})
	if !errors.Is(err, muniment.ErrUnavailable) || len(p.received("Recall")) != 1 {
		t.Error("did not give up what the deadline cannot reach", err)
	}
}

func TestCancellationEndsTheWait(t *testing.T) {
	p := newPeer(t)
	later := fail(codes.Unavailable, "SHUTTING_DOWN", retryInfo(30*time.Second))
	later.trailers.Set("grpc-retry-pushback-ms", "-1")
	p.on("Erase", later)
	client := connect(t, p, muniment.WithDeadlines(muniment.Deadlines{Erase: time.Minute}))
	ctx, cancel := context.WithCancel(background(t))
	time.AfterFunc(50*time.Millisecond, cancel)
	started := time.Now()
	if _, err := client.Erase(ctx, &pb.EraseRequest{}); !errors.Is(err, context.Canceled) || time.Since(started) > 5*time.Second {
		t.Error(err)
	}
}

func TestGoAwayAndReconnect(t *testing.T) {
	p := newPeer(t)
	hold := make(chan struct{})
	p.on("Write", answer{messages: []proto.Message{&pb.WriteResponse{RequestId: "slow"}}, hold: hold}, ok(&pb.WriteResponse{}))
	client := connect(t, p)
	slow := make(chan error, 1)
	go func() {
		_, err := client.Write(context.Background(), write("ada", "slow"))
		slow <- err
	}()
	for len(p.received("Write")) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	old := p.server
	stopped := make(chan struct{})
	go func() { old.GracefulStop(); close(stopped) }()
	time.Sleep(50 * time.Millisecond)
	close(hold)
	if err := <-slow; err != nil {
		t.Error("the call under way was lost:", err)
	}
	<-stopped
	p.listen(t, p.target)
	if _, err := client.Write(background(t), write("ada", "after")); err != nil {
		t.Error(err)
	}
}

func TestRecallsSeeTheClientsOwnWrites(t *testing.T) {
	p := newPeer(t)
	p.on("Write", ok(&pb.WriteResponse{ConsistencyToken: token("one")}))
	p.on("Erase", ok(&pb.EraseResponse{ConsistencyToken: token("two")}))
	p.on("Recall", ok(&pb.RecallResponse{ConsistencyToken: token("read")}))
	client := connect(t, p)
	ctx := background(t)
	sent := func() *pb.Consistency {
		_, err := client.Recall(ctx, &pb.RecallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		calls := p.received("Recall")
		return calls[len(calls)-1].requests[0].(*pb.RecallRequest).GetConsistency()
	}
	if sent() != nil {
		t.Error("a token from nowhere")
	}
	_, _ = client.Write(ctx, write("ada", "text"))
	if got := sent().GetAtLeastAsFresh().GetToken(); got != "one" {
		t.Error(got)
	}
	_, _ = client.Erase(ctx, &pb.EraseRequest{ValidateOnly: true})
	if got := client.ConsistencyToken().GetToken(); got != "one" {
		t.Error("a dry run was held:", got)
	}
	_, _ = client.Erase(ctx, &pb.EraseRequest{})
	if got := sent().GetAtLeastAsFresh().GetToken(); got != "two" {
		t.Error(got)
	}
	p.on("Recall", fail(codes.InvalidArgument, "CONSISTENCY_TOKEN_FOREIGN"), ok(&pb.RecallResponse{}))
	if sent() != nil || client.ConsistencyToken() != nil {
		t.Error("a token that says nothing was kept")
	}
	p.on("Recall", fail(codes.InvalidArgument, "CONSISTENCY_TOKEN_FOREIGN"))
	_, err := client.Recall(ctx, &pb.RecallRequest{Consistency: muniment.AtLeastAsFresh(token("mine"))})
	if !errors.Is(err, muniment.ErrInvalidRequest) {
		t.Error("a token that was asked for was dropped:", err)
	}
	without := connect(t, p, muniment.WithoutReadYourWrites())
	_, _ = without.Write(ctx, write("ada", "text"))
	p.on("Recall", ok(&pb.RecallResponse{}))
	client = without
	if sent() != nil {
		t.Error("sent although it was not wanted")
	}
}

func TestPagesToTheEnd(t *testing.T) {
	p := newPeer(t)
	p.on("ListMemories",
		ok(&pb.ListMemoriesResponse{Memories: []*pb.Memory{{MemoryId: "1"}, {MemoryId: "2"}}, NextPageToken: "next"}),
		ok(&pb.ListMemoriesResponse{NextPageToken: "more"}),
		ok(&pb.ListMemoriesResponse{Memories: []*pb.Memory{{MemoryId: "3"}}}))
	client := connect(t, p)
	var ids []string
	for memory, err := range client.ListMemories(background(t), &pb.ListMemoriesRequest{PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, memory.GetMemoryId())
	}
	if fmt.Sprint(ids) != "[1 2 3]" {
		t.Error(ids)
	}
	var tokens []string
	for _, each := range p.received("ListMemories") {
		tokens = append(tokens, each.requests[0].(*pb.ListMemoriesRequest).GetPageToken())
	}
	if fmt.Sprint(tokens) != "[ next more]" {
		t.Error(tokens)
	}
	p.on("Audit", ok(&pb.AuditResponse{Events: []*pb.AuditEvent{{}}, NextPageToken: "next"}), fail(codes.NotFound, ""))
	count := 0
	var last error
	for _, err := range client.Audit(background(t), &pb.AuditRequest{}) {
		if last = err; err == nil {
			count++
		}
	}
	if count != 1 || !errors.Is(last, muniment.ErrNotFound) {
		t.Error(count, last)
	}
}

func TestAnExportThatIsCutOffIsAnError(t *testing.T) {
	p := newPeer(t)
	records := &pb.ExportMemoriesResponse{Records: []*pb.MemoryRecord{{}, {}}}
	client := connect(t, p)
	read := func() (count int, last error) {
		for message, err := range client.ExportMemories(background(t), &pb.ExportMemoriesRequest{}) {
			last = err
			count += len(message.GetRecords())
		}
		return count, last
	}
	p.on("ExportMemories", ok(records, &pb.ExportMemoriesResponse{RecordCount: proto.Int64(2)}))
	if count, err := read(); count != 2 || err != nil {
		t.Error(count, err)
	}
	p.on("ExportMemories", ok(records))
	if count, err := read(); count != 2 || !errors.Is(err, muniment.ErrUnavailable) {
		t.Error(count, err)
	}
	p.on("ExportMemories", ok(records, &pb.ExportMemoriesResponse{RecordCount: proto.Int64(3)}))
	if _, err := read(); !errors.Is(err, muniment.ErrUnavailable) {
		t.Error(err)
	}
	p.on("ExportMemories", answer{messages: []proto.Message{records}, failure: fail(codes.DataLoss, "INTEGRITY_VIOLATION").failure})
	if count, err := read(); count != 2 || !errors.Is(err, muniment.ErrDataLoss) || len(p.received("ExportMemories")) != 4 {
		t.Error(count, err)
	}
	trailer := &pb.ExportAuditResponse{Part: &pb.ExportAuditResponse_Trailer{Trailer: &pb.ExportTrailer{EventCount: 1}}}
	p.on("ExportAudit", ok(trailer))
	for _, err := range client.ExportAudit(background(t), &pb.ExportAuditRequest{}) {
		if !errors.Is(err, muniment.ErrUnavailable) {
			t.Error(err)
		}
	}
	for range client.ExportMemories(background(t), &pb.ExportMemoriesRequest{}) {
		break
	}
}

func TestStreamIngest(t *testing.T) {
	p := newPeer(t)
	p.on("StreamIngest", ok(&pb.StreamIngestResponse{IngestId: "i", ConsistencyToken: token("held")}))
	client := connect(t, p)
	stream, err := client.StreamIngest(background(t))
	if err != nil {
		t.Fatal(err)
	}
	for number := range 3 {
		turn := &pb.IngestTurn{Number: int64(number), Content: "text"}
		if err := stream.Send(&pb.StreamIngestRequest{Turns: []*pb.IngestTurn{turn}}); err != nil {
			t.Fatal(err)
		}
	}
	response, err := stream.CloseAndRecv()
	if err != nil || response.GetIngestId() != "i" || client.ConsistencyToken().GetToken() != "held" {
		t.Fatal(response, err)
	}
	got := p.received("StreamIngest")[0].requests
	if len(got) != 3 || !uuid4.MatchString(got[0].(*pb.StreamIngestRequest).GetRequestId()) ||
		got[1].(*pb.StreamIngestRequest).GetRequestId() != "" {
		t.Error(got)
	}
	p.on("StreamIngest", fail(codes.AlreadyExists, "TURN_CONFLICT"))
	if stream, err = client.StreamIngest(background(t)); err != nil {
		t.Fatal(err)
	}
	_, err = stream.CloseAndRecv()
	var failure *muniment.Error
	if !errors.As(err, &failure) || failure.Reason != "TURN_CONFLICT" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(background(t))
	if _, err = client.StreamIngest(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	// One that was given up does not hold up closing.
	started := time.Now()
	if err := client.Close(); err != nil || time.Since(started) > 2*time.Second {
		t.Error(err, time.Since(started))
	}
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	p := newPeer(t)
	hold := make(chan struct{})
	p.on("Write", answer{messages: []proto.Message{&pb.WriteResponse{}}, hold: hold})
	client := connect(t, p)
	done := make(chan error, 1)
	go func() {
		_, err := client.Write(context.Background(), write("ada", "text"))
		done <- err
	}()
	for len(p.received("Write")) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(hold) })
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error("was cut off:", err)
	}
	if _, err := client.Write(background(t), write("ada", "text")); !errors.Is(err, muniment.ErrClosed) {
		t.Error(err)
	}
	impatient := connect(t, p)
	p.on("Write", answer{hold: make(chan struct{})})
	go func() {
		_, err := impatient.Write(context.Background(), write("ada", "text"))
		done <- err
	}()
	for len(p.received("Write")) < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(background(t), 20*time.Millisecond)
	defer cancel()
	if err := impatient.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestManyGoroutinesShareAClient(t *testing.T) {
	p := newPeer(t)
	p.on("Write", ok(&pb.WriteResponse{ConsistencyToken: token("t")}))
	p.on("Recall", ok(&pb.RecallResponse{}))
	client := connect(t, p)
	shared := write("ada", "text")
	var workers sync.WaitGroup
	for range 16 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for range 20 {
				if _, err := client.Write(context.Background(), shared); err != nil {
					t.Error(err)
				}
				if _, err := client.Recall(context.Background(), &pb.RecallRequest{}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	workers.Wait()
	ids := map[string]bool{}
	for _, each := range p.received("Write") {
		ids[each.requests[0].(*pb.WriteRequest).GetRequestId()] = true
	}
	if len(ids) != 320 {
		t.Error(len(ids))
	}
}

func TestNothingPrintedShowsTheCredential(t *testing.T) {
	p := newPeer(t)
	p.on("Write", fail(codes.PermissionDenied, "PERMISSION_DENIED"))
	client := connect(t, p)
	_, err := client.Write(background(t), write("ada", "text"))
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, each := range []any{client, err} {
			if text := fmt.Sprintf(form, each); strings.Contains(text, "5ecret") {
				t.Errorf("%s: %s", form, text)
			}
		}
	}
}

func TestTLSAndMutualTLS(t *testing.T) {
	// A certificate for 127.0.0.1 and example.com, from the standard library.
	made := httptest.NewTLSServer(http.NotFoundHandler())
	made.Close()
	certificate := made.TLS.Certificates[0]
	authority := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	})))
	p.on("GetConsent", ok(&pb.GetConsentResponse{}))
	config, err := muniment.TLSFiles(authority, "", "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(config *tls.Config) error {
		client := connect(t, p, muniment.WithTLS(config))
		_, err := client.GetConsent(background(t), &pb.GetConsentRequest{}, muniment.Timeout(3*time.Second))
		return err
	}
	if err := ask(config); !errors.Is(err, muniment.ErrUnavailable) {
		t.Error("served without a client certificate:", err)
	}
	config.Certificates = []tls.Certificate{certificate}
	if err := ask(config); err != nil {
		t.Error(err)
	}
	if _, err := muniment.TLSFiles("", authority, ""); err == nil {
		t.Error("a certificate without a key was accepted")
	}
}

func TestARefusalSaysWhatWasMissing(t *testing.T) {
	for _, each := range []struct {
		err  muniment.Error
		said string
	}{
		{muniment.Error{Reason: "PERMISSION_DENIED", Message: "no", Metadata: map[string]string{"permission": "erase"}}, "no (missing: erase)"},
		{muniment.Error{Reason: "SOURCE_NOT_ALLOWED", Message: "no", Metadata: map[string]string{"source_type": "TOOL"}}, "no (refused: tool)"},
		{muniment.Error{Reason: "PERMISSION_DENIED", Message: "no"}, "PERMISSION_DENIED: no"},
	} {
		each.err.Code = codes.PermissionDenied
		if got := each.err.Error(); !strings.HasSuffix(got, each.said) {
			t.Errorf("%q does not end with %q", got, each.said)
		}
	}
}
