package dev.muniment.client;

import java.util.List;
import java.util.Map;
import java.util.UUID;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;

/** What every request gets before it is sent. */
final class Requests {
    private Requests() {}

    /** The same with a request id, if the message has one and the caller gave none. */
    static <Q extends Message> Q identified(Q request) {
        FieldDescriptor field = request.getDescriptorForType().findFieldByName("request_id");
        if (field == null || !((String) request.getField(field)).isEmpty()) {
            return request;
        }
        Message filled = request.toBuilder().setField(field, UUID.randomUUID().toString()).build();
        return cast(filled);
    }

    @SuppressWarnings("unchecked")
    private static <Q extends Message> Q cast(Message message) {
        return (Q) message;
    }

    /**
     * Refuses text that UTF-8 cannot say: half a surrogate pair, which would silently be sent as a question
     * mark.
     */
    static void check(Message message) {
        check(message, "");
    }

    private static void check(Message message, String path) {
        for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
            FieldDescriptor field = entry.getKey();
            boolean text = field.getJavaType() == FieldDescriptor.JavaType.STRING;
            if (!text && field.getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
                continue;
            }
            String name = path.isEmpty() ? field.getName() : path + "." + field.getName();
            if (field.isRepeated()) {
                List<?> values = (List<?>) entry.getValue();
                for (int index = 0; index < values.size(); index++) {
                    check(values.get(index), name + "[" + index + "]");
                }
            } else {
                check(entry.getValue(), name);
            }
        }
    }

    private static void check(Object value, String name) {
        if (value instanceof Message message) {
            check(message, name);
        } else if (value instanceof String string && !isWellFormed(string)) {
            throw MunimentException.local(name, "string.well_formed", "must be well-formed Unicode: it holds a lone surrogate");
        }
    }

    private static boolean isWellFormed(String text) {
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            if (!Character.isSurrogate(unit)) {
                continue;
            }
            if (!Character.isHighSurrogate(unit)
                    || at + 1 == text.length()
                    || !Character.isLowSurrogate(text.charAt(at + 1))) {
                return false;
            }
            at++;
        }
        return true;
    }
}
