package dev.muniment.client;

import java.time.Duration;

/**
 * The time that a call may take, retries included, when the client was not narrowed by
 * {@link MunimentClient#withTimeout}.
 *
 * @param recall for a recall
 * @param write for a write
 * @param supersede for a supersede, a restore, a retract, an undo and the decision of a review
 * @param erase for an erasure and a change of consent
 * @param ingest for an ingest and an import
 * @param export for a whole export, and for a whole streamed ingest
 * @param other for everything else
 */
public record Deadlines(
        Duration recall,
        Duration write,
        Duration supersede,
        Duration erase,
        Duration ingest,
        Duration export,
        Duration other) {
    /** 2 s, 5 s, 5 s, 30 s, 30 s, 600 s and 5 s. */
    public static final Deadlines DEFAULT = new Deadlines(
            Duration.ofSeconds(2),
            Duration.ofSeconds(5),
            Duration.ofSeconds(5),
            Duration.ofSeconds(30),
            Duration.ofSeconds(30),
            Duration.ofSeconds(600),
            Duration.ofSeconds(5));

    /** Throws IllegalArgumentException for a time that is not above 0. */
    public Deadlines {
        for (Duration each : new Duration[] {recall, write, supersede, erase, ingest, export, other}) {
            positive(each);
        }
    }

    static Duration positive(Duration duration) {
        if (duration.isNegative() || duration.isZero()) {
            throw new IllegalArgumentException("a timeout must be above 0, not " + duration);
        }
        return duration;
    }

    /** The same with another time for recalls. */
    public Deadlines withRecall(Duration duration) {
        return new Deadlines(duration, write, supersede, erase, ingest, export, other);
    }

    /** The same with another time for writes. */
    public Deadlines withWrite(Duration duration) {
        return new Deadlines(recall, duration, supersede, erase, ingest, export, other);
    }

    /** The same with another time for corrections. */
    public Deadlines withSupersede(Duration duration) {
        return new Deadlines(recall, write, duration, erase, ingest, export, other);
    }

    /** The same with another time for erasures. */
    public Deadlines withErase(Duration duration) {
        return new Deadlines(recall, write, supersede, duration, ingest, export, other);
    }

    /** The same with another time for ingests and imports. */
    public Deadlines withIngest(Duration duration) {
        return new Deadlines(recall, write, supersede, erase, duration, export, other);
    }

    /** The same with another time for exports and streamed ingests. */
    public Deadlines withExport(Duration duration) {
        return new Deadlines(recall, write, supersede, erase, ingest, duration, other);
    }

    /** The same with another time for everything else. */
    public Deadlines withOther(Duration duration) {
        return new Deadlines(recall, write, supersede, erase, ingest, export, duration);
    }
}
