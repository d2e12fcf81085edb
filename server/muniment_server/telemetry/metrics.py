"""The instruments, and short methods that record into them with the right attributes.

Nothing here takes a tenant, a subject or an id: label values are names of methods, stages, models,
tables and outcomes, all of which come from code, never from a caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from opentelemetry.metrics import CallbackOptions, Meter, NoOpMeter, Observation
from opentelemetry.util.types import AttributeValue

from muniment_server.telemetry import names

_RPC_CACHE_SIZE: Final = 512


@dataclass(frozen=True, slots=True)
class PoolStats:
    """State of one connection pool: connections in use and idle, upper bound, callers waiting."""

    used: int
    idle: int
    maximum: int
    pending: int


class Metrics:
    """All instruments of the service. `enabled` is false when nothing would read them."""

    def __init__(self, meter: Meter | None = None) -> None:
        self.enabled = meter is not None
        meter = meter or NoOpMeter(names.SCOPE)
        self._pools: dict[str, Callable[[], PoolStats]] = {}
        self._rpc_attributes: dict[tuple[str, str, bool], dict[str, AttributeValue]] = {}
        self._rpc = meter.create_histogram(
            names.METRIC_RPC_SERVER_CALL_DURATION,
            unit="s",
            description="Duration of inbound calls.",
            explicit_bucket_boundaries_advisory=names.RPC_BUCKETS,
        )
        self._db = meter.create_histogram(
            names.METRIC_DB_OPERATION_DURATION,
            unit="s",
            description="Duration of database operations.",
            explicit_bucket_boundaries_advisory=names.DB_BUCKETS,
        )
        self._db_wait = meter.create_histogram(
            names.METRIC_DB_CONNECTION_WAIT,
            unit="s",
            description="Time to obtain a connection from the pool.",
            explicit_bucket_boundaries_advisory=names.DB_BUCKETS,
        )
        meter.create_observable_up_down_counter(
            names.METRIC_DB_CONNECTION_COUNT,
            callbacks=[self._observe_connections],
            unit="{connection}",
            description="Connections in the pool by state.",
        )
        meter.create_observable_up_down_counter(
            names.METRIC_DB_CONNECTION_MAX,
            callbacks=[self._observe_maximum],
            unit="{connection}",
            description="Most connections the pool may open.",
        )
        meter.create_observable_up_down_counter(
            names.METRIC_DB_CONNECTION_PENDING,
            callbacks=[self._observe_pending],
            unit="{request}",
            description="Callers waiting for a connection.",
        )
        self._embeddings = meter.create_histogram(
            names.METRIC_EMBEDDINGS_DURATION,
            unit="s",
            description="Duration of embedding calls.",
            explicit_bucket_boundaries_advisory=names.STAGE_BUCKETS,
        )
        self._stage = meter.create_histogram(
            names.METRIC_RECALL_STAGE_DURATION,
            unit="s",
            description="Duration of the stages of a recall.",
            explicit_bucket_boundaries_advisory=names.STAGE_BUCKETS,
        )
        self._results = meter.create_histogram(
            names.METRIC_RECALL_RESULTS,
            unit="{memory}",
            description="Memories returned by a recall.",
            explicit_bucket_boundaries_advisory=names.COUNT_BUCKETS,
        )
        self._tokens = meter.create_histogram(
            names.METRIC_RECALL_TOKENS,
            unit="{token}",
            description="Tokens of the packed context of a recall.",
            explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
        )
        self._written = meter.create_counter(
            names.METRIC_WRITE_ITEMS, unit="{memory}", description="Written items by outcome."
        )
        self._ingests = meter.create_counter(
            names.METRIC_INGEST_ATTEMPTS,
            unit="{attempt}",
            description="Attempts to make memories of turns, by outcome, extractor and fallback.",
        )
        self._lag = meter.create_gauge(
            names.METRIC_EMBEDDING_LAG, unit="s", description="Age of the oldest memory without its vector."
        )
        self._embeddings_pending = meter.create_gauge(
            names.METRIC_EMBEDDING_PENDING, unit="{memory}", description="Memories without their vector."
        )
        self._ingests_pending = meter.create_gauge(
            names.METRIC_INGEST_PENDING,
            unit="{ingest}",
            description="Ingests whose turns are to be looked at.",
        )
        self._ingest_lag = meter.create_gauge(
            names.METRIC_INGEST_LAG,
            unit="s",
            description="For how long the first conversation of the queue has been due.",
        )
        self._reviews_pending = meter.create_gauge(
            names.METRIC_REVIEW_PENDING, unit="{memory}", description="Memories that wait for a reviewer."
        )
        self._audit_pending = meter.create_gauge(
            names.METRIC_AUDIT_PENDING,
            unit="{event}",
            description="Audit events without a place in their chain.",
        )
        self._erasures_pending = meter.create_gauge(
            names.METRIC_ERASURE_PENDING, unit="{erasure}", description="Erasures that are not complete."
        )
        self._erasure = meter.create_histogram(
            names.METRIC_ERASURE_DURATION,
            unit="s",
            description="Time from an erasure's request to its completion.",
            explicit_bucket_boundaries_advisory=names.ERASURE_BUCKETS,
        )
        self._integrity = meter.create_counter(
            names.METRIC_INTEGRITY_VIOLATIONS,
            unit="{violation}",
            description="Stored rows that disagreed with their seal and were not served.",
        )
        self._unreported = meter.create_counter(
            names.METRIC_DENIED_UNREPORTED,
            unit="{call}",
            description="Denied calls that could not be reported to the audit in time.",
        )
        # From the beginning: an alert on their increase sees no first event in a series that starts with it.
        self._integrity.add(0)
        self._unreported.add(0)

    # --- recording ------------------------------------------------------------------------

    def rpc(self, method: str, code: str, seconds: float, *, server_error: bool) -> None:
        """One inbound call; `method` must be a known method or `_OTHER`, `code` a status name."""
        key = (method, code, server_error)
        attributes = self._rpc_attributes.get(key)
        if attributes is None:
            attributes = {
                names.RPC_SYSTEM_NAME: names.RPC_SYSTEM_GRPC,
                names.RPC_METHOD: method,
                names.RPC_STATUS_CODE: code,
            }
            if server_error:
                attributes[names.ERROR_TYPE] = code
            if len(self._rpc_attributes) < _RPC_CACHE_SIZE:
                self._rpc_attributes[key] = attributes
        self._rpc.record(seconds, attributes)

    def database(
        self, operation: str, collection: str | None, seconds: float, error_type: str | None
    ) -> None:
        """One database operation."""
        attributes: dict[str, AttributeValue] = {
            names.DB_SYSTEM_NAME: names.DB_SYSTEM_POSTGRESQL,
            names.DB_OPERATION_NAME: operation,
        }
        if collection is not None:
            attributes[names.DB_COLLECTION_NAME] = collection
        if error_type is not None:
            attributes[names.ERROR_TYPE] = error_type
        self._db.record(seconds, attributes)

    def connection_wait(self, pool: str, seconds: float) -> None:
        """Time one caller waited for a connection of the named pool."""
        self._db_wait.record(seconds, {names.DB_CLIENT_CONNECTION_POOL_NAME: pool})

    def embeddings(self, provider: str, model: str, seconds: float, error_type: str | None) -> None:
        """One call of the embedder."""
        attributes: dict[str, AttributeValue] = {
            names.GEN_AI_OPERATION_NAME: names.OP_EMBEDDINGS,
            names.GEN_AI_PROVIDER_NAME: provider,
            names.GEN_AI_REQUEST_MODEL: model,
        }
        if error_type is not None:
            attributes[names.ERROR_TYPE] = error_type
        self._embeddings.record(seconds, attributes)

    def recall_stage(self, stage: str, seconds: float) -> None:
        """One stage of a recall: `find` (all legs and their fusion), `rerank` or `pack`."""
        self._stage.record(seconds, {names.RECALL_STAGE: stage})

    def recall(self, strategy: str, results: int, tokens: int | None) -> None:
        """What one recall returned."""
        attributes: Mapping[str, AttributeValue] = {names.RECALL_STRATEGY: strategy}
        self._results.record(results, attributes)
        if tokens is not None:
            self._tokens.record(tokens, attributes)

    def ingest_attempt(self, outcome: str, extractor: str, fallback: str | None) -> None:
        """One attempt: `done`, `put_off` or `given_up`; who did the work, and why not who was asked."""
        self._ingests.add(
            1,
            {
                names.INGEST_OUTCOME: outcome,
                names.INGEST_EXTRACTOR: extractor,
                names.INGEST_FALLBACK: fallback or "none",
            },
        )

    def written(self, outcome: str, count: int = 1) -> None:
        """Written items that ended with this outcome, as the contract names it."""
        self._written.add(count, {names.WRITE_OUTCOME: outcome})

    def embeddings_pending(self, count: int, seconds: float) -> None:
        """Memories that wait for their vector, and the age of the oldest; 0 when none does."""
        self._embeddings_pending.set(count)
        self._lag.set(seconds)

    def ingests_pending(self, count: int, seconds: float) -> None:
        """Ingests that wait to be looked at, and for how long the first conversation has been due."""
        self._ingests_pending.set(count)
        self._ingest_lag.set(seconds)

    def reviews_pending(self, count: int) -> None:
        """Memories that wait for a reviewer."""
        self._reviews_pending.set(count)

    def audit_pending(self, count: int) -> None:
        """Audit events that have no place in their chain yet."""
        self._audit_pending.set(count)

    def erasures_pending(self, count: int) -> None:
        """Erasures that are not complete yet."""
        self._erasures_pending.set(count)

    def erased(self, mode: str, seconds: float) -> None:
        """One erasure came to completion."""
        self._erasure.record(seconds, {names.ERASURE_MODE: mode})

    def integrity_violation(self, count: int = 1) -> None:
        """Rows left out because their seal is broken."""
        self._integrity.add(count)

    def denied_unreported(self) -> None:
        """A denied call that the audit could not take in time."""
        self._unreported.add(1)

    # --- observing ------------------------------------------------------------------------

    def observe_pool(self, name: str, stats: Callable[[], PoolStats]) -> None:
        """Read the named pool's state at every collection; `stats` must be quick and thread-safe."""
        self._pools[name] = stats

    def _observe_connections(self, _options: CallbackOptions) -> Iterable[Observation]:
        for pool, stats in list(self._pools.items()):
            found = stats()
            for state, count in (("used", found.used), ("idle", found.idle)):
                yield Observation(
                    count,
                    {names.DB_CLIENT_CONNECTION_POOL_NAME: pool, names.DB_CLIENT_CONNECTION_STATE: state},
                )

    def _observe_maximum(self, _options: CallbackOptions) -> Iterable[Observation]:
        for pool, stats in list(self._pools.items()):
            yield Observation(stats().maximum, {names.DB_CLIENT_CONNECTION_POOL_NAME: pool})

    def _observe_pending(self, _options: CallbackOptions) -> Iterable[Observation]:
        for pool, stats in list(self._pools.items()):
            yield Observation(stats().pending, {names.DB_CLIENT_CONNECTION_POOL_NAME: pool})
