"""Every name that Muniment's telemetry emits, in one place.

Naming rule: names that a released OpenTelemetry convention defines are used exactly as defined
there; everything else of ours begins with `muniment.` and nothing of ours ever goes under an
OpenTelemetry namespace (`gen_ai.`, `rpc.`, `db.`, `server.`, ...). Names are constants of this
module, never literals elsewhere, so that a renamed convention is a change of one line.

Sources: RPC and database names follow the semantic conventions at SCHEMA_URL; the memory, retrieval
and embeddings names follow the GenAI conventions, which are in development and have no release that
a schema URL could name. The constants are written out because the Python package of the conventions
lacks the memory names and moves unstable ones between releases.

What may stand in a value: ids, counts, sizes, durations, scores, names of enum values, names of
models, statements of ours. Content, queries and subjects never; the two opt-in attributes
GEN_AI_MEMORY_QUERY_TEXT and GEN_AI_MEMORY_RECORDS are set only while content capture is on.
Metrics carry no tenant, user or id.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SCOPE: Final = "muniment"
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"

# --- general (semantic conventions) -----------------------------------------------------------

ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
NETWORK_PEER_ADDRESS: Final = "network.peer.address"
NETWORK_PEER_PORT: Final = "network.peer.port"

# --- RPC --------------------------------------------------------------------------------------

RPC_SYSTEM_NAME: Final = "rpc.system.name"
RPC_METHOD: Final = "rpc.method"
# Renamed to rpc.status_code after schema 1.44.0; changes together with SCHEMA_URL.
RPC_STATUS_CODE: Final = "rpc.response.status_code"
RPC_SYSTEM_GRPC: Final = "grpc"
RPC_METHOD_OTHER: Final = "_OTHER"

# --- GenAI: memory, retrieval, embeddings -----------------------------------------------------

GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_PROVIDER_NAME: Final = "gen_ai.provider.name"
GEN_AI_AGENT_ID: Final = "gen_ai.agent.id"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_MEMORY_STORE_ID: Final = "gen_ai.memory.store.id"
GEN_AI_MEMORY_RECORD_ID: Final = "gen_ai.memory.record.id"
GEN_AI_MEMORY_RECORD_COUNT: Final = "gen_ai.memory.record.count"
GEN_AI_MEMORY_QUERY_TEXT: Final = "gen_ai.memory.query.text"
GEN_AI_MEMORY_RECORDS: Final = "gen_ai.memory.records"
GEN_AI_DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
GEN_AI_RETRIEVAL_TOP_K: Final = "gen_ai.retrieval.top_k"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_EMBEDDINGS_DIMENSION_COUNT: Final = "gen_ai.embeddings.dimension.count"
GEN_AI_USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"

PROVIDER_MUNIMENT: Final = "muniment"
OP_UPSERT_MEMORY: Final = "upsert_memory"
OP_UPDATE_MEMORY: Final = "update_memory"
OP_SEARCH_MEMORY: Final = "search_memory"
OP_DELETE_MEMORY: Final = "delete_memory"
OP_RETRIEVAL: Final = "retrieval"
OP_EMBEDDINGS: Final = "embeddings"
OP_RERANK: Final = "rerank"
OP_CHAT: Final = "chat"
PROVIDER_OPENAI: Final = "openai"
PROVIDER_HTTP: Final = "http"
"""Of any endpoint that speaks OpenAI's API: its own maker is not known."""

# --- database ---------------------------------------------------------------------------------

DB_SYSTEM_NAME: Final = "db.system.name"
DB_NAMESPACE: Final = "db.namespace"
DB_COLLECTION_NAME: Final = "db.collection.name"
DB_OPERATION_NAME: Final = "db.operation.name"
DB_OPERATION_BATCH_SIZE: Final = "db.operation.batch.size"
DB_QUERY_SUMMARY: Final = "db.query.summary"
DB_QUERY_TEXT: Final = "db.query.text"
DB_RESPONSE_STATUS_CODE: Final = "db.response.status_code"
DB_CLIENT_CONNECTION_POOL_NAME: Final = "db.client.connection.pool.name"
DB_CLIENT_CONNECTION_STATE: Final = "db.client.connection.state"
DB_SYSTEM_POSTGRESQL: Final = "postgresql"

# --- Muniment's own ---------------------------------------------------------------------------

TENANT_ID: Final = "muniment.tenant.id"
ERROR_REASON: Final = "muniment.error.reason"
REQUEST_ID: Final = "muniment.request.id"

RECALL_ID: Final = "muniment.recall.id"
RECALL_MEMORY_IDS: Final = "muniment.recall.memory.ids"
RECALL_MEMORY_SCORES: Final = "muniment.recall.memory.scores"
RECALL_MEMORY_REVISIONS: Final = "muniment.recall.memory.revisions"
RECALL_MEMORY_OMITTED: Final = "muniment.recall.memory.omitted"
RECALL_STRATEGY: Final = "muniment.recall.strategy"
RECALL_LIMIT: Final = "muniment.recall.limit"
RECALL_CANDIDATES: Final = "muniment.recall.candidates"
RECALL_TOKEN_BUDGET: Final = "muniment.recall.token_budget"  # noqa: S105
RECALL_TOKENS: Final = "muniment.recall.tokens"
RECALL_DEGRADED: Final = "muniment.recall.degraded"
RECALL_QUERY_LENGTH: Final = "muniment.recall.query.length"
RECALL_STAGE: Final = "muniment.recall.stage"
CONSISTENCY_MODE: Final = "muniment.consistency.mode"
CONSISTENCY_WAIT: Final = "muniment.consistency.wait"

EMBED_CACHE_HIT: Final = "muniment.embed.cache_hit"
EMBED_BATCH_SIZE: Final = "muniment.embed.batch_size"
LEG: Final = "muniment.leg"
LEG_RESULTS: Final = "muniment.leg.results"
LEG_SCORE_MAX: Final = "muniment.leg.score_max"
LEG_SCORE_MIN: Final = "muniment.leg.score_min"
VECTOR_METRIC: Final = "muniment.vector.metric"
VECTOR_EF_SEARCH: Final = "muniment.vector.ef_search"
VECTOR_ITERATIONS: Final = "muniment.vector.iterations"
FUSE_METHOD: Final = "muniment.fuse.method"
FUSE_K: Final = "muniment.fuse.k"
FUSE_INPUTS: Final = "muniment.fuse.inputs"
FUSE_OUTPUTS: Final = "muniment.fuse.outputs"
RERANK_INPUTS: Final = "muniment.rerank.inputs"
RERANK_OUTPUTS: Final = "muniment.rerank.outputs"
PACK_TOKENIZER: Final = "muniment.pack.tokenizer"
PACK_TOKEN_BUDGET: Final = "muniment.pack.token_budget"  # noqa: S105
PACK_TOKENS: Final = "muniment.pack.tokens"
PACK_INPUTS: Final = "muniment.pack.inputs"
PACK_OUTPUTS: Final = "muniment.pack.outputs"

WRITE_OUTCOME: Final = "muniment.write.outcome"
SUPERSEDE_NEW_ID: Final = "muniment.supersede.new_id"
ERASURE_ID: Final = "muniment.erasure.id"
ERASURE_MODE: Final = "muniment.erasure.mode"

INGEST_ID: Final = "muniment.ingest.id"
INGEST_EXTRACTOR: Final = "muniment.ingest.extractor"
INGEST_FALLBACK: Final = "muniment.ingest.fallback"
INGEST_OUTCOME: Final = "muniment.ingest.outcome"
INGEST_TURNS: Final = "muniment.ingest.turns"
INGEST_CANDIDATES: Final = "muniment.ingest.candidates"

SPAN_EXTRACT: Final = "muniment.ingest.extract"
SPAN_FUSE: Final = "muniment.recall.fuse"
SPAN_PACK: Final = "muniment.recall.pack"
SPAN_SEAL: Final = "muniment.audit.seal"

OFFERED_IDS_CAP: Final = 50
"""Ids recorded per recall span: 50 UUIDs stay under the 2 kB at which some trace stores cut values.
The full list is the recall receipt in the database."""

# --- metrics ----------------------------------------------------------------------------------

METRIC_RPC_SERVER_CALL_DURATION: Final = "rpc.server.call.duration"
METRIC_DB_OPERATION_DURATION: Final = "db.client.operation.duration"
METRIC_DB_CONNECTION_COUNT: Final = "db.client.connection.count"
METRIC_DB_CONNECTION_MAX: Final = "db.client.connection.max"
METRIC_DB_CONNECTION_PENDING: Final = "db.client.connection.pending_requests"
METRIC_DB_CONNECTION_WAIT: Final = "db.client.connection.wait_time"
METRIC_EMBEDDINGS_DURATION: Final = "gen_ai.client.embeddings.duration"
METRIC_RECALL_STAGE_DURATION: Final = "muniment.recall.stage.duration"
METRIC_RECALL_RESULTS: Final = "muniment.recall.results"
METRIC_RECALL_TOKENS: Final = "muniment.recall.tokens"
METRIC_WRITE_ITEMS: Final = "muniment.write.items"
METRIC_INGEST_ATTEMPTS: Final = "muniment.ingest.attempts"
METRIC_INGEST_PENDING: Final = "muniment.ingest.pending"
METRIC_INGEST_LAG: Final = "muniment.ingest.lag"
METRIC_REVIEW_PENDING: Final = "muniment.review.pending"
METRIC_AUDIT_PENDING: Final = "muniment.audit.pending"
METRIC_EMBEDDING_PENDING: Final = "muniment.embedding.pending"
METRIC_EMBEDDING_LAG: Final = "muniment.embedding.lag"
METRIC_ERASURE_PENDING: Final = "muniment.erasure.pending"
METRIC_ERASURE_DURATION: Final = "muniment.erasure.duration"
METRIC_INTEGRITY_VIOLATIONS: Final = "muniment.integrity.violations"
METRIC_DENIED_UNREPORTED: Final = "muniment.denied.unreported"

RPC_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
DB_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
STAGE_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
COUNT_BUCKETS: Final = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
TOKEN_BUCKETS: Final = (0.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0)
ERASURE_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 3600.0)

ATTRIBUTE_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ERROR_TYPE: "string",
        SERVER_ADDRESS: "string",
        SERVER_PORT: "int",
        NETWORK_PEER_ADDRESS: "string",
        NETWORK_PEER_PORT: "int",
        RPC_SYSTEM_NAME: "string",
        RPC_METHOD: "string",
        RPC_STATUS_CODE: "string",
        GEN_AI_OPERATION_NAME: "string",
        GEN_AI_PROVIDER_NAME: "string",
        GEN_AI_AGENT_ID: "string",
        GEN_AI_CONVERSATION_ID: "string",
        GEN_AI_MEMORY_STORE_ID: "string",
        GEN_AI_MEMORY_RECORD_ID: "string",
        GEN_AI_MEMORY_RECORD_COUNT: "int",
        GEN_AI_MEMORY_QUERY_TEXT: "string",
        GEN_AI_MEMORY_RECORDS: "any",
        GEN_AI_DATA_SOURCE_ID: "string",
        GEN_AI_RETRIEVAL_TOP_K: "int",
        GEN_AI_REQUEST_MODEL: "string",
        GEN_AI_RESPONSE_MODEL: "string",
        GEN_AI_EMBEDDINGS_DIMENSION_COUNT: "int",
        GEN_AI_USAGE_INPUT_TOKENS: "int",
        DB_SYSTEM_NAME: "string",
        DB_NAMESPACE: "string",
        DB_COLLECTION_NAME: "string",
        DB_OPERATION_NAME: "string",
        DB_OPERATION_BATCH_SIZE: "int",
        DB_QUERY_SUMMARY: "string",
        DB_QUERY_TEXT: "string",
        DB_RESPONSE_STATUS_CODE: "string",
        TENANT_ID: "string",
        ERROR_REASON: "string",
        REQUEST_ID: "string",
        RECALL_ID: "string",
        RECALL_MEMORY_IDS: "string[]",
        RECALL_MEMORY_SCORES: "double[]",
        RECALL_MEMORY_REVISIONS: "int[]",
        RECALL_MEMORY_OMITTED: "int",
        RECALL_STRATEGY: "string",
        RECALL_LIMIT: "int",
        RECALL_CANDIDATES: "int",
        RECALL_TOKEN_BUDGET: "int",
        RECALL_TOKENS: "int",
        RECALL_DEGRADED: "string[]",
        RECALL_QUERY_LENGTH: "int",
        CONSISTENCY_MODE: "string",
        CONSISTENCY_WAIT: "double",
        EMBED_CACHE_HIT: "boolean",
        EMBED_BATCH_SIZE: "int",
        LEG: "string",
        LEG_RESULTS: "int",
        LEG_SCORE_MAX: "double",
        LEG_SCORE_MIN: "double",
        VECTOR_METRIC: "string",
        VECTOR_EF_SEARCH: "int",
        VECTOR_ITERATIONS: "int",
        FUSE_METHOD: "string",
        FUSE_K: "int",
        FUSE_INPUTS: "int",
        FUSE_OUTPUTS: "int",
        RERANK_INPUTS: "int",
        RERANK_OUTPUTS: "int",
        PACK_TOKENIZER: "string",
        PACK_TOKEN_BUDGET: "int",
        PACK_TOKENS: "int",
        PACK_INPUTS: "int",
        PACK_OUTPUTS: "int",
        SUPERSEDE_NEW_ID: "string",
        ERASURE_ID: "string",
        ERASURE_MODE: "string",
        INGEST_ID: "string",
        INGEST_EXTRACTOR: "string",
        INGEST_FALLBACK: "string",
        INGEST_TURNS: "int",
        INGEST_CANDIDATES: "int",
    }
)
"""Type of every span attribute; what is not listed here must not be emitted."""
