package muniment

import (
	"context"
	"iter"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// SetConsent changes what may be remembered about a subject; it holds at once, everywhere.
func (c *Client) SetConsent(
	ctx context.Context, request *pb.SetConsentRequest, options ...CallOption,
) (*pb.SetConsentResponse, error) {
	response, _, err := unary(ctx, c, methodSetConsent, c.subject.SetConsent, request, options)
	return response, err
}

// GetConsent returns what the subject decided.
func (c *Client) GetConsent(
	ctx context.Context, request *pb.GetConsentRequest, options ...CallOption,
) (*pb.GetConsentResponse, error) {
	response, _, err := unary(ctx, c, methodGetConsent, c.subject.GetConsent, request, options)
	return response, err
}

// DescribeSubject says in plain words what is stored, why and how long.
func (c *Client) DescribeSubject(
	ctx context.Context, request *pb.DescribeSubjectRequest, options ...CallOption,
) (*pb.DescribeSubjectResponse, error) {
	response, _, err := unary(ctx, c, methodDescribeSubject, c.subject.DescribeSubject, request, options)
	return response, err
}

// ExportMemories returns everything that is remembered about a subject, oldest first, for a request of access or to
// move to another system. It ends with ErrUnavailable when the last message is missing or counts other records than
// arrived.
func (c *Client) ExportMemories(
	ctx context.Context, request *pb.ExportMemoriesRequest, options ...CallOption,
) iter.Seq2[*pb.ExportMemoriesResponse, error] {
	check := func() tally[pb.ExportMemoriesResponse] {
		records, ended := int64(0), false
		return func(message *pb.ExportMemoriesResponse) error {
			if message == nil {
				if !ended {
					return cutOff("the export was cut off before its end")
				}
				return nil
			}
			records += int64(len(message.GetRecords()))
			c.warn(ctx, message.GetSealBrokenMemoryIds())
			if message.RecordCount != nil {
				ended = true
				if announced := message.GetRecordCount(); announced != records {
					return cutOff("the export announced %d memories but sent %d", announced, records)
				}
			}
			return nil
		}
	}
	return stream(ctx, c, methodExportMemories, c.subject.ExportMemories, request, check, options)
}

// ImportMemories takes in memories from elsewhere, all or none.
func (c *Client) ImportMemories(
	ctx context.Context, request *pb.ImportMemoriesRequest, options ...CallOption,
) (*pb.ImportMemoriesResponse, error) {
	response, _, err := unary(ctx, c, methodImportMemories, c.subject.ImportMemories, request, options)
	return response, err
}
