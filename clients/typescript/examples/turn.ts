// One turn of an agent: write, recall into a prompt, correct, prove, erase.
import { connect, ErasureReason, everything, MemoryKind, MemoryView, SourceType, subject } from "muniment";

/** Your model goes here. */
async function askTheModel(prompt: string): Promise<string> {
  return `(an answer to ${prompt.length} characters)`;
}

// Target, tenant and key come from MUNIMENT_TARGET, MUNIMENT_TENANT and MUNIMENT_API_KEY.
const client = connect();
const ada = subject("ada");

// Write: all items or none.
const written = await client.write({
  scope: ada,
  items: [
    {
      kind: MemoryKind.PREFERENCE,
      content: "Ada drinks green tea, never coffee.",
      provenance: { sourceType: SourceType.USER_STATED },
    },
    { kind: MemoryKind.FACT, content: "Ada lives in Lyon.", slot: "home_city" },
  ],
});

// Recall into a prompt: what is relevant, packed into at most 500 tokens.
const recalled = await client.recall({
  scope: ada,
  query: "What can I offer Ada to drink?",
  tokenBudget: 500,
});
for (const { score, memory } of recalled) console.log(score.toFixed(2), memory?.content);

// The model call: its span says which memories entered the prompt, and so does the audit trail.
const answer = await client.modelCall(recalled, () => askTheModel(`${recalled.context}\n\nOffer Ada a drink.`), {
  model: "some-model",
});
console.log(answer);

// Correct: the old memory stays as history and is not recalled any more.
const corrected = await client.supersede({
  memoryId: written.results[0]?.memory?.memoryId ?? "",
  item: {
    kind: MemoryKind.PREFERENCE,
    content: "Ada drinks black tea.",
    provenance: { sourceType: SourceType.USER_CONFIRMED },
  },
});
console.log("now", corrected.memory?.memoryId);

// Prove: what was offered, in which revision, and what was used.
const { receipt } = await client.getRecall({ recallId: recalled.recallId });
console.log(receipt?.recalled?.memories.length, "offered,", receipt?.uses.length, "use reported");

// Everything about her, page by page.
for await (const memory of client.listMemories({ scope: ada, view: MemoryView.FULL })) {
  console.log(memory.memoryId, memory.content);
}

// Erase everything about her, keys included.
const erased = await client.erase({ target: everything(ada), reason: ErasureReason.SUBJECT_REQUEST });
console.log(erased.receipt?.counts?.memories, "memories erased");

await client.close();
