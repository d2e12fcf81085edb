"""Whoever can write to the database and has no keys changes something: `verify` finds it."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from muniment_server.audit.findings import FindingKind as K
from support.history import Copy, History, made_history
from support.postgres import PostgresServer


@pytest.fixture(scope="module")
def history(postgres_server: PostgresServer) -> Iterator[History]:
    with made_history(postgres_server) as made:
        yield made


@pytest.fixture(scope="module")
def shared(history: History) -> Copy:
    made = history.copy()
    made.save()
    return made


@pytest.fixture
def copy(shared: Copy) -> Iterator[Copy]:
    yield shared
    shared.put_back()


async def test_an_ordinary_history_is_clean(copy: Copy) -> None:
    reports = await copy.reports(deep=True)
    assert [(report.name, report.findings) for report in reports] == [("acme", []), ("other", [])]
    acme = reports[0]
    assert acme.events > 15
    assert acme.waiting == 0
    assert acme.scopes == 3
    assert acme.memories == 10
    assert acme.revisions == 3
    assert acme.vectors == 10
    assert acme.checkpoints > 0


@dataclass(frozen=True)
class Edit:
    """One edit: SQL (%(name)s are ids of the history), what has to be found, whether only --deep finds it."""

    name: str
    statements: tuple[str, ...]
    expected: set[K]
    deep: bool = False

    def __str__(self) -> str:
        return self.name


def edit(name: str, *statements: str, finds: set[K], deep: bool = False) -> Edit:
    return Edit(name, statements, finds, deep)


_LYON = "WHERE memory_id = %(lyon)s"
_NAMES = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"

EDITS = [
    # memories
    edit(
        "content changed",
        f"UPDATE memory SET content_ct = set_byte(content_ct, 20, get_byte(content_ct, 20) # 1) {_LYON}",
        finds={K.MEMORY_SEAL},
    ),
    edit(
        "made live again",
        "UPDATE memory SET state = 2, superseded_by = NULL, valid_to = NULL WHERE memory_id = %(job)s",
        finds={K.MEMORY_SEAL, K.SCOPE_STATISTICS, K.SUCCESSION, K.POSTINGS},
    ),
    edit(
        "quarantined",
        "UPDATE memory SET state = 5 WHERE memory_id = %(lyon)s",
        finds={K.MEMORY_SEAL, K.SCOPE_STATISTICS, K.POSTINGS},
    ),
    edit("deleted", f"DELETE FROM memory {_LYON}", finds={K.SCOPE_SET, K.MEMORY_LOST, K.SCOPE_STATISTICS}),
    edit(
        "deleted with everything that names it",
        f"DELETE FROM memory {_LYON}",
        "DELETE FROM memory_embedding e USING scope s WHERE s.scope_id = %(scope_id)s"
        " AND e.scope_no = s.scope_no AND NOT EXISTS"
        " (SELECT FROM memory m WHERE m.scope_id = s.scope_id AND m.doc_no = e.doc_no)",
        "DELETE FROM posting p USING scope s WHERE s.scope_id = %(scope_id)s"
        " AND p.scope_no = s.scope_no AND NOT EXISTS"
        " (SELECT FROM memory m WHERE m.scope_id = s.scope_id AND m.doc_no = p.doc_no)",
        finds={K.SCOPE_SET, K.MEMORY_LOST},
    ),
    edit(
        "deleted and given a tombstone",
        f"DELETE FROM memory {_LYON}",
        "INSERT INTO tombstone SELECT tenant_id, %(lyon)s, scope_id, erasure_id, erase_time FROM tombstone"
        " WHERE memory_id = %(gone)s",
        finds={K.SCOPE_SET},
    ),
    edit(
        "copied under a new id",
        "INSERT INTO memory SELECT (m2).* FROM (SELECT (jsonb_populate_record(m, jsonb_build_object("
        "'memory_id', gen_random_uuid(), 'doc_no', 900))) AS m2 FROM memory m WHERE memory_id = %(lyon)s) x",
        finds={K.SCOPE_SET, K.MEMORY_SEAL},
    ),
    edit(
        "two texts exchanged",
        "UPDATE memory m SET content_ct = o.content_ct FROM memory o WHERE (m.memory_id, o.memory_id)"
        " IN ((%(lyon)s, %(cat)s), (%(cat)s, %(lyon)s))",
        finds={K.MEMORY_SEAL},
    ),
    edit(
        "two rows exchanged but for their ids",
        "UPDATE memory m SET content_ct = o.content_ct, seal = o.seal, statement_hash = o.statement_hash,"
        " tokens = o.tokens, term_count = o.term_count FROM memory o WHERE (m.memory_id, o.memory_id)"
        " IN ((%(second)s, %(twin)s), (%(twin)s, %(second)s))",
        finds={K.MEMORY_SEAL},
    ),
    edit(
        "another subject's memory put in place",
        "UPDATE memory SET scope_id = %(second_scope_id)s, doc_no = 900 WHERE memory_id = %(lyon)s",
        finds={K.MEMORY_SEAL, K.SCOPE_SET},
    ),
    edit(
        "another tenant's memory put in place",
        "UPDATE memory SET tenant_id = %(tenant_id)s, scope_id = %(scope_id)s, doc_no = 900"
        " WHERE memory_id = %(foreign)s",
        finds={K.MEMORY_SEAL, K.SCOPE_SET, K.MEMORY_LOST},
    ),
    edit(
        "an earlier revision put back beside its history",
        "DELETE FROM memory WHERE memory_id = %(cat)s",
        "INSERT INTO memory SELECT * FROM memory_revision WHERE memory_id = %(cat)s",
        finds={K.REVISION_ORDER, K.SCOPE_SET, K.MEMORY_ROLLED_BACK},
    ),
    edit(
        "an earlier revision put back in the place of its history",
        "DELETE FROM memory WHERE memory_id = %(cat)s",
        "INSERT INTO memory SELECT * FROM memory_revision WHERE memory_id = %(cat)s",
        "DELETE FROM memory_revision WHERE memory_id = %(cat)s",
        finds={K.SCOPE_SET, K.MEMORY_ROLLED_BACK},
    ),
    edit(
        "history deleted",
        "DELETE FROM memory_revision WHERE memory_id = %(cat)s",
        finds={K.REVISION_ORDER, K.SCOPE_SET},
    ),
    edit(
        "history changed",
        "UPDATE memory_revision SET trust = 5 WHERE memory_id = %(cat)s",
        finds={K.REVISION_SEAL},
    ),
    edit(
        "history of no memory",
        "UPDATE memory_revision SET memory_id = gen_random_uuid() WHERE memory_id = %(cat)s",
        finds={K.STRAY_ROW, K.SCOPE_SET, K.REVISION_ORDER},
    ),
    # scopes
    edit(
        "generation set back",
        "UPDATE scope SET generation = generation - 1 WHERE scope_id = %(scope_id)s",
        finds={K.SCOPE_SEAL, K.SCOPE_ROLLED_BACK},
    ),
    edit(
        "scope's number changed",
        "UPDATE scope SET scope_no = scope_no + 1 WHERE scope_id = %(scope_id)s",
        finds={K.SCOPE_STATISTICS, K.STRAY_ROW},
    ),
    edit(
        "scope's key epoch set back to a destroyed one",
        "UPDATE scope SET key_epoch = 1 WHERE scope_id = (SELECT scope_id FROM memory"
        " WHERE memory_id = %(anew)s)",
        finds={K.SCOPE_KEY},
    ),
    edit(
        "scope's key epoch moved on",
        "UPDATE scope SET key_epoch = 9 WHERE scope_id = %(scope_id)s",
        finds={K.SCOPE_KEY},
    ),
    edit(
        "scope deleted",
        "DELETE FROM scope WHERE scope_id = %(second_scope_id)s",
        finds={K.SCOPE_MISSING, K.STRAY_ROW},
    ),
    # vectors and index
    edit(
        "vector changed",
        "UPDATE memory_embedding e SET embedding = o.embedding FROM memory_embedding o, scope s"
        " WHERE s.scope_id = %(scope_id)s AND e.scope_no = s.scope_no AND o.scope_no = s.scope_no"
        " AND e.doc_no = 1 AND o.doc_no = 3",
        finds={K.VECTOR_SEAL},
    ),
    edit(
        "vector of another document",
        "UPDATE memory_embedding SET doc_no = 900 WHERE doc_no = 1 AND scope_no ="
        " (SELECT scope_no FROM scope WHERE scope_id = %(scope_id)s)",
        finds={K.VECTOR_STRAY},
    ),
    edit(
        "index entry deleted",
        "DELETE FROM posting p USING (SELECT p.tenant_id, p.scope_no, p.token, p.doc_no FROM posting p"
        " JOIN scope s ON s.scope_no = p.scope_no WHERE s.scope_id = %(scope_id)s AND doc_no = 1 LIMIT 1) o"
        " WHERE (p.scope_no, p.token, p.doc_no) = (o.scope_no, o.token, o.doc_no)",
        finds={K.POSTINGS},
    ),
    edit(
        "all index entries of a memory deleted",
        "DELETE FROM posting WHERE doc_no = 1 AND scope_no ="
        " (SELECT scope_no FROM scope WHERE scope_id = %(scope_id)s)",
        finds={K.POSTINGS},
    ),
    edit(
        "index entry inserted",
        "INSERT INTO posting SELECT tenant_id, scope_no, 12345, 1, 1, 5 FROM scope"
        " WHERE scope_id = %(scope_id)s",
        finds={K.POSTINGS},
    ),
    edit(
        "index entries of a document that there is not",
        "INSERT INTO posting SELECT tenant_id, scope_no, 12345, 900, 1, 5 FROM scope"
        " WHERE scope_id = %(scope_id)s",
        finds={K.POSTINGS},
    ),
    edit(
        "index entries of an erased document put back",
        "INSERT INTO posting SELECT tenant_id, scope_no, 12345, (SELECT min(d) FROM generate_series(1, 99)"
        " AS d WHERE NOT EXISTS (SELECT FROM memory m WHERE m.scope_id = s.scope_id AND m.doc_no = d)), 1, 5"
        " FROM scope s WHERE scope_id = %(scope_id)s",
        finds={K.POSTINGS},
    ),
    edit(
        "index entry of a superseded memory put back",
        "INSERT INTO posting SELECT m.tenant_id, s.scope_no, m.tokens[1], m.doc_no, 1, m.term_count"
        " FROM memory m JOIN scope s ON s.scope_id = m.scope_id WHERE m.memory_id = %(tea)s",
        finds={K.POSTINGS},
    ),
    edit(
        "index frequency raised",
        "UPDATE posting SET tf = 99 WHERE doc_no = 1 AND scope_no ="
        " (SELECT scope_no FROM scope WHERE scope_id = %(scope_id)s)",
        finds={K.POSTINGS},
    ),
    edit(
        "index entries moved to other words, and the memory's list with them",
        "UPDATE posting SET token = token + 1 WHERE doc_no = 1 AND scope_no ="
        " (SELECT scope_no FROM scope WHERE scope_id = %(scope_id)s)",
        "UPDATE memory SET tokens = ARRAY(SELECT t + 1 FROM unnest(tokens) AS t) WHERE memory_id = %(lyon)s",
        finds={K.POSTINGS, K.CONTENT},
        deep=True,
    ),
    edit(
        "index frequencies exchanged within the length",
        "UPDATE posting SET tf = 2 WHERE (scope_no, doc_no, token) = (SELECT p.scope_no, p.doc_no,"
        " min(p.token) FROM posting p JOIN scope s ON s.scope_no = p.scope_no"
        " WHERE s.scope_id = %(scope_id)s AND p.doc_no = 1 GROUP BY 1, 2)",
        "DELETE FROM posting WHERE (scope_no, doc_no, token) = (SELECT p.scope_no, p.doc_no,"
        " max(p.token) FROM posting p JOIN scope s ON s.scope_no = p.scope_no"
        " WHERE s.scope_id = %(scope_id)s AND p.doc_no = 1 GROUP BY 1, 2)",
        "UPDATE memory SET tokens = (ARRAY(SELECT t FROM unnest(tokens) AS t ORDER BY t))"
        "[1:cardinality(tokens) - 1] WHERE memory_id = %(lyon)s",
        finds={K.POSTINGS, K.CONTENT},
        deep=True,
    ),
    edit(
        "index of a scope that there is not",
        "INSERT INTO posting SELECT tenant_id, 77, 12345, 1, 1, 5 FROM scope WHERE scope_id = %(scope_id)s",
        finds={K.STRAY_ROW},
    ),
    # erasures
    edit(
        "an erased memory put back",
        "INSERT INTO memory SELECT (m2).* FROM (SELECT (jsonb_populate_record(m, jsonb_build_object("
        "'memory_id', %(gone)s::uuid, 'doc_no', 900))) AS m2 FROM memory m WHERE memory_id = %(lyon)s) x",
        finds={K.ERASED_MEMORY_BACK, K.SCOPE_SET, K.MEMORY_SEAL},
    ),
    edit(
        "a tombstone removed",
        "DELETE FROM tombstone WHERE memory_id = %(gone)s",
        finds={K.MEMORY_LOST},
    ),
    edit(
        "an erasure receipt changed",
        "UPDATE erasure SET receipt = convert_to(replace(convert_from(receipt, 'UTF8'),"
        " '\"memories\":1', '\"memories\":0'), 'UTF8')",
        finds={K.RECEIPT_FORGED},
    ),
    edit(
        "an erasure receipt without signature",
        "UPDATE erasure SET signature = NULL",
        finds={K.RECEIPT_FORGED},
    ),
    # the trail
    edit(
        "an event's bytes changed",
        "UPDATE audit_event SET payload = convert_to(replace(convert_from(payload, 'UTF8'), '\"outcome\":1',"
        " '\"outcome\":2'), 'UTF8') WHERE recall_id = %(recall)s AND action = 4",
        finds={K.EVENT_CHANGED, K.CHAIN_BROKEN},
    ),
    edit(
        "an event's mac changed",
        "UPDATE audit_event SET mac = sha256('x') WHERE recall_id = %(recall)s AND action = 4",
        finds={K.EVENT_CHANGED},
    ),
    edit(
        "an event's bytes replaced by another event's",
        "UPDATE audit_event e SET payload = o.payload, mac = o.mac FROM audit_event o"
        " WHERE e.recall_id = %(recall)s AND e.action = 5 AND o.recall_id = %(recall)s AND o.action = 4",
        finds={K.EVENT_CHANGED, K.CHAIN_BROKEN},
    ),
    edit(
        "an event deleted",
        "DELETE FROM audit_event WHERE recall_id = %(recall)s AND action = 4",
        finds={K.EVENT_MISSING},
    ),
    edit(
        "an event deleted from the middle with its link",
        "DELETE FROM audit_chain WHERE sequence = 5",
        "DELETE FROM audit_event e WHERE NOT EXISTS"
        " (SELECT FROM audit_chain c WHERE c.event_id = e.event_id)",
        finds={K.CHAIN_GAP},
    ),
    edit(
        "an event deleted from the middle and the numbers closed up",
        "DELETE FROM audit_chain WHERE sequence = 5 AND tenant_id = %(tenant_id)s",
        "UPDATE audit_chain SET sequence = -sequence WHERE sequence > 5",
        "UPDATE audit_chain SET sequence = -sequence - 1 WHERE sequence < 0",
        finds={K.CHAIN_BROKEN, K.CHAIN_END, K.EVENT_UNCHAINED},
    ),
    edit(
        "two events exchanged",
        "UPDATE audit_chain SET sequence = -4 WHERE sequence = 4 AND tenant_id = %(tenant_id)s",
        "UPDATE audit_chain SET sequence = 4 WHERE sequence = 5 AND tenant_id = %(tenant_id)s",
        "UPDATE audit_chain SET sequence = 5 WHERE sequence = -4",
        finds={K.CHAIN_BROKEN},
    ),
    edit(
        "the tail cut off",
        "DELETE FROM audit_chain WHERE sequence > 6 AND tenant_id = %(tenant_id)s",
        finds={K.CHAIN_END, K.CHAIN_ROLLED_BACK, K.EVENT_UNCHAINED},
    ),
    edit(
        "the tail cut off with everything that tells of it in the database",
        "DELETE FROM audit_chain WHERE sequence > 6 AND tenant_id = %(tenant_id)s",
        "DELETE FROM audit_checkpoint WHERE sequence > 6 AND tenant_id = %(tenant_id)s",
        "DELETE FROM audit_event e WHERE NOT EXISTS"
        " (SELECT FROM audit_chain c WHERE c.event_id = e.event_id)",
        "DELETE FROM audit_memory m WHERE NOT EXISTS"
        " (SELECT FROM audit_event e WHERE e.event_id = m.event_id)",
        "UPDATE audit_head h SET (sequence, digest) = (SELECT c.sequence, c.digest FROM audit_chain c"
        " WHERE c.tenant_id = h.tenant_id AND c.sequence = 6) WHERE tenant_id = %(tenant_id)s",
        finds={K.CHAIN_ROLLED_BACK},
    ),
    edit(
        "a link changed",
        "UPDATE audit_chain SET digest = sha256('x') WHERE sequence = 5",
        finds={K.CHAIN_BROKEN},
    ),
    edit(
        "the head set back",
        "UPDATE audit_head SET sequence = sequence - 1 WHERE tenant_id = %(tenant_id)s",
        finds={K.CHAIN_END},
    ),
    edit("the head deleted", "DELETE FROM audit_head", finds={K.CHAIN_END}),
    edit(
        "a checkpoint's signature changed",
        "UPDATE audit_checkpoint SET signature = set_byte(signature, 3, get_byte(signature, 3) # 1)",
        finds={K.CHECKPOINT_FORGED},
    ),
    edit(
        "a checkpoint moved",
        "UPDATE audit_checkpoint SET sequence = sequence + 1000",
        finds={K.CHECKPOINT_FORGED},
    ),
    edit(
        "a checkpoint signed by somebody else",
        "UPDATE audit_checkpoint SET signing_key = '0123456789abcdef'",
        finds={K.CHECKPOINT_FORGED},
    ),
    edit(
        "a chained event queued again",
        "INSERT INTO audit_queue SELECT tenant_id, event_id FROM audit_chain WHERE sequence = 3",
        finds={K.EVENT_QUEUED_AGAIN},
    ),
    edit(
        "a queued event that there is not",
        "INSERT INTO audit_queue SELECT tenant_id, gen_random_uuid() FROM audit_chain WHERE sequence = 3",
        finds={K.EVENT_MISSING},
    ),
    edit(
        "an event hidden from the index by memory",
        "DELETE FROM audit_memory WHERE memory_id = %(lyon)s",
        finds={K.EVENT_INDEX},
    ),
    edit(
        "a foreign event put into the index by memory",
        "INSERT INTO audit_memory SELECT c.tenant_id, gen_random_uuid(), c.event_id FROM audit_chain c"
        " WHERE sequence = 3",
        finds={K.EVENT_INDEX},
    ),
    edit(
        "an event forged and queued",
        "INSERT INTO audit_event SELECT tenant_id, gen_random_uuid(), event_time, action, outcome, actor,"
        " scope_id, agent, session, trace_id, recall_id, memory_ids, source_types, payload, mac"
        " FROM audit_event WHERE recall_id = %(recall)s AND action = 4",
        "INSERT INTO audit_queue SELECT e.tenant_id, e.event_id FROM audit_event e WHERE NOT EXISTS"
        " (SELECT FROM audit_chain c WHERE c.event_id = e.event_id)",
        finds={K.EVENT_CHANGED},
    ),
    edit(
        "a whole tenant removed",
        "DELETE FROM tenant WHERE tenant_id = %(foreign_tenant_id)s",
        *(
            f"DELETE FROM {table} WHERE tenant_id = %(foreign_tenant_id)s"
            for table in (
                "scope",
                "memory",
                "memory_embedding",
                "posting",
                "audit_event",
                "audit_chain",
                "audit_checkpoint",
                "audit_memory",
                "audit_head",
            )
        ),
        finds={K.CHAIN_ROLLED_BACK, K.SCOPE_MISSING},
    ),
]


MEMORY_COLUMNS = {
    "turn_number": "7",
    "slot": "'city'",
    "tags": "'{urgent}'",
    "properties": "'{\"priority\": 9}'",
    "trust": "5",
    "source_type": "1",
    "kind": "5",
    "confidence": "0.99",
    "author": "'somebody'",
    "author_agent": "'someone'",
    "origin_session": "'s9'",
    "source_ref": "'elsewhere'",
    "agent": "'a9'",
    "session": "'s9'",
    "valid_from": "'2020-01-01Z'",
    "valid_to": "'2020-01-01Z'",
    "create_time": "'2020-01-01Z'",
    "update_time": "'2020-01-01Z'",
    "expire_time": "'2020-01-01Z'",
    "reinforce_count": "7",
    "reinforce_time": "'2020-01-01Z'",
    "statement_hash": "sha256('x')",
    "term_count": "term_count + 1",
    "content_revision": "2",
    "key_epoch": "2",
    "analyzer": "analyzer + 1",
    "supersedes": "%(tea)s",
    "superseded_by": "%(tea)s",
    "seal": "sha256('x')",
}
SCOPE_COLUMNS = {
    "live_count": ("live_count + 1", {K.SCOPE_STATISTICS}),
    "live_terms": ("live_terms + 1", {K.SCOPE_STATISTICS}),
    "next_doc": ("2", {K.SCOPE_STATISTICS}),
    "set_count": ("set_count + 1", {K.SCOPE_SET}),
    "set_digest": ("substr(set_digest, 1, 16) || sha256('x')", {K.SCOPE_SET}),
    "label_ct": ("sha256('x')", set()),
    "consent": ("sha256('x')", {K.CONSENT}),
    "kind": ("2", set()),
    "generation": ("generation + 1", set()),
}
EVENT_COLUMNS = {
    "event_time": ("event_time - interval '1 day'", set()),
    "action": ("5", set()),
    "outcome": ("3", set()),
    "actor": ("'somebody'", set()),
    "scope_id": ("%(second_scope_id)s", set()),
    "agent": ("'a9'", set()),
    "session": ("'s9'", set()),
    "trace_id": ("NULL", set()),
    "recall_id": ("NULL", set()),
    "memory_ids": ("memory_ids[2:]", {K.EVENT_INDEX}),
    "source_types": ("'{1}'", set()),
}


async def test_every_column_of_a_memory_is_sealed(copy: Copy) -> None:
    copy.database.execute("DROP TABLE IF EXISTS kept")
    copy.database.execute(
        "CREATE TEMPORARY TABLE kept AS SELECT * FROM memory WHERE memory_id = %(lyon)s", copy.ids
    )
    sealed = {row["attname"] for row in copy.database.rows(_NAMES, ("memory",))}
    # Found in other ways: by the rows around it (see the edits), or with --deep.
    assert sealed - MEMORY_COLUMNS.keys() == {
        "tenant_id",
        "memory_id",
        "scope_id",
        "doc_no",
        "revision",
        "state",
        "tokens",
        "content_ct",
    }
    for column, value in MEMORY_COLUMNS.items():
        copy.tamper(f"UPDATE memory SET {column} = {value} WHERE memory_id = %(lyon)s", **copy.ids)
        assert K.MEMORY_SEAL in await copy.kinds(), column
        copy.tamper("DELETE FROM memory WHERE memory_id = %(lyon)s", **copy.ids)
        copy.tamper("INSERT INTO memory SELECT * FROM kept")
    assert await copy.kinds() == set()


async def test_every_column_of_a_scope_is_sealed(copy: Copy) -> None:
    copy.database.execute("DROP TABLE IF EXISTS kept")
    copy.database.execute(
        "CREATE TEMPORARY TABLE kept AS SELECT * FROM scope WHERE scope_id = %(scope_id)s", copy.ids
    )
    sealed = {row["attname"] for row in copy.database.rows(_NAMES, ("scope",))}
    assert sealed - SCOPE_COLUMNS.keys() == {
        "tenant_id",
        "scope_id",
        "scope_no",
        "key_epoch",
        "seal",
        "create_time",
        "update_time",
    }
    for column, (value, more) in SCOPE_COLUMNS.items():
        copy.tamper(f"UPDATE scope SET {column} = {value} WHERE scope_id = %(scope_id)s", **copy.ids)
        assert {K.SCOPE_SEAL, *more} <= await copy.kinds(), column
        copy.tamper("DELETE FROM scope WHERE scope_id = %(scope_id)s", **copy.ids)
        copy.tamper("INSERT INTO scope SELECT * FROM kept")
    assert await copy.kinds() == set()


async def test_every_column_of_an_event_is_authenticated(copy: Copy) -> None:
    event = "recall_id = %(recall)s AND action = 4"
    copy.database.execute("DROP TABLE IF EXISTS kept")
    copy.database.execute(f"CREATE TEMPORARY TABLE kept AS SELECT * FROM audit_event WHERE {event}", copy.ids)
    names = {row["attname"] for row in copy.database.rows(_NAMES, ("audit_event",))}
    assert names - EVENT_COLUMNS.keys() == {"tenant_id", "event_id", "payload", "mac"}
    for column, (value, more) in EVENT_COLUMNS.items():
        copy.tamper(f"UPDATE audit_event SET {column} = {value} WHERE {event}", **copy.ids)
        assert {K.EVENT_CHANGED, *more} <= await copy.kinds(), column
        copy.tamper("DELETE FROM audit_event WHERE event_id = (SELECT event_id FROM kept)")
        copy.tamper("INSERT INTO audit_event SELECT * FROM kept")
    assert await copy.kinds() == set()


@pytest.mark.parametrize("made", EDITS, ids=str)
async def test_an_edit_behind_the_services_back_is_found(copy: Copy, made: Edit) -> None:
    for statement in made.statements:
        copy.tamper(statement, **copy.ids)
    assert made.expected <= await copy.kinds(deep=made.deep)


@pytest.mark.parametrize("made", [one for one in EDITS if one.deep], ids=str)
async def test_some_edits_are_found_by_opening_the_memories_only(copy: Copy, made: Edit) -> None:
    """If this fails because the quick look has become better: good, move the edit."""
    for statement in made.statements:
        copy.tamper(statement, **copy.ids)
    assert await copy.kinds() == set()


async def test_two_live_memories_in_one_slot_are_found(history: History) -> None:
    copy = history.copy()
    copy.database.execute("DROP INDEX memory_slot_key")
    copy.tamper("UPDATE memory SET state = 2 WHERE memory_id = %(tea)s", **copy.ids)
    assert {K.SLOT_DOUBLED, K.MEMORY_SEAL} <= await copy.kinds()


ODD = (
    "UPDATE memory SET state = 99 WHERE memory_id = %(lyon)s",
    "UPDATE memory SET kind = -1, trust = 0, source_type = 77 WHERE memory_id = %(lyon)s",
    "UPDATE memory SET create_time = 'infinity', valid_to = '-infinity' WHERE memory_id = %(lyon)s",
    "UPDATE memory SET properties = '[1, 2]' WHERE memory_id = %(lyon)s",
    "UPDATE memory SET properties = '{\"a\": {\"b\": null}}', tags = '{NULL}' WHERE memory_id = %(lyon)s",
    "UPDATE memory SET confidence = 'NaN', term_count = -5 WHERE memory_id = %(lyon)s",
    "UPDATE memory SET seal = '', content_ct = '', statement_hash = '' WHERE memory_id = %(lyon)s",
    "UPDATE memory SET doc_no = -7 WHERE memory_id = %(lyon)s",
    "UPDATE memory SET revision = 2147483647 WHERE memory_id = %(lyon)s",
    "UPDATE memory_revision SET state = 99, update_time = 'infinity'",
    "UPDATE scope SET kind = 99, set_digest = '', next_doc = -1",
    "UPDATE scope SET live_count = 9223372036854775807, set_count = -3",
    "UPDATE scope SET key_epoch = -1",
    "UPDATE memory_embedding SET embedding = '[1,2,3]', seal = ''",
    "UPDATE posting SET tf = -1, doc_terms = 2147483647",
    "UPDATE audit_event SET event_time = 'infinity'",
    "UPDATE audit_event SET action = 99, outcome = -1, memory_ids = '{NULL}', source_types = '{}'",
    "UPDATE audit_event SET payload = '', mac = ''",
    "UPDATE audit_chain SET digest = ''",
    "UPDATE audit_chain SET sequence = sequence - 7",
    "UPDATE audit_head SET sequence = -1, digest = ''",
    "UPDATE audit_checkpoint SET create_time = 'infinity', digest = '', signature = ''",
    "UPDATE erasure SET state = 99, target = 77, receipt = '', signature = ''",
    "UPDATE tombstone SET erase_time = 'infinity'",
)
HARMLESS = {"UPDATE tombstone SET erase_time = 'infinity'"}


@pytest.mark.parametrize("statement", ODD)
async def test_values_that_nobody_of_ours_stores_are_findings_and_no_failure(
    copy: Copy, statement: str
) -> None:
    copy.tamper(statement, **copy.ids)
    assert bool(await copy.kinds(deep=True)) is (statement not in HARMLESS)


async def test_findings_name_ids_and_never_content(copy: Copy) -> None:
    copy.tamper(
        "UPDATE memory SET source_ref = 'KORRIGAN-9', slot = 'KORRIGAN-9' WHERE memory_id = %(lyon)s",
        **copy.ids,
    )
    reports = await copy.reports(deep=True)
    text = repr([report.as_json() for report in reports])
    assert copy.ids["lyon"] in text
    assert "KORRIGAN" not in text
    assert "Lyon" not in text


async def test_one_tenants_fault_is_not_told_of_another(copy: Copy) -> None:
    copy.tamper("UPDATE memory SET trust = 5 WHERE memory_id = %(foreign)s", **copy.ids)
    assert [report.clean for report in await copy.reports(tenant="acme")] == [True]
    assert [report.clean for report in await copy.reports(tenant="other")] == [False]
    with pytest.raises(LookupError):
        await copy.reports(tenant="nobody")
