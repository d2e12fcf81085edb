/**
 * Java client of Muniment, the memory service for agent fleets.
 *
 * <p>Start at {@link dev.muniment.client.MunimentClient}. The messages of the contract are in
 * {@code dev.muniment.v1}.
 */
package dev.muniment.client;
