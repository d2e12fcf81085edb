package dev.muniment.client;

import java.util.List;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;

/** Spans as the protocol has them. */
final class ConformanceSpans {
    private ConformanceSpans() {}

    static JsonObject json(SpanData span) {
        JsonObject object = identity(span.getSpanContext());
        object.addProperty("name", span.getName());
        object.addProperty("kind", span.getKind().name());
        object.add(
                "parent_span_id",
                span.getParentSpanContext().isValid() ? new JsonPrimitive(span.getParentSpanId()) : JsonNull.INSTANCE);
        object.addProperty("status", span.getStatus().getStatusCode().name());
        object.add("attributes", attributes(span.getAttributes()));
        JsonArray links = new JsonArray();
        for (LinkData link : span.getLinks()) {
            JsonObject one = identity(link.getSpanContext());
            one.add("attributes", attributes(link.getAttributes()));
            links.add(one);
        }
        object.add("links", links);
        return object;
    }

    private static JsonObject identity(SpanContext context) {
        JsonObject object = new JsonObject();
        object.addProperty("trace_id", context.getTraceId());
        object.addProperty("span_id", context.getSpanId());
        return object;
    }

    private static JsonObject attributes(Attributes attributes) {
        JsonObject object = new JsonObject();
        attributes.forEach((key, value) -> object.add(key.getKey(), value(value)));
        return object;
    }

    private static JsonElement value(Object value) {
        if (value instanceof List<?> list) {
            JsonArray all = new JsonArray();
            list.forEach(each -> all.add(value(each)));
            return all;
        }
        if (value instanceof Number number) {
            return new JsonPrimitive(number);
        }
        if (value instanceof Boolean truth) {
            return new JsonPrimitive(truth);
        }
        return new JsonPrimitive(String.valueOf(value));
    }
}
