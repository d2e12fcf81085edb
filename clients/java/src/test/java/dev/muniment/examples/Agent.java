package dev.muniment.examples;

import dev.muniment.client.Muniment;
import dev.muniment.client.MunimentClient;
import dev.muniment.client.Recalled;
import dev.muniment.v1.*;

/** One turn of an agent, with what {@code muniment serve} prints in the environment. */
public final class Agent {
    private Agent() {}

    /** Your model goes here. */
    private static String askTheModel(String prompt) {
        return "(an answer to " + prompt.length() + " characters)";
    }

    public static void main(String[] arguments) {
        try (MunimentClient client = MunimentClient.builder().clientName("example/1.0").build()) {
            Scope ada = Muniment.subject("ada");

            // Write: one statement or several, all or none.
            WriteItem tea = Muniment.item(
                            MemoryKind.MEMORY_KIND_PREFERENCE, "Ada drinks green tea, never coffee.")
                    .toBuilder()
                    .setProvenance(Provenance.newBuilder().setSourceType(SourceType.SOURCE_TYPE_USER_STATED))
                    .build();
            WriteItem home = Muniment.fact("Ada lives in Lyon.").toBuilder().setSlot("home_city").build();
            WriteResponse written = client.write(ada, tea, home);

            // Recall into a prompt: what is relevant, packed into at most 500 tokens.
            Recalled recalled = client.recall(RecallRequest.newBuilder()
                    .setScope(ada)
                    .setQuery("What can I offer Ada to drink?")
                    .setTokenBudget(500)
                    .build());
            for (RankedMemory each : recalled) {
                Memory memory = each.getMemory();
                System.out.printf("%.2f  %s  %s%n", each.getScore(), memory.getMemoryId(), memory.getContent());
            }

            // The model call: its span says which memories entered the prompt, and so does the audit trail.
            String answer = client.modelCall(recalled)
                    .model("some-model")
                    .run(call -> askTheModel(recalled.context() + "\n\nOffer Ada a drink."));
            System.out.println(answer);

            // Correct: the old memory stays as history and is not recalled any more.
            // With less trust than the old one has, the new one would wait for review.
            WriteItem black = Muniment.item(MemoryKind.MEMORY_KIND_PREFERENCE, "Ada drinks black tea.")
                    .toBuilder()
                    .setProvenance(Provenance.newBuilder().setSourceType(SourceType.SOURCE_TYPE_USER_CONFIRMED))
                    .build();
            SupersedeResponse corrected = client.supersede(SupersedeRequest.newBuilder()
                    .setMemoryId(written.getResults(0).getMemory().getMemoryId())
                    .setItem(black)
                    .build());
            System.out.println(corrected.getOutcome());

            // Prove: what was offered, in which revision, and what was used.
            GetRecallResponse proof = client.getRecall(
                    GetRecallRequest.newBuilder().setRecallId(recalled.recallId()).build());
            System.out.println(proof.getReceipt().getUsesCount() + " use(s)");

            // Erase everything about her, keys included.
            ErasureReceipt erased = client.erase(EraseRequest.newBuilder()
                            .setTarget(ErasureTarget.newBuilder()
                                    .setScope(ScopeTarget.newBuilder().setScope(ada)))
                            .setReason(ErasureReason.ERASURE_REASON_SUBJECT_REQUEST)
                            .build())
                    .getReceipt();
            System.out.println(erased.getState() + ", " + erased.getKeysDestroyed() + " key(s) destroyed");
        }
    }
}
