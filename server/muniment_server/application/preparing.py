"""Turns validated items into what a transaction can store: stamped, embedded, hashed, encrypted."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.domain.errors import FieldViolation, InvalidRequest, SourceNotAllowed
from muniment_server.domain.gates.screening import Screened
from muniment_server.domain.ids import new_id
from muniment_server.domain.model import DEFAULT_TRUST, MemoryKind, NewMemory, Provenance, SourceType
from muniment_server.domain.statement import check_text, normalise_statement, statement_form
from muniment_server.domain.write_plan import PreparedItem
from muniment_server.identity.principal import CallContext
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.indexing import IndexTerms, index_terms

from .sealing import encrypt_content
from .vectors import ItemVector

_INLINE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """An item and its vector."""

    item: PreparedItem
    vector: ItemVector


def check_items(items: Sequence[NewMemory], path: str = "items[{}]") -> None:
    """Refuse text that cannot be stored unaltered. Raises InvalidRequest naming every field at fault."""
    violations = []
    for index, item in enumerate(items):
        refusal = check_text(item.content)
        if refusal is not None:
            violations.append(
                FieldViolation(path.format(index) + ".content", str(refusal), refusal.description)
            )
        elif not normalise_statement(item.content):
            violations.append(
                FieldViolation(path.format(index) + ".content", "text.not_blank", "must not be blank")
            )
    if violations:
        raise InvalidRequest(violations)


def stamp(context: CallContext, item: NewMemory, index: int, session: str | None = None) -> Provenance:
    """The provenance of an item: what the credential allows, lowered by what the item claims.

    session: that of the scope. A turn that lives in one and names no other was said in it; it has its
    neighbours there.
    Raises SourceNotAllowed. An item that names no source gets the weakest one of the credential.
    """
    principal = context.principal
    claimed = item.provenance
    source = claimed.source_type
    if source is None:
        source = weakest(principal.source_types)
    if source is None or source not in principal.source_types:
        raise SourceNotAllowed((source or SourceType.AGENT_INFERRED).name, index)
    trust = min(DEFAULT_TRUST[source], principal.max_trust)
    if claimed.trust is not None:
        trust = min(trust, claimed.trust)
    return Provenance(
        source_type=source,
        trust=trust,
        confidence=claimed.confidence,
        session=claimed.session or (session if item.kind is MemoryKind.TURN else None),
        source_ref=claimed.source_ref,
        author=str(principal.credential_id),
        author_agent=principal.agent,
    )


def weakest(allowed: frozenset[SourceType]) -> SourceType | None:
    """The source type that is believed least of some; None of none."""
    if SourceType.AGENT_INFERRED in allowed:
        return SourceType.AGENT_INFERRED
    return max(allowed, key=lambda source: (-DEFAULT_TRUST[source], source), default=None)


async def analyse(items: Sequence[NewMemory]) -> list[IndexTerms]:
    """What the index holds of each item; long texts leave the event loop alone."""

    def count() -> list[IndexTerms]:
        return [index_terms(item.indexed, item.speaker) for item in items]

    if sum(len(item.content) for item in items) > _INLINE_CHARACTERS:
        return await asyncio.to_thread(count)
    return count()


def prepare(
    key: ScopeKey,
    screened: Sequence[Screened],
    analysed: Sequence[IndexTerms],
    vectors: Sequence[ItemVector],
) -> list[Prepared]:
    """Hash and encrypt under the scope's key. Cheap enough to be done again with another key."""
    prepared = []
    for one, terms, vector in zip(screened, analysed, vectors, strict=True):
        item, provenance = one.item, one.provenance
        terms = terms.with_slot(item.slot)
        memory_id = new_id()
        hashes = key.token_hashes(list(terms.frequencies))
        prepared.append(
            Prepared(
                PreparedItem(
                    memory_id=memory_id,
                    kind=item.kind,
                    slot=item.slot,
                    tags=item.tags,
                    properties=item.properties,
                    provenance=provenance,
                    validity=item.validity,
                    expire_time=item.expire_time,
                    ttl=item.ttl,
                    statement_hash=key.statement_hash(
                        statement_form(
                            item.content, item.speaker, turn_of(provenance.session, item.turn_number)
                        )
                    ),
                    content_ct=encrypt_content(
                        key, memory_id, item.content, item.attributes, item.speaker, masked=item.masked
                    ),
                    frequencies=dict(zip(hashes, terms.frequencies.values(), strict=True)),
                    term_count=terms.length,
                    analyzer=ANALYZER_VERSION,
                    turn_number=item.turn_number,
                    state=one.state,
                    rule=one.rule or None,
                    redacted=one.redacted,
                    in_place_of=one.in_place_of,
                ),
                vector,
            )
        )
    return prepared


def turn_of(session: str | None, number: int | None) -> tuple[str | None, int] | None:
    """Which turn of which session a memory is, or None for one that is no numbered turn."""
    return None if number is None else (session, number)


def check_expiry(items: Sequence[NewMemory], now: datetime, path: str = "items[{}]") -> None:
    """Refuse an expiry that has passed. Raises InvalidRequest."""
    violations = [
        FieldViolation(path.format(index) + ".expire_time", "time.future", "must lie in the future")
        for index, item in enumerate(items)
        if item.expire_time is not None and item.expire_time <= now
    ]
    if violations:
        raise InvalidRequest(violations)
