package muniment

import (
	"crypto/rand"
	"encoding/hex"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/muniment/muniment/clients/go/munimentv1"
)

// NewRequestID makes a request id: a random UUID (version 4). The client fills one in by itself; make your own to
// repeat a call that ended in DEADLINE_EXCEEDED.
func NewRequestID() string {
	var raw [16]byte
	// Never fails: the runtime ends the program rather than return too little.
	_, _ = rand.Read(raw[:])
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	text := make([]byte, 36)
	for i, from, to := 0, 0, 0; i < 5; i++ {
		width := [...]int{4, 2, 2, 2, 6}[i]
		hex.Encode(text[to:], raw[from:from+width])
		from, to = from+width, to+2*width
		if to < 36 {
			text[to] = '-'
			to++
		}
	}
	return string(text)
}

func newRequestID() protoreflect.Value { return protoreflect.ValueOfString(NewRequestID()) }

// Subject is the scope of what is remembered about a person or thing. Set Agent and Session to narrow it.
func Subject(name string) *pb.Scope {
	return &pb.Scope{Owner: &pb.Scope_Subject{Subject: name}}
}

// Space is the scope of a shared pool of memories.
func Space(name string) *pb.Scope {
	return &pb.Scope{Owner: &pb.Scope_Space{Space: name}}
}

// Facts are items of a Write, one for each text.
func Facts(contents ...string) []*pb.WriteItem {
	made := make([]*pb.WriteItem, len(contents))
	for i, each := range contents {
		made[i] = &pb.WriteItem{Kind: pb.MemoryKind_MEMORY_KIND_FACT, Content: each}
	}
	return made
}

// Memories is the target of an erasure of memories named by id.
func Memories(ids ...string) *pb.ErasureTarget {
	return &pb.ErasureTarget{Target: &pb.ErasureTarget_Memories{Memories: &pb.MemoriesTarget{MemoryIds: ids}}}
}

// AtLeastAsFresh makes a read see at least the state of the store that a token marks.
func AtLeastAsFresh(token *pb.ConsistencyToken) *pb.Consistency {
	return &pb.Consistency{Requirement: &pb.Consistency_AtLeastAsFresh{AtLeastAsFresh: token}}
}
