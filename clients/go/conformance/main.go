// Command conformance is the driver of the Go client for the vectors that all clients are checked with. What it
// speaks on stdin and stdout is described in tests/vectors/PROTOCOL.md.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	muniment "github.com/muniment/muniment/clients/go"
)

type request struct {
	ID     int64  `json:"id"`
	Op     string `json:"op"`
	Client string `json:"client"`

	Target           string            `json:"target"`
	APIKey           string            `json:"api_key"`
	Tenant           string            `json:"tenant"`
	Insecure         bool              `json:"insecure"`
	TLS              map[string]string `json:"tls"`
	Consistency      string            `json:"consistency"`
	MetadataOverride [][2]*string      `json:"metadata_override"`
	Trace            bool              `json:"trace"`

	Method        string            `json:"method"`
	Request       json.RawMessage   `json:"request"`
	Stream        []json.RawMessage `json:"stream"`
	TimeoutMS     int64             `json:"timeout_ms"`
	CancelAfterMS *int64            `json:"cancel_after_ms"`
	AllPages      bool              `json:"all_pages"`
	Take          int               `json:"take"`
	Raw           bool              `json:"raw"`
	TraceParent   string            `json:"trace_parent"`

	Model     string    `json:"model"`
	PromptRef string    `json:"prompt_ref"`
	Outcome   string    `json:"outcome"`
	Used      *[]string `json:"used"`
	Fail      bool      `json:"fail"`

	MessageType  string          `json:"message_type"`
	JSON         json.RawMessage `json:"json"`
	BinaryBase64 *string         `json:"binary_base64"`

	Count       int  `json:"count"`
	Warmup      *int `json:"warmup"`
	Concurrency int  `json:"concurrency"`
	Compare     bool `json:"compare"`
}

type answer map[string]any

// driverError is a request that cannot be carried out.
type driverError struct{ error }

// localError is what the client refuses before anything is sent, with an error of another type than its own.
type localError struct{ error }

func wrong(format string, values ...any) error { return driverError{fmt.Errorf(format, values...)} }

// connected is a client and what its metadata is replaced by.
type connected struct {
	client   *muniment.Client
	override [][2]*string
}

type driver struct {
	mutex   sync.Mutex
	clients map[string]connected
	output  *json.Encoder
	running sync.WaitGroup
}

func main() {
	d := &driver{clients: map[string]connected{}, output: json.NewEncoder(os.Stdout)}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			d.closeAll()
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			d.write(r.ID, nil, driverError{err})
			continue
		}
		switch r.Op {
		case "connect":
			d.write(r.ID, answer{}, d.connect(&r))
		case "close":
			d.closeAll()
			d.write(r.ID, answer{}, nil)
			return
		default:
			d.running.Add(1)
			go func() {
				defer d.running.Done()
				made, err := d.carryOut(&r)
				d.write(r.ID, made, err)
			}()
		}
	}
}

func (d *driver) closeAll() {
	d.running.Wait()
	for _, each := range d.clients {
		_ = each.client.Close()
	}
}

func (d *driver) write(id int64, made answer, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err != nil {
		made = answer{"ok": false, "error": describe(err)}
	} else {
		made["ok"] = true
	}
	made["id"] = id
	if err := d.output.Encode(made); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (d *driver) client(r *request) (*muniment.Client, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if found, ok := d.clients[name(r)]; ok {
		return found.client, checkOverride(found.override)
	}
	return nil, wrong("no client %q", name(r))
}

func name(r *request) string {
	if r.Client == "" {
		return "main"
	}
	return r.Client
}

func (d *driver) carryOut(r *request) (answer, error) {
	switch r.Op {
	case "hello":
		return answer{"language": "go", "version": muniment.Version, "protocol": 1}, nil
	case "echo":
		return echo(r)
	case "spans":
		return answer{"response": recorder.drain()}, nil
	}
	client, err := d.client(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := contextOf(r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	switch r.Op {
	case "token":
		if token := client.ConsistencyToken(); token != nil {
			return answer{"response": answer{"token": token.GetToken()}}, nil
		}
		return answer{"response": answer{"token": nil}}, nil
	case "call":
		return call(ctx, client, r)
	case "model_call":
		return modelCall(ctx, client, r)
	case "bench":
		return bench(ctx, client, r)
	}
	return nil, wrong("unknown op %q", r.Op)
}

func echo(r *request) (answer, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(r.MessageType))
	if err != nil {
		return nil, driverError{err}
	}
	message := kind.New().Interface()
	if r.BinaryBase64 != nil {
		var raw []byte
		if raw, err = base64.StdEncoding.DecodeString(*r.BinaryBase64); err == nil {
			err = proto.Unmarshal(raw, message)
		}
	} else {
		err = protojson.Unmarshal(r.JSON, message)
	}
	if err != nil {
		return nil, localError{err}
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, localError{err}
	}
	raw, err := proto.Marshal(message)
	if err != nil {
		return nil, localError{err}
	}
	return answer{
		"response": json.RawMessage(text), "binary_base64": base64.StdEncoding.EncodeToString(raw),
	}, nil
}

// describe reads the client's own error; that of a raw call is the transport's.
func describe(err error) answer {
	made := answer{
		"code": "DRIVER", "reason": "", "domain": "", "metadata": map[string]string{}, "violations": []answer{},
		"retry_after_ms": nil, "message": err.Error(), "local": false,
	}
	var bad driverError
	var local localError
	var failure *muniment.Error
	switch {
	case errors.As(err, &bad):
	case errors.As(err, &local):
		made["code"], made["local"] = "INVALID_ARGUMENT", true
	case errors.As(err, &failure):
		made["code"], made["reason"], made["message"] = failure.CodeName(), failure.Reason, failure.Message
		made["local"] = failure.Local
		if failure.Reason != "" {
			made["domain"] = muniment.Domain
		}
		if failure.Metadata != nil {
			made["metadata"] = failure.Metadata
		}
		violations := []answer{}
		for _, each := range failure.Violations {
			violations = append(violations, answer{"field": each.Field, "rule": each.Rule})
		}
		made["violations"] = violations
		if delay, ok := failure.RetryAfter(); ok {
			made["retry_after_ms"] = delay.Milliseconds()
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		describeStatus(made, status.FromContextError(err))
	default:
		if found, ok := status.FromError(err); ok {
			describeStatus(made, found)
		}
	}
	return made
}

func describeStatus(made answer, found *status.Status) {
	made["code"] = (&muniment.Error{Code: found.Code()}).CodeName()
	made["message"] = found.Message()
	for _, detail := range found.Details() {
		switch each := detail.(type) {
		case *errdetails.ErrorInfo:
			made["reason"], made["domain"] = each.GetReason(), each.GetDomain()
			if each.GetMetadata() != nil {
				made["metadata"] = each.GetMetadata()
			}
		case *errdetails.BadRequest:
			violations := []answer{}
			for _, field := range each.GetFieldViolations() {
				violations = append(violations, answer{"field": field.GetField(), "rule": field.GetReason()})
			}
			made["violations"] = violations
		case *errdetails.RetryInfo:
			made["retry_after_ms"] = each.GetRetryDelay().AsDuration().Milliseconds()
		}
	}
}
