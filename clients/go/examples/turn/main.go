// Command turn is one turn of an agent: write, recall into a prompt, correct, prove, erase.
package main

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	muniment "github.com/muniment/muniment/clients/go"
	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// askTheModel is where your model goes.
func askTheModel(_ context.Context, prompt string) (string, error) {
	return fmt.Sprintf("(an answer to %d characters)", len(prompt)), nil
}

func main() {
	// Target, tenant and key come from MUNIMENT_TARGET, MUNIMENT_TENANT and MUNIMENT_API_KEY.
	client, err := muniment.Connect("")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := turn(context.Background(), client); err != nil {
		log.Fatal(err)
	}
}

func turn(ctx context.Context, client *muniment.Client) error {
	ada := muniment.Subject("ada")

	// Write: all items or none.
	written, err := client.Write(ctx, &pb.WriteRequest{Scope: ada, Items: []*pb.WriteItem{
		{
			Kind:       pb.MemoryKind_MEMORY_KIND_PREFERENCE,
			Content:    "Ada drinks green tea, never coffee.",
			Provenance: &pb.Provenance{SourceType: pb.SourceType_SOURCE_TYPE_USER_STATED},
		},
		{Kind: pb.MemoryKind_MEMORY_KIND_FACT, Content: "Ada lives in Lyon.", Slot: "home_city"},
	}})
	if err != nil {
		return err
	}

	// Recall into a prompt: what is relevant, packed into at most 500 tokens.
	recalled, err := client.Recall(ctx, &pb.RecallRequest{
		Scope: ada, Query: "What can I offer Ada to drink?", TokenBudget: proto.Int32(500),
	})
	if err != nil {
		return err
	}
	for _, each := range recalled.GetMemories() {
		fmt.Printf("%.2f  %s\n", each.GetScore(), each.GetMemory().GetContent())
	}

	// The model call: its span says which memories entered the prompt, and so does the audit trail.
	call := client.ModelCall(recalled)
	call.Model = "some-model"
	err = call.Do(ctx, func(ctx context.Context) error {
		answer, err := askTheModel(ctx, recalled.Context()+"\n\nOffer Ada a drink.")
		fmt.Println(answer)
		return err
	})
	if err != nil {
		return err
	}

	// Correct: the old memory stays as history and is not recalled any more.
	corrected, err := client.Supersede(ctx, &pb.SupersedeRequest{
		MemoryId: written.GetResults()[0].GetMemory().GetMemoryId(),
		Item: &pb.WriteItem{
			Kind:       pb.MemoryKind_MEMORY_KIND_PREFERENCE,
			Content:    "Ada drinks black tea.",
			Provenance: &pb.Provenance{SourceType: pb.SourceType_SOURCE_TYPE_USER_CONFIRMED},
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(corrected.GetOutcome())

	// Prove: what was offered, in which revision, and what was used.
	proof, err := client.GetRecall(ctx, &pb.GetRecallRequest{RecallId: recalled.GetRecallId()})
	if err != nil {
		return err
	}
	fmt.Println(len(proof.GetReceipt().GetRecalled().GetMemories()), "offered,", len(proof.GetReceipt().GetUses()), "use reported")

	// Everything about her, page by page.
	for memory, err := range client.ListMemories(ctx, &pb.ListMemoriesRequest{Scope: ada, View: pb.MemoryView_MEMORY_VIEW_FULL}) {
		if err != nil {
			return err
		}
		fmt.Println(memory.GetMemoryId(), memory.GetContent())
	}

	// Erase everything about her, keys included.
	erased, err := client.Erase(ctx, &pb.EraseRequest{
		Target: &pb.ErasureTarget{Target: &pb.ErasureTarget_Scope{Scope: &pb.ScopeTarget{Scope: ada}}},
		Reason: pb.ErasureReason_ERASURE_REASON_SUBJECT_REQUEST,
	})
	if err != nil {
		return err
	}
	fmt.Println(erased.GetReceipt().GetCounts().GetMemories(), "memories erased")
	return nil
}
