package muniment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Domain is that of the reasons of this service.
const Domain = "muniment.dev"

// ErrClosed is returned by calls of a client that was closed.
var ErrClosed = errors.New("muniment: the client is closed")

// What a call failed with, for [errors.Is]; the details are in an *[Error], for [errors.As]. What is not
// listed here is found in Error.Code.
var (
	// ErrInvalidRequest: the request breaks a rule of the contract; see Error.Violations.
	ErrInvalidRequest = sentinel(codes.InvalidArgument)
	// ErrUnauthenticated: the credential is missing or not accepted.
	ErrUnauthenticated = sentinel(codes.Unauthenticated)
	// ErrPermissionDenied: the credential does not allow the call.
	ErrPermissionDenied = sentinel(codes.PermissionDenied)
	// ErrNotFound: no such thing in this tenant.
	ErrNotFound = sentinel(codes.NotFound)
	// ErrAlreadyExists: the request id or the number of a turn was used for something else.
	ErrAlreadyExists = sentinel(codes.AlreadyExists)
	// ErrConflict: somebody else changed it in the meantime; read again, decide again.
	ErrConflict = sentinel(codes.Aborted)
	// ErrFailedPrecondition: the memory is in a state that does not allow the call.
	ErrFailedPrecondition = sentinel(codes.FailedPrecondition)
	// ErrResourceExhausted: a quota is used up or the server has too many calls running; see Error.RetryAfter.
	ErrResourceExhausted = sentinel(codes.ResourceExhausted)
	// ErrUnavailable: the server cannot be reached, or it cannot reach what it needs; tried again already.
	ErrUnavailable = sentinel(codes.Unavailable)
	// ErrUnimplemented: the server does not offer the method, or not with these arguments.
	ErrUnimplemented = sentinel(codes.Unimplemented)
	// ErrDataLoss: what was asked for is stored, but its seal does not hold.
	ErrDataLoss = sentinel(codes.DataLoss)
)

type sentinel codes.Code

func (s sentinel) Error() string { return "muniment: " + codeName(codes.Code(s)) }

// FieldViolation is one field that breaks its rules.
type FieldViolation struct {
	// Path of the field in the request, for example "items[0].content".
	Field string
	// Id of the rule.
	Rule string
	// What is wrong, without the value.
	Description string
}

// Error is what a call failed with. It holds no credential, no query and no content of a memory.
//
// errors.Is finds the sentinels of this package, and [context.Canceled] and [context.DeadlineExceeded] in an
// Error with these codes. After DEADLINE_EXCEEDED nobody knows whether a change took place: repeat it with
// RequestID as the id of the request.
type Error struct {
	// Code of the gRPC status.
	Code codes.Code
	// Reason is the name of an ErrorReason of the contract without its prefix, or a newer server's; it
	// never changes its meaning. Empty when the transport failed before the service answered.
	Reason string
	// Metadata are details of the reason; the contract documents the keys at ErrorReason.
	Metadata map[string]string
	// Violations are the fields that break their rules, at most 20.
	Violations []FieldViolation
	// Message for a person.
	Message string
	// TraceID is the W3C trace id of the call, 32 hex digits; empty if there is none.
	TraceID string
	// CallID is the server's id of the call, to be found in its log; empty if it did not answer.
	CallID string
	// RequestID under which the change was asked for, filled in by the client or not; empty for other calls.
	RequestID string
	// Local: refused before anything was sent.
	Local bool

	retryAfter *time.Duration
	cause      error
}

// CodeName is the code's name in the gRPC specification, for example "ABORTED".
func (e *Error) CodeName() string { return codeName(e.Code) }

// RetryAfter is how long the service asks to wait before trying again; false if it asks nothing.
func (e *Error) RetryAfter() (time.Duration, bool) {
	if e.retryAfter == nil {
		return 0, false
	}
	return *e.retryAfter, true
}

// Error says what happened in one line, and every violation in one more.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("muniment: ")
	text.WriteString(codeName(e.Code))
	if e.Reason != "" && e.Reason != codeName(e.Code) {
		fmt.Fprintf(&text, " (%s)", e.Reason)
	}
	text.WriteString(": ")
	text.WriteString(e.Message)
	text.WriteString(e.refused())
	for _, each := range e.Violations {
		fmt.Fprintf(&text, "\n  %s: %s", each.Field, each.Description)
	}
	return text.String()
}

// refused says which of the causes that the message of a refusal names it was.
func (e *Error) refused() string {
	permission, source := e.Metadata["permission"], e.Metadata["source_type"]
	switch {
	case e.Reason == "PERMISSION_DENIED" && permission != "":
		return " (missing: " + permission + ")"
	case e.Reason == "SOURCE_NOT_ALLOWED" && source != "":
		return " (refused: " + strings.ToLower(source) + ")"
	}
	return ""
}

// Unwrap returns the transport's own error.
func (e *Error) Unwrap() error { return e.cause }

// Is says whether the error is of the kind of a sentinel, or of a context's error.
func (e *Error) Is(target error) bool {
	if kind, ok := target.(sentinel); ok {
		return e.Code == codes.Code(kind)
	}
	return e.Code == codes.Canceled && target == context.Canceled ||
		e.Code == codes.DeadlineExceeded && target == context.DeadlineExceeded
}

// GRPCStatus lets the status package read the error.
func (e *Error) GRPCStatus() *status.Status {
	if e.cause != nil {
		if found, ok := status.FromError(e.cause); ok {
			return found
		}
	}
	return status.New(e.Code, e.Message)
}

// toError reads what the transport failed with. trailers may be nil.
func toError(err error, trailers metadata.MD, traceID, requestID string) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	found, ok := status.FromError(err)
	if !ok {
		found = status.FromContextError(err)
	}
	made := &Error{
		Code: found.Code(), Message: found.Message(), TraceID: traceID, RequestID: requestID, cause: err,
	}
	if values := trailers.Get("muniment-request-id"); len(values) > 0 {
		made.CallID = values[0]
	}
	if made.Code == codes.Internal && strings.HasPrefix(made.Message, "grpc: error while marshaling") {
		// Text that is not UTF-8, which no message can hold.
		made.Code, made.Local = codes.InvalidArgument, true
		made.Reason, made.Metadata = "INVALID_REQUEST", map[string]string{"violation_count": "1"}
		return made
	}
	for _, detail := range found.Details() {
		switch each := detail.(type) {
		case *errdetails.ErrorInfo:
			// A proxy on the way has reasons of its own.
			if each.GetDomain() == Domain {
				made.Reason, made.Metadata = each.GetReason(), each.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, field := range each.GetFieldViolations() {
				made.Violations = append(made.Violations,
					FieldViolation{field.GetField(), field.GetReason(), field.GetDescription()})
			}
		case *errdetails.RetryInfo:
			delay := each.GetRetryDelay().AsDuration()
			made.retryAfter = &delay
		case *errdetails.RequestInfo:
			made.TraceID = each.GetRequestId()
		}
	}
	return made
}

var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// codeName is the code's name in the gRPC specification, which its own String is not.
func codeName(code codes.Code) string {
	if int(code) < len(codeNames) {
		return codeNames[code]
	}
	return fmt.Sprintf("CODE_%d", uint32(code))
}
