package dev.muniment.client;

import java.util.Iterator;
import java.util.List;

import dev.muniment.v1.RankedMemory;
import dev.muniment.v1.RecallResponse;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;

/** The answer to a recall: memories, best first. Immutable. */
public final class Recalled implements Iterable<RankedMemory> {
    private final RecallResponse response;
    private final SpanContext span;

    Recalled(RecallResponse response, SpanContext span) {
        this.response = response;
        this.span = span;
    }

    /** The whole answer. */
    public RecallResponse response() {
        return response;
    }

    /** Id of the recall receipt. */
    public String recallId() {
        return response.getRecallId();
    }

    /** The memories, best first. */
    public List<RankedMemory> memories() {
        return response.getMemoriesList();
    }

    /** The packed text. IllegalStateException when the recall was made without a token budget. */
    public String context() {
        if (!response.hasPackedContext()) {
            throw new IllegalStateException("no context was packed: give the recall a token budget");
        }
        return response.getPackedContext().getText();
    }

    /** Ids of all memories, best first. */
    public List<String> memoryIds() {
        return memories().stream().map(each -> each.getMemory().getMemoryId()).toList();
    }

    /** Ids that stand in the packed context in its order, or of all memories if none was packed. */
    public List<String> promptMemoryIds() {
        return response.hasPackedContext()
                ? List.copyOf(response.getPackedContext().getMemoryIdsList())
                : memoryIds();
    }

    /**
     * Writes onto the span of a model call which memories entered its prompt, and links it to the span of the
     * recall. At most 50 ids are written, the number of the others as {@code muniment.recall.memory.omitted}.
     */
    public void stamp(Span modelCall) {
        stamp(modelCall, promptMemoryIds());
    }

    /** As {@link #stamp(Span)}, for the memories that really entered the prompt. */
    public void stamp(Span modelCall, List<String> memoryIds) {
        Telemetry.stamp(modelCall, recallId(), memoryIds, span);
    }

    @Override
    public Iterator<RankedMemory> iterator() {
        return memories().iterator();
    }

    @Override
    public String toString() {
        return "Recalled[" + recallId() + ", " + response.getMemoriesCount() + " memories]";
    }
}
