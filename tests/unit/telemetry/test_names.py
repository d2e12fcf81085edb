"""The names we emit are a contract: a change here is a change for every dashboard."""

import re

from muniment_server.telemetry import names

OTEL_NAMESPACES = ("gen_ai.", "rpc.", "db.", "server.", "network.", "error.")

# Every span attribute with its type, and every metric. Reviewed by hand; do not generate.
SPAN_ATTRIBUTES = """
db.collection.name string
db.namespace string
db.operation.batch.size int
db.operation.name string
db.query.summary string
db.query.text string
db.response.status_code string
db.system.name string
error.type string
gen_ai.agent.id string
gen_ai.conversation.id string
gen_ai.data_source.id string
gen_ai.embeddings.dimension.count int
gen_ai.memory.query.text string
gen_ai.memory.record.count int
gen_ai.memory.record.id string
gen_ai.memory.records any
gen_ai.memory.store.id string
gen_ai.operation.name string
gen_ai.provider.name string
gen_ai.request.model string
gen_ai.response.model string
gen_ai.retrieval.top_k int
gen_ai.usage.input_tokens int
muniment.consistency.mode string
muniment.consistency.wait double
muniment.embed.batch_size int
muniment.embed.cache_hit boolean
muniment.erasure.id string
muniment.erasure.mode string
muniment.error.reason string
muniment.fuse.inputs int
muniment.fuse.k int
muniment.fuse.method string
muniment.fuse.outputs int
muniment.ingest.candidates int
muniment.ingest.extractor string
muniment.ingest.fallback string
muniment.ingest.id string
muniment.ingest.turns int
muniment.leg string
muniment.leg.results int
muniment.leg.score_max double
muniment.leg.score_min double
muniment.pack.inputs int
muniment.pack.outputs int
muniment.pack.token_budget int
muniment.pack.tokenizer string
muniment.pack.tokens int
muniment.recall.candidates int
muniment.recall.degraded string[]
muniment.recall.id string
muniment.recall.limit int
muniment.recall.memory.ids string[]
muniment.recall.memory.omitted int
muniment.recall.memory.revisions int[]
muniment.recall.memory.scores double[]
muniment.recall.query.length int
muniment.recall.strategy string
muniment.recall.token_budget int
muniment.recall.tokens int
muniment.request.id string
muniment.rerank.inputs int
muniment.rerank.outputs int
muniment.supersede.new_id string
muniment.tenant.id string
muniment.vector.ef_search int
muniment.vector.iterations int
muniment.vector.metric string
network.peer.address string
network.peer.port int
rpc.method string
rpc.response.status_code string
rpc.system.name string
server.address string
server.port int
"""

METRICS = """
db.client.connection.count
db.client.connection.max
db.client.connection.pending_requests
db.client.connection.wait_time
db.client.operation.duration
gen_ai.client.embeddings.duration
muniment.audit.pending
muniment.denied.unreported
muniment.embedding.lag
muniment.embedding.pending
muniment.erasure.duration
muniment.erasure.pending
muniment.ingest.attempts
muniment.ingest.lag
muniment.ingest.pending
muniment.integrity.violations
muniment.recall.results
muniment.recall.stage.duration
muniment.recall.tokens
muniment.review.pending
muniment.write.items
rpc.server.call.duration
"""


def test_span_attributes() -> None:
    found = sorted(f"{name} {kind}" for name, kind in names.ATTRIBUTE_TYPES.items())
    assert found == SPAN_ATTRIBUTES.strip().splitlines()


def test_metrics() -> None:
    found = [value for name, value in vars(names).items() if name.startswith("METRIC_")]
    assert sorted(found) == METRICS.split()


def test_own_names_stay_out_of_foreign_namespaces() -> None:
    for name, value in vars(names).items():
        if (
            not name.startswith("_")
            and isinstance(value, str)
            and re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", value)
        ):
            assert value.startswith(("muniment.", *OTEL_NAMESPACES)), name
