package muniment

import (
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/proto"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

type deadlineKind int

const (
	deadlineOther deadlineKind = iota
	deadlineRecall
	deadlineWrite
	deadlineSupersede
	deadlineErase
	deadlineIngest
	deadlineExport
)

// method is a method of the contract.
type method struct {
	// Fully qualified, without a leading slash.
	name     string
	deadline deadlineKind
	// Operation of the GenAI memory conventions; empty for methods that are none.
	operation string
}

const (
	memoryService  = "muniment.v1.MemoryService/"
	auditService   = "muniment.v1.AuditService/"
	reviewService  = "muniment.v1.ReviewService/"
	subjectService = "muniment.v1.SubjectService/"
)

// Upsert, not create: a write may reinforce or supersede what is there.
var (
	methodWrite           = &method{memoryService + "Write", deadlineWrite, "upsert_memory"}
	methodRecall          = &method{memoryService + "Recall", deadlineRecall, "search_memory"}
	methodSupersede       = &method{memoryService + "Supersede", deadlineSupersede, "update_memory"}
	methodErase           = &method{memoryService + "Erase", deadlineErase, "delete_memory"}
	methodGetErasure      = &method{memoryService + "GetErasure", deadlineOther, ""}
	methodGetMemory       = &method{memoryService + "GetMemory", deadlineOther, ""}
	methodListMemories    = &method{memoryService + "ListMemories", deadlineOther, ""}
	methodReportUse       = &method{memoryService + "ReportUse", deadlineOther, ""}
	methodIngest          = &method{memoryService + "Ingest", deadlineIngest, "upsert_memory"}
	methodStreamIngest    = &method{memoryService + "StreamIngest", deadlineExport, "upsert_memory"}
	methodGetIngest       = &method{memoryService + "GetIngest", deadlineOther, ""}
	methodRestore         = &method{memoryService + "Restore", deadlineSupersede, "update_memory"}
	methodRetract         = &method{memoryService + "Retract", deadlineSupersede, "update_memory"}
	methodUndoWrite       = &method{memoryService + "UndoWrite", deadlineSupersede, "update_memory"}
	methodAudit           = &method{memoryService + "Audit", deadlineOther, ""}
	methodGetRecall       = &method{auditService + "GetRecall", deadlineOther, ""}
	methodExportAudit     = &method{auditService + "ExportAudit", deadlineExport, ""}
	methodListReviews     = &method{reviewService + "ListReviews", deadlineOther, ""}
	methodDecideReview    = &method{reviewService + "DecideReview", deadlineSupersede, "update_memory"}
	methodSetConsent      = &method{subjectService + "SetConsent", deadlineErase, ""}
	methodGetConsent      = &method{subjectService + "GetConsent", deadlineOther, ""}
	methodDescribeSubject = &method{subjectService + "DescribeSubject", deadlineOther, ""}
	methodExportMemories  = &method{subjectService + "ExportMemories", deadlineExport, ""}
	methodImportMemories  = &method{subjectService + "ImportMemories", deadlineIngest, "upsert_memory"}
)

// requestAttributes are what a span says about a request beside what every span says. Nothing that a
// caller wrote to remember, and no query, is among it.
func requestAttributes(request proto.Message) []attribute.KeyValue {
	var made []attribute.KeyValue
	if scoped, ok := request.(interface{ GetScope() *pb.Scope }); ok {
		switch request.(type) {
		case *pb.WriteRequest, *pb.RecallRequest, *pb.IngestRequest, *pb.ImportMemoriesRequest:
			made = narrowing(made, scoped.GetScope())
		}
	}
	switch each := request.(type) {
	case *pb.WriteRequest:
		made = append(made, keyRecordCount.Int(len(each.GetItems())))
	case *pb.IngestRequest:
		made = append(made, keyRecordCount.Int(len(each.GetTurns())))
	case *pb.ImportMemoriesRequest:
		made = append(made, keyRecordCount.Int(len(each.GetRecords())))
	case *pb.SupersedeRequest:
		made = oneMemory(made, each.GetMemoryId())
	case *pb.RestoreRequest:
		made = oneMemory(made, each.GetMemoryId())
	case *pb.RetractRequest:
		made = oneMemory(made, each.GetMemoryId())
	case *pb.DecideReviewRequest:
		made = oneMemory(made, each.GetMemoryId())
	case *pb.EraseRequest:
		if ids := each.GetTarget().GetMemories().GetMemoryIds(); len(ids) == 1 {
			made = append(made, keyRecordID.String(ids[0]))
		}
	case *pb.ReportUseRequest:
		made = append(made, keyRecallID.String(each.GetRecallId()))
	}
	if id := requestID(request); id != "" {
		made = append(made, keyRequestID.String(id))
	}
	return made
}

func narrowing(made []attribute.KeyValue, scope *pb.Scope) []attribute.KeyValue {
	if scope != nil && scope.Agent != nil {
		made = append(made, keyAgentID.String(scope.GetAgent()))
	}
	if scope != nil && scope.Session != nil {
		made = append(made, keyConversationID.String(scope.GetSession()))
	}
	return made
}

func oneMemory(made []attribute.KeyValue, id string) []attribute.KeyValue {
	return append(made, keyRecordID.String(id), keyRecordCount.Int(1))
}

// responseAttributes are what a span says about an answer.
func responseAttributes(response proto.Message) []attribute.KeyValue {
	switch each := response.(type) {
	case *pb.RecallResponse:
		return []attribute.KeyValue{
			keyRecordCount.Int(len(each.GetMemories())), keyRecallID.String(each.GetRecallId()),
		}
	case *pb.SupersedeResponse:
		if each.GetMemory() != nil {
			return []attribute.KeyValue{keySupersedeNewID.String(each.GetMemory().GetMemoryId())}
		}
	case *pb.UndoWriteResponse:
		return []attribute.KeyValue{keyRecordCount.Int(len(each.GetMemories()))}
	case *pb.EraseResponse:
		receipt := each.GetReceipt()
		made := []attribute.KeyValue{keyRecordCount.Int64(receipt.GetCounts().GetMemories())}
		if receipt.GetErasureId() != "" {
			made = append(made, keyErasureID.String(receipt.GetErasureId()))
		}
		return made
	}
	return nil
}

type identified interface{ GetRequestId() string }

// requestID is that of a request, empty for those that have none.
func requestID(request proto.Message) string {
	if each, ok := request.(identified); ok {
		return each.GetRequestId()
	}
	return ""
}

// withRequestID is the request itself, or a copy with a request id if it has none but should.
func withRequestID[Q proto.Message](request Q) Q {
	message := request.ProtoReflect()
	if !message.IsValid() {
		request = message.New().Interface().(Q)
	}
	each, ok := any(request).(identified)
	if !ok || each.GetRequestId() != "" {
		return request
	}
	// A shallow copy would do, but a message must not be copied by assignment.
	made := proto.Clone(request).(Q)
	reflected := made.ProtoReflect()
	reflected.Set(reflected.Descriptor().Fields().ByName("request_id"), newRequestID())
	return made
}

// changes says whether an answer's consistency token is that of a change, and not of a read.
func changes(request proto.Message) bool {
	if dry, ok := request.(interface{ GetValidateOnly() bool }); ok && dry.GetValidateOnly() {
		return false
	}
	_, ok := request.(identified)
	return ok
}
