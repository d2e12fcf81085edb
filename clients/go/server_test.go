package muniment_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	muniment "github.com/muniment/muniment/clients/go"
	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// The machine that runs the tests may be busy; how long calls take is not the question here.
var patient = muniment.Deadlines{
	Recall: 30 * time.Second, Write: 30 * time.Second, Supersede: 30 * time.Second,
	Erase: 60 * time.Second, Ingest: 60 * time.Second, Other: 30 * time.Second,
}

// server is a real one, as its own process with its own database.
type server struct{ target, key string }

func startServer(t *testing.T) server {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, ".venv", "bin", "muniment")
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no server: make install")
		}
		t.Skip("no server: make install")
	}
	// Not t.TempDir(): the database's own account must be able to reach it when the tests run as root.
	folder, err := os.MkdirTemp("", "muniment-go-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(folder, "home")
	command := exec.Command(program, "serve", "--listen", "127.0.0.1:0")
	command.Env = append(os.Environ(), "MUNIMENT_HOME="+home, "MUNIMENT_DRAIN_DELAY=0", "PYTHONUNBUFFERED=1")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	made := server{}
	serves := regexp.MustCompile(`serves on (\S+)`)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if found := serves.FindStringSubmatch(lines.Text()); found != nil {
			made.target = found[1]
		}
		if strings.HasPrefix(lines.Text(), "Not wanted any more") {
			break
		}
	}
	text, err := os.ReadFile(filepath.Join(home, "dev-key"))
	if err != nil || made.target == "" {
		t.Fatal("the server did not start: ", err)
	}
	made.key = strings.TrimSpace(string(text))
	go func() { _, _ = bufio.NewReader(output).WriteTo(devNull{}) }()
	return made
}

type devNull struct{}

func (devNull) Write(text []byte) (int, error) { return len(text), nil }

func TestAgainstAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("no server with -short")
	}
	running := startServer(t)
	client, err := muniment.Connect(running.target, muniment.WithTenant("dev"),
		muniment.WithAPIKey(running.key), muniment.WithDeadlines(patient))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, run := range map[string]func(*testing.T, *muniment.Client){
		"a memory's life": testMemorysLife,
		"errors":          testErrors,
		"conversation":    testConversation,
		"corrections":     testCorrections,
		"subject":         testSubject,
		"review":          testReview,
		"audit":           testAudit,
	} {
		t.Run(name, func(t *testing.T) { run(t, client) })
	}
	t.Run("the example of the README", func(t *testing.T) { testExample(t, running) })
}

func subjectOf(t *testing.T) *pb.Scope {
	t.Helper()
	return muniment.Subject("go-" + muniment.NewRequestID())
}

// check ends the test on an error.
func check[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func preference(content string) *pb.WriteItem {
	return &pb.WriteItem{
		Kind: pb.MemoryKind_MEMORY_KIND_PREFERENCE, Content: content,
		Provenance: &pb.Provenance{SourceType: pb.SourceType_SOURCE_TYPE_USER_STATED},
	}
}

func testMemorysLife(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	written := check[*pb.WriteResponse](t)(client.Write(ctx, &pb.WriteRequest{
		Scope: scope, Items: []*pb.WriteItem{preference("Drinks green tea, never coffee.")},
	}))
	tea := written.GetResults()[0].GetMemory()
	if got := written.GetResults()[0].GetOutcome(); got != pb.WriteOutcome_WRITE_OUTCOME_CREATED {
		t.Fatal(got)
	}
	recalled := check[*muniment.Recalled](t)(client.Recall(ctx, &pb.RecallRequest{
		Scope: scope, Query: "What does she drink?", TokenBudget: proto.Int32(300),
	}))
	if ids := recalled.PromptMemoryIDs(); len(ids) != 1 || ids[0] != tea.GetMemoryId() || recalled.Context() == "" {
		t.Fatal(ids)
	}
	call := client.ModelCall(recalled)
	call.Model, call.Strict = "some-model", true
	if err := call.Do(ctx, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	receipt := check[*pb.GetRecallResponse](t)(client.GetRecall(ctx,
		&pb.GetRecallRequest{RecallId: recalled.GetRecallId()})).GetReceipt()
	if uses := receipt.GetUses(); len(uses) != 1 || uses[0].GetActor().GetClient() != "muniment-go/"+muniment.Version {
		t.Error(uses)
	}
	corrected := check[*pb.SupersedeResponse](t)(client.Supersede(ctx, &pb.SupersedeRequest{
		MemoryId: tea.GetMemoryId(), Etag: tea.GetEtag(), Item: preference("Drinks black tea."),
	}))
	found := check[*pb.GetMemoryResponse](t)(client.GetMemory(ctx,
		&pb.GetMemoryRequest{MemoryId: tea.GetMemoryId(), IncludeRevisions: true}))
	if found.GetMemory().GetSupersededBy() != corrected.GetMemory().GetMemoryId() || len(found.GetRevisions()) == 0 {
		t.Error(found)
	}
	erased := check[*pb.EraseResponse](t)(client.Erase(ctx, &pb.EraseRequest{
		Target: muniment.Memories(tea.GetMemoryId(), corrected.GetMemory().GetMemoryId()),
	}))
	if erased.GetReceipt().GetCounts().GetMemories() != 2 {
		t.Error(erased)
	}
	check[*pb.GetErasureResponse](t)(client.GetErasure(ctx,
		&pb.GetErasureRequest{ErasureId: erased.GetReceipt().GetErasureId()}))
}

func testErrors(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	var failure *muniment.Error
	_, err := client.Write(ctx, &pb.WriteRequest{Scope: scope, Items: muniment.Facts("")})
	if !errors.As(err, &failure) || failure.Reason != "INVALID_REQUEST" || len(failure.Violations) == 0 || failure.CallID == "" {
		t.Errorf("%+v", err)
	}
	_, err = client.GetMemory(ctx, &pb.GetMemoryRequest{MemoryId: muniment.NewRequestID()})
	if !errors.As(err, &failure) || failure.Reason != "MEMORY_NOT_FOUND" || failure.Metadata["memory_id"] == "" ||
		!errors.Is(err, muniment.ErrNotFound) {
		t.Errorf("%+v", err)
	}
	request := write(scope.GetSubject(), "Likes tea.")
	request.RequestId = muniment.NewRequestID()
	first := check[*pb.WriteResponse](t)(client.Write(ctx, request))
	again := check[*pb.WriteResponse](t)(client.Write(ctx, request))
	if !proto.Equal(first, again) {
		t.Error("a repeated write answered something else")
	}
	request.Items[0].Content = "Likes coffee."
	if _, err = client.Write(ctx, request); !errors.Is(err, muniment.ErrAlreadyExists) {
		t.Error(err)
	}
	_, err = client.Supersede(ctx, &pb.SupersedeRequest{
		MemoryId: first.GetResults()[0].GetMemory().GetMemoryId(), Etag: "stale", Item: preference("Likes water."),
	})
	if !errors.Is(err, muniment.ErrConflict) {
		t.Error(err)
	}
	other, err := muniment.Connect(connectionOf(client), muniment.WithTenant("dev"), muniment.WithAPIKey("mk_wrong"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err = other.Write(ctx, request); !errors.Is(err, muniment.ErrUnauthenticated) {
		t.Error(err)
	}
}

// connectionOf reads the target out of what a client says of itself.
func connectionOf(client *muniment.Client) string {
	text := strings.TrimPrefix(client.String(), "muniment.Client(")
	return text[:strings.Index(text, ",")]
}

func testConversation(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	scope.Session = proto.String("s-1")
	turn := &pb.IngestTurn{Number: 1, Role: pb.TurnRole_TURN_ROLE_USER, Content: "I like green tea."}
	response, err := client.Ingest(ctx, &pb.IngestRequest{
		Scope: scope, Turns: []*pb.IngestTurn{turn}, Mode: pb.ExtractionMode_EXTRACTION_MODE_NONE,
	})
	if err != nil || len(response.GetTurns()) != 1 {
		t.Fatal(response, err)
	}
	check[*pb.GetIngestResponse](t)(client.GetIngest(ctx, &pb.GetIngestRequest{IngestId: response.GetIngestId()}))
	stream := check[*muniment.IngestStream](t)(client.StreamIngest(ctx))
	for number := range 3 {
		turn := &pb.IngestTurn{
			Number: int64(number + 2), Role: pb.TurnRole_TURN_ROLE_AGENT, Content: fmt.Sprintf("Answer %d.", number),
		}
		if err := stream.Send(&pb.StreamIngestRequest{
			Scope: scope, Turns: []*pb.IngestTurn{turn}, Mode: pb.ExtractionMode_EXTRACTION_MODE_NONE,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if ended, err := stream.CloseAndRecv(); err != nil || len(ended.GetTurns()) != 3 {
		t.Error(ended, err)
	}
}

func testCorrections(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	written := check[*pb.WriteResponse](t)(client.Write(ctx, write(scope.GetSubject(), "Lives in Lyon.")))
	id := written.GetResults()[0].GetMemory().GetMemoryId()
	_, err := client.Retract(ctx, &pb.RetractRequest{MemoryId: id})
	if err != nil {
		t.Fatal(err)
	}
	restored := check[*pb.RestoreResponse](t)(client.Restore(ctx, &pb.RestoreRequest{MemoryId: id}))
	if got := restored.GetMemory().GetState(); got != pb.MemoryState_MEMORY_STATE_ACTIVE {
		t.Error(got)
	}
	second := check[*pb.WriteResponse](t)(client.Write(ctx, write(scope.GetSubject(), "Works in Lyon.")))
	undone := check[*pb.UndoWriteResponse](t)(client.UndoWrite(ctx,
		&pb.UndoWriteRequest{WriteRequestId: second.GetRequestId()}))
	if len(undone.GetMemories()) != 1 {
		t.Error(undone)
	}
}

func testSubject(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	check[*pb.WriteResponse](t)(client.Write(ctx, write(scope.GetSubject(), "Lives in Lyon.")))
	_, err := client.GetConsent(ctx, &pb.GetConsentRequest{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	described := check[*pb.DescribeSubjectResponse](t)(client.DescribeSubject(ctx, &pb.DescribeSubjectRequest{Scope: scope}))
	if len(described.GetHoldings()) != 1 || described.GetSummary() == "" {
		t.Error(described)
	}
	var records []*pb.MemoryRecord
	for message, err := range client.ExportMemories(ctx, &pb.ExportMemoriesRequest{Scope: scope}) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, message.GetRecords()...)
	}
	if len(records) != 1 || records[0].GetItem().GetContent() != "Lives in Lyon." {
		t.Fatal(records)
	}
	imported := check[*pb.ImportMemoriesResponse](t)(client.ImportMemories(ctx,
		&pb.ImportMemoriesRequest{Scope: subjectOf(t), Records: records}))
	if len(imported.GetResults()) != 1 {
		t.Error(imported)
	}
	consent := check[*pb.SetConsentResponse](t)(client.SetConsent(ctx,
		&pb.SetConsentRequest{Scope: scope, Level: pb.ConsentLevel_CONSENT_LEVEL_NONE, Erase: true}))
	if consent.GetConsent().GetLevel() != pb.ConsentLevel_CONSENT_LEVEL_NONE {
		t.Error(consent)
	}
}

func testReview(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	confirmed := preference("Drinks green tea.")
	confirmed.Provenance.SourceType = pb.SourceType_SOURCE_TYPE_USER_CONFIRMED
	written := check[*pb.WriteResponse](t)(client.Write(ctx, &pb.WriteRequest{Scope: scope, Items: []*pb.WriteItem{confirmed}}))
	doubtful := preference("Drinks coffee.")
	doubtful.Provenance.SourceType = pb.SourceType_SOURCE_TYPE_TOOL
	check[*pb.SupersedeResponse](t)(client.Supersede(ctx, &pb.SupersedeRequest{
		MemoryId: written.GetResults()[0].GetMemory().GetMemoryId(), Item: doubtful,
	}))
	count := 0
	for review, err := range client.ListReviews(ctx, &pb.ListReviewsRequest{Scope: scope}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
		decided := check[*pb.DecideReviewResponse](t)(client.DecideReview(ctx, &pb.DecideReviewRequest{
			MemoryId: review.GetMemory().GetMemoryId(), Decision: pb.ReviewDecision_REVIEW_DECISION_REJECT,
		}))
		if got := decided.GetMemory().GetState(); got != pb.MemoryState_MEMORY_STATE_ARCHIVED {
			t.Error(got)
		}
	}
	if count != 1 {
		t.Error(count, "reviews")
	}
}

func testAudit(t *testing.T, client *muniment.Client) {
	ctx, scope := background(t), subjectOf(t)
	for i := range 5 {
		check[*pb.WriteResponse](t)(client.Write(ctx, write(scope.GetSubject(), fmt.Sprintf("Fact %d.", i))))
	}
	listed := map[string]bool{}
	for memory, err := range client.ListMemories(ctx, &pb.ListMemoriesRequest{Scope: scope, PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		listed[memory.GetMemoryId()] = true
	}
	if len(listed) != 5 {
		t.Error(len(listed), "memories")
	}
	events := 0
	for _, err := range client.Audit(ctx, &pb.AuditRequest{Filter: &pb.AuditFilter{Scope: scope}, PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		events++
	}
	if events < 5 {
		t.Error(events, "events")
	}
	var header, trailer bool
	for part, err := range client.ExportAudit(ctx, &pb.ExportAuditRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		header = header || part.GetHeader() != nil
		trailer = trailer || part.GetTrailer() != nil
	}
	if !header || !trailer {
		t.Error("the export is not whole")
	}
}

// testExample runs the example as a user would, and checks that the README shows it.
func testExample(t *testing.T, running server) {
	source, err := os.ReadFile("examples/turn/main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), string(source)) {
		t.Error("the README shows another example than examples/turn/main.go")
	}
	command := exec.Command("go", "run", "./examples/turn")
	command.Env = append(os.Environ(), muniment.TargetVariable+"="+running.target,
		muniment.TenantVariable+"=dev", muniment.APIKeyVariable+"="+running.key)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatal(string(output))
	}
	for _, want := range []string{"green tea", "an answer to", "use reported", "memories erased"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
}
