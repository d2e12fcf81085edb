package muniment

import (
	"context"
	"errors"
	"iter"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// Write stores statements: all of them or none.
//
// The same statement reinforces the memory that is there; a slot that is held supersedes its holder; nothing is merged
// by likeness. See the outcome of each result.
func (c *Client) Write(
	ctx context.Context, request *pb.WriteRequest, options ...CallOption,
) (*pb.WriteResponse, error) {
	response, _, err := unary(ctx, c, methodWrite, c.memory.Write, request, options)
	return response, err
}

// Recalled is the answer to a recall, best first.
type Recalled struct {
	*pb.RecallResponse
	span trace.SpanContext
}

// MemoryIDs are the ids of all memories, best first.
func (r *Recalled) MemoryIDs() []string {
	ids := make([]string, len(r.GetMemories()))
	for i, each := range r.GetMemories() {
		ids[i] = each.GetMemory().GetMemoryId()
	}
	return ids
}

// PromptMemoryIDs are the ids that stand in the packed context, in its order, or all if none was packed.
func (r *Recalled) PromptMemoryIDs() []string {
	if packed := r.GetPackedContext(); packed != nil {
		return packed.GetMemoryIds()
	}
	return r.MemoryIDs()
}

// Context is the block for a prompt; empty when the request had no token budget.
func (r *Recalled) Context() string { return r.GetPackedContext().GetText() }

// Stamp writes onto a span which memories entered its prompt (none given: PromptMemoryIDs), and links it to
// the span of the recall. At most 50 ids are written, the number of the others as
// muniment.recall.memory.omitted. [Client.ModelCall] does this and reports the use, too.
func (r *Recalled) Stamp(span trace.Span, memoryIDs ...string) {
	if len(memoryIDs) == 0 {
		memoryIDs = r.PromptMemoryIDs()
	}
	stamp(span, r.GetRecallId(), memoryIDs, r.span)
}

// Recall finds what is relevant to a query, ranked.
//
// Without a consistency in the request it sees every write of this client (and waits for their vectors, if the
// server makes them later), unless the client was made WithoutReadYourWrites.
func (c *Client) Recall(
	ctx context.Context, request *pb.RecallRequest, options ...CallOption,
) (*Recalled, error) {
	var own *pb.ConsistencyToken
	if request.GetConsistency() == nil && c.settings.ownWrites {
		own = c.token.Load()
	}
	wanted := request
	if own != nil {
		wanted = proto.Clone(request).(*pb.RecallRequest)
		wanted.Consistency = AtLeastAsFresh(own)
	}
	response, span, err := unary(ctx, c, methodRecall, c.memory.Recall, wanted, options)
	var failure *Error
	if own != nil && errors.As(err, &failure) && tokenReasons[failure.Reason] {
		// Nobody asked for this token: the store was replaced or has moved on, so it says nothing.
		c.settings.logger.InfoContext(ctx, "muniment: dropped the consistency token of the last write",
			"reason", failure.Reason)
		c.token.CompareAndSwap(own, nil)
		response, span, err = unary(ctx, c, methodRecall, c.memory.Recall, request, options)
	}
	if err != nil {
		return nil, err
	}
	return &Recalled{response, span}, nil
}

var tokenReasons = map[string]bool{
	"CONSISTENCY_TOKEN_INVALID": true, "CONSISTENCY_TOKEN_FOREIGN": true, "CONSISTENCY_TOKEN_EXPIRED": true,
}

// Supersede replaces a memory by a new one, in one step; the old one stays as history. With an etag it fails with
// ErrConflict if somebody changed the memory since.
func (c *Client) Supersede(
	ctx context.Context, request *pb.SupersedeRequest, options ...CallOption,
) (*pb.SupersedeResponse, error) {
	response, _, err := unary(ctx, c, methodSupersede, c.memory.Supersede, request, options)
	return response, err
}

// Restore makes a superseded or archived memory live again.
func (c *Client) Restore(
	ctx context.Context, request *pb.RestoreRequest, options ...CallOption,
) (*pb.RestoreResponse, error) {
	response, _, err := unary(ctx, c, methodRestore, c.memory.Restore, request, options)
	return response, err
}

// Retract ends a memory that was true until now; nothing replaces it.
func (c *Client) Retract(
	ctx context.Context, request *pb.RetractRequest, options ...CallOption,
) (*pb.RetractResponse, error) {
	response, _, err := unary(ctx, c, methodRetract, c.memory.Retract, request, options)
	return response, err
}

// UndoWrite takes back a whole write, supersede or import by its request id.
func (c *Client) UndoWrite(
	ctx context.Context, request *pb.UndoWriteRequest, options ...CallOption,
) (*pb.UndoWriteResponse, error) {
	response, _, err := unary(ctx, c, methodUndoWrite, c.memory.UndoWrite, request, options)
	return response, err
}

// Erase erases for good: memories by id, one session, what a filter finds, or everything about a subject
// or in a space, keys included. When it returns, nothing erased is served any more; if the receipt is PENDING,
// poll GetErasure for the rest.
func (c *Client) Erase(
	ctx context.Context, request *pb.EraseRequest, options ...CallOption,
) (*pb.EraseResponse, error) {
	response, _, err := unary(ctx, c, methodErase, c.memory.Erase, request, options)
	return response, err
}

// GetErasure returns the receipt of an erasure as it stands now.
func (c *Client) GetErasure(
	ctx context.Context, request *pb.GetErasureRequest, options ...CallOption,
) (*pb.GetErasureResponse, error) {
	response, _, err := unary(ctx, c, methodGetErasure, c.memory.GetErasure, request, options)
	return response, err
}

// GetMemory returns one memory in whatever state, with its revisions if asked for; an erased one is a tombstone.
func (c *Client) GetMemory(
	ctx context.Context, request *pb.GetMemoryRequest, options ...CallOption,
) (*pb.GetMemoryResponse, error) {
	response, _, err := unary(ctx, c, methodGetMemory, c.memory.GetMemory, request, options)
	return response, err
}

// ListMemories returns the memories of a scope, newest first, read page by page while you range over them. An error
// ends the sequence. It begins at the request's page token.
func (c *Client) ListMemories(
	ctx context.Context, request *pb.ListMemoriesRequest, options ...CallOption,
) iter.Seq2[*pb.Memory, error] {
	return items(c.ListMemoryPages(ctx, request, options...), (*pb.ListMemoriesResponse).GetMemories)
}

// ListMemoryPages is ListMemories page by page, with the memories that were left out because somebody changed them
// in the database; they are logged as a warning, too.
func (c *Client) ListMemoryPages(
	ctx context.Context, request *pb.ListMemoriesRequest, options ...CallOption,
) iter.Seq2[*pb.ListMemoriesResponse, error] {
	fetch := func(token string) (*pb.ListMemoriesResponse, error) {
		wanted := proto.Clone(request).(*pb.ListMemoriesRequest)
		wanted.PageToken = token
		page, _, err := unary(ctx, c, methodListMemories, c.memory.ListMemories, wanted, options)
		c.warn(ctx, page.GetSealBrokenMemoryIds())
		return page, err
	}
	return pages(request.GetPageToken(), fetch, (*pb.ListMemoriesResponse).GetNextPageToken)
}

func (c *Client) warn(ctx context.Context, broken []string) {
	if len(broken) > 0 {
		c.settings.logger.WarnContext(ctx, "muniment: left out of a list, changed behind the service's back",
			"memories", broken)
	}
}

// ReportUse states which memories of a recall really entered a prompt; [Client.ModelCall] does it for you.
func (c *Client) ReportUse(
	ctx context.Context, request *pb.ReportUseRequest, options ...CallOption,
) (*pb.ReportUseResponse, error) {
	response, _, err := unary(ctx, c, methodReportUse, c.memory.ReportUse, request, options)
	return response, err
}
