package dev.muniment.client;

import java.util.List;

/**
 * One page of a list.
 *
 * @param items what it holds
 * @param nextPageToken empty for the last page
 * @param sealBrokenMemoryIds memories of this page left out because somebody changed them in the database
 */
public record Page<T>(List<T> items, String nextPageToken, List<String> sealBrokenMemoryIds) {}
