package io.winnow.client;

/**
 * One thing wrong with a request.
 *
 * @param field path of the field, e.g. {@code items[3].title}
 * @param description what is wrong, the limit, and what to do
 */
public record Violation(String field, String description) {}
