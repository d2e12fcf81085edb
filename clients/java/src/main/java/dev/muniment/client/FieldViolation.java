package dev.muniment.client;

import java.io.Serializable;

/**
 * One field that breaks its rules.
 *
 * @param field path of the field in the request, for example {@code items[0].content}
 * @param rule id of the rule
 * @param description what is wrong, without the value
 */
public record FieldViolation(String field, String rule, String description) implements Serializable {}
