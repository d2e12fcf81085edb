package dev.muniment.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.Instant;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;

import dev.muniment.v1.Embedding;
import dev.muniment.v1.MemoryKind;
import dev.muniment.v1.PropertyValue;
import dev.muniment.v1.Scope;
import dev.muniment.v1.WriteItem;

/** Short ways to the messages that every program needs. */
public final class Muniment {
    private Muniment() {}

    /** Everything about a subject, for example a user. */
    public static Scope subject(String subject) {
        return Scope.newBuilder().setSubject(subject).build();
    }

    /** A space that several share. */
    public static Scope space(String space) {
        return Scope.newBuilder().setSpace(space).build();
    }

    /** A fact. */
    public static WriteItem fact(String content) {
        return item(MemoryKind.MEMORY_KIND_FACT, content);
    }

    /** A statement of any kind; {@code toBuilder()} adds a slot, tags, a source and so on. */
    public static WriteItem item(MemoryKind kind, String content) {
        return WriteItem.newBuilder().setKind(kind).setContent(content).build();
    }

    /** A filterable text. */
    public static PropertyValue property(String value) {
        return PropertyValue.newBuilder().setStringValue(value).build();
    }

    /** A filterable number; whole ones are exact up to 2 to the 53rd. */
    public static PropertyValue property(double value) {
        return PropertyValue.newBuilder().setNumberValue(value).build();
    }

    /** A filterable truth value. */
    public static PropertyValue property(boolean value) {
        return PropertyValue.newBuilder().setBoolValue(value).build();
    }

    /** A vector that was computed with the server's own model. */
    public static Embedding embedding(String model, float... vector) {
        ByteBuffer packed = ByteBuffer.allocate(vector.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        packed.asFloatBuffer().put(vector);
        return Embedding.newBuilder()
                .setModel(model)
                .setVector(ByteString.copyFrom(packed.array()))
                .build();
    }

    /** An instant; the service keeps microseconds. */
    public static Timestamp timestamp(Instant instant) {
        return Timestamp.newBuilder()
                .setSeconds(instant.getEpochSecond())
                .setNanos(instant.getNano())
                .build();
    }

    /** A length of time. */
    public static com.google.protobuf.Duration duration(Duration duration) {
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(duration.getSeconds())
                .setNanos(duration.getNano())
                .build();
    }
}
