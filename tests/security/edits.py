"""What somebody does who can write to the database and nothing more, and a stage to do it on.

Every edit gets a subject of its own with the same memories, so that one database carries all of them. The
statements name ids as `%(name)s`: tenant_id, scope_id, scope_no; victim, near and far, three memories of the
same words; first, second and third, each the correction of the one before; trusted, whose second revision
has more trust than the first; other, a genuine memory of another subject of the tenant; foreign, one of
another tenant; spare, an unused id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any
from uuid import uuid4

from muniment_server._gen.muniment.v1 import memory_pb2
from support.postgres import PostgresDatabase
from support.service import Caller, RunningService, item


class Shown(Enum):
    """What a reader sees of an edited memory."""

    NAMED = "named"
    """Left out, and named as broken wherever it would have been a candidate."""
    HIDDEN = "hidden"
    """The edit itself keeps it from being a candidate; asked for by id it is refused."""
    GONE = "gone"
    """There is no such row any more."""
    OLD = "old"
    """An older state that nothing in the database contradicts: only the set digest tells."""


@dataclass(frozen=True)
class Edit:
    """One edit. `victim` is the id (see above) that readers must not get as genuine."""

    name: str
    statements: tuple[str, ...]
    shown: Shown = Shown.NAMED
    victim: str = "victim"
    legs: tuple[str, ...] = ("all legs", "vector leg", "lexical leg")
    """By which it still is a candidate of a recall."""

    def __str__(self) -> str:
        return self.name


@dataclass
class Stage:
    """The memories that one edit is made on."""

    subject: str
    ids: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    texts_of_others: list[str] = field(default_factory=list)


def tamper(database: PostgresDatabase, statements: Sequence[str], values: dict[str, Any]) -> None:
    """Run statements as somebody to whom no constraint and no policy applies; each must touch a row."""
    database.execute("SET session_replication_role = replica")
    try:
        for statement in statements:
            touched = database.execute(statement, values)
            assert touched or statement.startswith(("ALTER", "DROP")), statement
    finally:
        database.execute("SET session_replication_role = origin")


def ids_of(database: PostgresDatabase, memory_id: str) -> dict[str, Any]:
    """Tenant and scope of a stored memory."""
    return dict(
        database.row(
            "SELECT s.tenant_id, s.scope_id, s.scope_no FROM memory m"
            " JOIN scope s USING (tenant_id, scope_id)"
            " WHERE m.memory_id = %s",
            (memory_id,),
        )
    )


@dataclass(frozen=True)
class Writers:
    """Who writes: with every right, with a tool's rights, and for another tenant."""

    caller: Caller
    tool: Caller
    foreign: Caller


async def prepare_stage(service: RunningService, writers: Writers, subject: str, needs: str) -> Stage:
    """Write the memories of a stage; of the last four kinds only those that `needs` names."""
    caller = writers.caller
    mark = f"mark{uuid4().hex[:10]}"
    stage = Stage(subject)
    texts, ids = stage.texts, stage.ids
    texts["victim"] = f"Walks along the old harbour at dawn {mark}"
    texts["near"] = f"Walks along the old harbour at noon {mark}"
    texts["far"] = f"Walks along the old harbour at dusk {mark}"
    texts["first"] = f"Works as a carpenter {mark}"
    texts["second"] = f"Works as a joiner {mark}"
    texts["third"] = f"Works as a welder {mark}"
    texts["trusted"] = f"Owns a red bicycle {mark}"
    now = datetime.now(UTC)
    wide = item(
        texts["victim"],
        slot="habit",
        tags=["walk", "harbour"],
        provenance=memory_pb2.Provenance(
            source_type=memory_pb2.SOURCE_TYPE_TOOL, session="s1", source_ref="doc:1", confidence=0.5
        ),
        validity=memory_pb2.Validity(start_time=now - timedelta(days=9), end_time=now + timedelta(days=9)),
        expire_time=now + timedelta(days=90),
    )
    wide.properties["priority"].number_value = 3
    wide.attributes["note"] = "kept with the text"
    names = ("victim", "near", "far", "first")
    written = await caller.write(subject, wide, *(texts[name] for name in names[1:]))
    for name, result in zip(names, written.results, strict=True):
        ids[name] = result.memory.memory_id
    if "(first)" in needs or "(second)" in needs:
        ids["second"] = (await caller.supersede(ids["first"], texts["second"])).memory.memory_id
        ids["third"] = (await caller.supersede(ids["second"], texts["third"])).memory.memory_id
    if "(trusted)" in needs:
        low = await writers.tool.write(subject, texts["trusted"])
        ids["trusted"] = low.results[0].memory.memory_id
        stated = memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_USER_STATED)
        raised = await caller.write(subject, item(texts["trusted"], provenance=stated))
        assert raised.results[0].memory.memory_id == ids["trusted"]
        assert raised.results[0].memory.revision == 2
    for name, writer, label in (("other", caller, f"other {subject}"), ("foreign", writers.foreign, subject)):
        if f"({name})" in needs:
            text = f"Walks along the old harbour at dawn as {name} {mark}"
            ids[name] = (await writer.write(label, text)).results[0].memory.memory_id
            stage.texts_of_others.append(text)
    ids |= ids_of(service.database, ids["victim"])
    ids["spare"] = uuid4()
    return stage


_VICTIM = "WHERE memory_id = %(victim)s"


def _changed(*values: tuple[str, str], **more: Any) -> list[Edit]:
    return [
        Edit(f"{column} becomes {value}", (f"UPDATE memory SET {column} = {value} {_VICTIM}",), **more)
        for column, value in values
    ]


def _copy(source: str, **changes: str) -> str:
    """Insert a copy of a row with some columns changed."""
    fields = ", ".join(f"'{column}', {value}" for column, value in changes.items())
    return (
        "INSERT INTO memory SELECT (jsonb_populate_record(m, jsonb_build_object("
        f"{fields}))).* FROM memory m WHERE memory_id = {source}"
    )


def _index(memory_id: str) -> tuple[str, str]:
    """Put a memory's tokens and the victim's vector under a document, so that both legs find it."""
    return (
        (
            f"INSERT INTO posting SELECT %(tenant_id)s, %(scope_no)s, t, doc_no, 1, term_count FROM memory,"
            f" unnest(tokens) t WHERE memory_id = {memory_id} ON CONFLICT DO NOTHING"
        ),
        (
            "INSERT INTO memory_embedding"
            " SELECT e.tenant_id, e.scope_no, e.model_no, n.doc_no, 1, e.state, e.embedding, e.seal"
            " FROM memory_embedding e, memory v, memory n WHERE v.memory_id = %(victim)s"
            f" AND n.memory_id = {memory_id} AND e.doc_no = v.doc_no AND e.scope_no = %(scope_no)s"
        ),
    )


_EMPTY_PLACE = "DELETE FROM memory WHERE memory_id = %(victim)s"


def _placed(who: str) -> tuple[str, ...]:
    """A genuine row of somewhere else stands in the victim's place, under its own id."""
    return (
        f"UPDATE memory SET doc_no = -1 WHERE memory_id = %({who})s",
        (
            f"UPDATE memory o SET tenant_id = v.tenant_id, scope_id = v.scope_id, doc_no = -2 FROM memory v"
            f" WHERE o.memory_id = %({who})s AND v.memory_id = %(victim)s"
        ),
        f"UPDATE memory v SET doc_no = -3, content_revision = doc_no {_VICTIM}",
        (
            f"UPDATE memory o SET doc_no = v.content_revision FROM memory v WHERE o.memory_id = %({who})s"
            " AND v.memory_id = %(victim)s"
        ),
        _EMPTY_PLACE,
    )


def _put_back(name: str, *, keep_history: bool) -> tuple[str, ...]:
    """The first revision becomes current again, with all its columns."""
    back = (
        f"DELETE FROM memory WHERE memory_id = %({name})s",
        f"INSERT INTO memory SELECT * FROM memory_revision WHERE memory_id = %({name})s AND revision = 1",
    )
    if not keep_history:
        back += (f"DELETE FROM memory_revision WHERE memory_id = %({name})s",)
    if name == "trusted":
        return back
    return (
        *back,
        (
            "INSERT INTO posting SELECT %(tenant_id)s, %(scope_no)s, t, doc_no, 1, term_count FROM memory,"
            f" unnest(tokens) t WHERE memory_id = %({name})s"
        ),
    )


CONTENT = [
    Edit(
        "one bit of the ciphertext changed",
        (f"UPDATE memory SET content_ct = set_byte(content_ct, 20, get_byte(content_ct, 20) # 1) {_VICTIM}",),
    ),
    Edit(
        "the ciphertext cut short",
        (f"UPDATE memory SET content_ct = substr(content_ct, 1, length(content_ct) - 1) {_VICTIM}",),
    ),
    Edit("the ciphertext emptied", (f"UPDATE memory SET content_ct = '' {_VICTIM}",)),
    Edit(
        "one bit of the seal changed",
        (f"UPDATE memory SET seal = set_byte(seal, 3, get_byte(seal, 3) # 1) {_VICTIM}",),
    ),
    Edit("the seal emptied", (f"UPDATE memory SET seal = '' {_VICTIM}",)),
    Edit(
        "the texts of two rows exchanged",
        (
            (
                "UPDATE memory m SET content_ct = o.content_ct FROM memory o WHERE (m.memory_id, o.memory_id)"
                " IN ((%(victim)s, %(first)s), (%(first)s, %(victim)s))"
            ),
        ),
    ),
    Edit(
        "texts and seals of two rows exchanged",
        (
            (
                "UPDATE memory m SET content_ct = o.content_ct, seal = o.seal,"
                " statement_hash = o.statement_hash FROM memory o WHERE (m.memory_id, o.memory_id)"
                " IN ((%(victim)s, %(first)s), (%(first)s, %(victim)s))"
            ),
        ),
    ),
    Edit(
        "two whole rows exchanged but for their ids",
        (
            f"UPDATE memory SET memory_id = %(spare)s {_VICTIM}",
            "UPDATE memory SET memory_id = %(victim)s WHERE memory_id = %(first)s",
            "UPDATE memory SET memory_id = %(first)s WHERE memory_id = %(spare)s",
        ),
        # The superseded row stands under the victim's id now.
        shown=Shown.HIDDEN,
    ),
    Edit(
        "another subject's text and seal under the victim's id",
        (
            (
                "UPDATE memory v SET content_ct = o.content_ct, seal = o.seal FROM memory o"
                " WHERE v.memory_id = %(victim)s AND o.memory_id = %(other)s"
            ),
        ),
    ),
    Edit(
        "another tenant's text and seal under the victim's id",
        (
            (
                "UPDATE memory v SET content_ct = o.content_ct, seal = o.seal FROM memory o"
                " WHERE v.memory_id = %(victim)s AND o.memory_id = %(foreign)s"
            ),
        ),
    ),
    Edit("another subject's row in the victim's place", _placed("other"), victim="other"),
    Edit("another tenant's row in the victim's place", _placed("foreign"), victim="foreign"),
]

LABELS = [
    *_changed(
        ("kind", "5"),
        ("slot", "'home_city'"),
        ("slot", "NULL"),
        ("trust", "5"),
        ("trust", "1"),
        ("source_type", "1"),
        ("source_type", "2"),
        ("confidence", "0.99"),
        ("confidence", "NULL"),
        ("valid_from", "NULL"),
        ("valid_from", "'1999-01-01Z'"),
        ("valid_to", "NULL"),
        ("valid_to", "'2999-01-01Z'"),
        ("expire_time", "NULL"),
        ("expire_time", "'2999-01-01Z'"),
        ("create_time", "create_time - interval '1 microsecond'"),
        ("update_time", "update_time + interval '1 microsecond'"),
        ("reinforce_time", "now()"),
        ("reinforce_count", "reinforce_count + 1"),
        ("tags", "'{urgent}'"),
        ("tags", "tags || '{urgent}'"),
        ("tags", "'{}'"),
        ("properties", "'{}'"),
        ("properties", "'{\"priority\": 9}'"),
        ("properties", '\'{"priority": "3"}\''),
        ("properties", "properties || '{\"extra\": true}'"),
        ("author", "'somebody'"),
        ("author_agent", "'some agent'"),
        ("origin_session", "'s2'"),
        ("origin_session", "NULL"),
        ("source_ref", "'doc:2'"),
        ("supersedes", "%(first)s"),
        ("superseded_by", "%(near)s"),
        ("revision", "revision + 1"),
        ("key_epoch", "key_epoch + 1"),
        ("analyzer", "analyzer + 1"),
        ("term_count", "term_count + 1"),
        ("statement_hash", "sha256('x')"),
    ),
    # The index and the vectors are joined by these.
    *_changed(("doc_no", "900"), legs=()),
    *_changed(("content_revision", "2"), legs=("all legs", "lexical leg")),
    *_changed(
        ("state", "1"),
        ("state", "3"),
        ("state", "4"),
        ("state", "5"),
        ("expire_time", "'2001-01-01Z'"),
        ("agent", "'a1'"),
        ("session", "'s1'"),
        ("scope_id", "(SELECT scope_id FROM memory WHERE memory_id = %(other)s), doc_no = 900"),
        ("tenant_id", "(SELECT tenant_id FROM memory WHERE memory_id = %(foreign)s)"),
        shown=Shown.HIDDEN,
    ),
    Edit(
        "made live again",
        (
            "UPDATE memory SET state = 2, superseded_by = NULL, valid_to = NULL WHERE memory_id = %(first)s",
            *_index("%(first)s")[:1],
        ),
        victim="first",
    ),
]

UNREADABLE = [
    # Values that no writer of ours can store: they must break one memory, not the answer.
    *_changed(
        ("kind", "0"),
        ("kind", "99"),
        ("kind", "-1"),
        ("trust", "9"),
        ("source_type", "77"),
        ("confidence", "'NaN'"),
        ("confidence", "'-Infinity'"),
        ("tags", "ARRAY[NULL]::text[]"),
        ("tags", "'{{a,b},{c,d}}'"),
        ("properties", "'[]'"),
        ("properties", "'null'"),
        ("properties", "'7'"),
        ("properties", "'{\"priority\": null}'"),
        ("properties", '\'{"priority": {"deep": [1]}}\''),
        ("properties", "'{\"priority\": 1e999}'"),
        ("properties", "'{\"priority\": 1e9999}'"),
        ("properties", "(repeat('{\"a\":', 3000) || '1' || repeat('}', 3000))::jsonb"),
        ("valid_from", "'-infinity'"),
        ("valid_to", "'infinity'"),
        ("expire_time", "'infinity'"),
        ("create_time", "'0044-03-15 BC'"),
        ("update_time", "'20000-01-01Z'"),
        ("reinforce_time", "'infinity'"),
        ("tokens", "NULL"),
        ("seal", "NULL"),
        ("content_ct", "NULL"),
        ("statement_hash", "NULL"),
        ("author", "NULL"),
        ("tags", "NULL"),
        ("properties", "NULL"),
        ("create_time", "NULL"),
        ("revision", "NULL"),
        ("term_count", "NULL"),
    ),
    *_changed(("state", "99"), ("trust", "NULL"), shown=Shown.HIDDEN),
]

FORGED = [
    Edit(
        "a row forged with a random seal",
        (
            _copy("%(victim)s", memory_id="%(spare)s", doc_no="900", slot="NULL", seal="sha256('x')::text"),
            *_index("%(spare)s"),
        ),
        victim="spare",
    ),
    Edit(
        "a row copied with its seal under a new id",
        (
            _copy("%(victim)s", memory_id="%(spare)s", doc_no="900", state="1"),
            "UPDATE memory SET state = 4 WHERE memory_id = %(victim)s",
            "UPDATE memory SET state = 2 WHERE memory_id = %(spare)s",
            *_index("%(spare)s"),
        ),
        victim="spare",
    ),
]

PUT_BACK = [
    Edit(
        "the first revision put back beside its history",
        _put_back("trusted", keep_history=True),
        victim="trusted",
    ),
    Edit(
        "a corrected memory put back beside its history",
        _put_back("first", keep_history=True),
        victim="first",
    ),
    Edit(
        "a corrected memory put back, its history deleted, its successor corrected since",
        _put_back("first", keep_history=False),
        victim="first",
    ),
    Edit(
        "a corrected memory put back, its history deleted, its successor live",
        _put_back("second", keep_history=False),
        victim="second",
    ),
    Edit(
        "the first revision put back, its history deleted",
        _put_back("trusted", keep_history=False),
        shown=Shown.OLD,
        victim="trusted",
    ),
    Edit(
        "a corrected memory put back, its history and its successors deleted",
        (
            *_put_back("first", keep_history=False),
            "DELETE FROM memory WHERE memory_id IN (%(second)s, %(third)s)",
        ),
        shown=Shown.OLD,
        victim="first",
    ),
    Edit("deleted", (f"DELETE FROM memory {_VICTIM}",), shown=Shown.GONE),
    Edit(
        "deleted with its vector and its postings",
        (
            (
                "DELETE FROM posting p USING memory v WHERE v.memory_id = %(victim)s AND p.doc_no = v.doc_no"
                " AND p.scope_no = %(scope_no)s"
            ),
            (
                "DELETE FROM memory_embedding e USING memory v WHERE v.memory_id = %(victim)s"
                " AND e.doc_no = v.doc_no AND e.scope_no = %(scope_no)s"
            ),
            f"DELETE FROM memory {_VICTIM}",
        ),
        shown=Shown.GONE,
    ),
]

EDITS: list[Edit] = [*CONTENT, *LABELS, *UNREADABLE, *FORGED, *PUT_BACK]
