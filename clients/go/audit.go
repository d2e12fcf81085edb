package muniment

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// Audit returns the audit trail, newest first, read page by page while you range over it. Events recorded
// meanwhile do not disturb the pages. An error ends the sequence. It begins at the request's page token.
func (c *Client) Audit(
	ctx context.Context, request *pb.AuditRequest, options ...CallOption,
) iter.Seq2[*pb.AuditEvent, error] {
	return items(c.AuditPages(ctx, request, options...), (*pb.AuditResponse).GetEvents)
}

// AuditPages is Audit page by page.
func (c *Client) AuditPages(
	ctx context.Context, request *pb.AuditRequest, options ...CallOption,
) iter.Seq2[*pb.AuditResponse, error] {
	fetch := func(token string) (*pb.AuditResponse, error) {
		wanted := proto.Clone(request).(*pb.AuditRequest)
		wanted.PageToken = token
		page, _, err := unary(ctx, c, methodAudit, c.memory.Audit, wanted, options)
		return page, err
	}
	return pages(request.GetPageToken(), fetch, (*pb.AuditResponse).GetNextPageToken)
}

// GetRecall returns the durable record of a recall: what was offered, in which revision, why, and what was used.
func (c *Client) GetRecall(
	ctx context.Context, request *pb.GetRecallRequest, options ...CallOption,
) (*pb.GetRecallResponse, error) {
	response, _, err := unary(ctx, c, methodGetRecall, c.audit.GetRecall, request, options)
	return response, err
}

// ExportAudit returns the tenant's chain in ascending order, with all that somebody outside needs to check it: a
// header, events with the checkpoints that cover them, at last a trailer. It ends with ErrUnavailable when the
// trailer is missing or counts other events than arrived; go on with from_sequence.
func (c *Client) ExportAudit(
	ctx context.Context, request *pb.ExportAuditRequest, options ...CallOption,
) iter.Seq2[*pb.ExportAuditResponse, error] {
	check := func() tally[pb.ExportAuditResponse] {
		events, ended := int64(0), false
		return func(message *pb.ExportAuditResponse) error {
			switch {
			case message == nil && !ended:
				return cutOff("the export was cut off before its trailer")
			case message.GetTrailer() != nil:
				ended = true
				if announced := message.GetTrailer().GetEventCount(); announced != events {
					return cutOff("the export announced %d events but sent %d", announced, events)
				}
			default:
				events += int64(len(message.GetEvents().GetEvents()))
			}
			return nil
		}
	}
	return stream(ctx, c, methodExportAudit, c.audit.ExportAudit, request, check, options)
}

// ListReviews returns what waits for a person's decision, oldest first, read page by page.
func (c *Client) ListReviews(
	ctx context.Context, request *pb.ListReviewsRequest, options ...CallOption,
) iter.Seq2[*pb.Review, error] {
	return items(c.ListReviewPages(ctx, request, options...), (*pb.ListReviewsResponse).GetReviews)
}

// ListReviewPages is ListReviews page by page, with the memories that were left out because somebody changed them in
// the database; they are logged as a warning, too.
func (c *Client) ListReviewPages(
	ctx context.Context, request *pb.ListReviewsRequest, options ...CallOption,
) iter.Seq2[*pb.ListReviewsResponse, error] {
	fetch := func(token string) (*pb.ListReviewsResponse, error) {
		wanted := proto.Clone(request).(*pb.ListReviewsRequest)
		wanted.PageToken = token
		page, _, err := unary(ctx, c, methodListReviews, c.review.ListReviews, wanted, options)
		c.warn(ctx, page.GetSealBrokenMemoryIds())
		return page, err
	}
	return pages(request.GetPageToken(), fetch, (*pb.ListReviewsResponse).GetNextPageToken)
}

// DecideReview decides one review.
func (c *Client) DecideReview(
	ctx context.Context, request *pb.DecideReviewRequest, options ...CallOption,
) (*pb.DecideReviewResponse, error) {
	response, _, err := unary(ctx, c, methodDecideReview, c.review.DecideReview, request, options)
	return response, err
}
