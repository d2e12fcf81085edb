"""Revisions and their seals; the change of a scope as one sealed step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.seal import revision_bytes, vector_bytes
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.domain.content import Content, pack_content, unpack_content
from muniment_server.domain.model import EmbeddingState, MemoryState, Revision, ScopeRow
from muniment_server.storage.database import Row, UnitOfWork
from muniment_server.storage.embeddings import EmbeddingRow, WaitingRow, insert_embeddings, insert_waiting
from muniment_server.storage.memories import (
    change_memory,
    index_tokens,
    insert_memories,
    replace_analysis,
    unindex_tokens,
    update_scope,
)

from .scoping import sealed_scope
from .vectors import ModelVector

CONTENT = "content"
_HISTORY = b"history"


def canonical_revision(tenant_id: UUID, revision: Revision) -> bytes:
    """The bytes that a revision's seal covers."""
    return revision_bytes(
        tenant_id=tenant_id,
        scope_id=revision.scope_id,
        key_epoch=revision.key_epoch,
        memory_id=revision.memory_id,
        revision=revision.revision,
        content_revision=revision.content_revision,
        doc_no=revision.doc_no,
        kind=revision.kind,
        state=revision.state,
        slot=revision.slot,
        agent=revision.agent,
        session=revision.session,
        tags=revision.tags,
        properties=revision.properties,
        source_type=revision.source_type,
        trust=revision.trust,
        confidence=revision.confidence,
        author=revision.author,
        author_agent=revision.author_agent,
        origin_session=revision.origin_session,
        turn_number=revision.turn_number,
        source_ref=revision.source_ref,
        valid_from=revision.valid_from,
        valid_to=revision.valid_to,
        create_time=revision.create_time,
        update_time=revision.update_time,
        expire_time=revision.expire_time,
        supersedes=revision.supersedes,
        superseded_by=revision.superseded_by,
        reinforce_count=revision.reinforce_count,
        reinforce_time=revision.reinforce_time,
        statement_hash=revision.statement_hash,
        term_count=revision.term_count,
        analyzer=revision.analyzer,
        content_ct=revision.content_ct,
    )


def sealed(key: ScopeKey, tenant_id: UUID, revision: Revision) -> Revision:
    """The revision with its seal made anew."""
    return replace(revision, seal=key.seal(canonical_revision(tenant_id, revision)))


def is_genuine(key: ScopeKey, tenant_id: UUID, revision: Revision) -> bool:
    """Whether the seal holds for this scope, this row and everything in it."""
    try:
        canonical = canonical_revision(tenant_id, revision)
    except ValueError:
        # A number that is not finite: nothing was ever sealed with it.
        return False
    return revision.key_epoch == key.epoch and key.verify_seal(canonical, revision.seal)


def encrypt_content(
    key: ScopeKey,
    memory_id: UUID,
    text: str,
    attributes: str | None,
    speaker: str | None,
    content_revision: int = 1,
    *,
    masked: str | None = None,
) -> bytes:
    """The ciphertext of a memory's content, bound to tenant, scope, epoch, memory and revision.

    masked: what the index sees instead of the text, if that is something else.
    """
    packed = pack_content(text, attributes, speaker, masked)
    return key.encrypt(packed, CONTENT, memory_id.bytes, content_revision.to_bytes(8))


def open_content(key: ScopeKey, revision: Revision) -> Content:
    """Text, attributes and speaker. Call it on genuine revisions only."""
    return unpack_content(
        key.decrypt(
            revision.content_ct, CONTENT, revision.memory_id.bytes, revision.content_revision.to_bytes(8)
        )
    )


def current_element(key: ScopeKey, seal: bytes) -> bytes:
    """What a current revision puts into its scope's set digest."""
    return key.set_element(seal)


def history_element(key: ScopeKey, seal: bytes) -> bytes:
    """What an earlier revision puts in; different, so that one cannot stand in for the other."""
    return key.set_element(_HISTORY + seal)


def embedding_row(key: ScopeKey, tenant_id: UUID, revision: Revision, made: ModelVector) -> EmbeddingRow:
    """What a model made of a revision's text, sealed."""
    seal = key.seal(
        vector_bytes(
            tenant_id=tenant_id,
            scope_id=revision.scope_id,
            memory_id=revision.memory_id,
            content_revision=revision.content_revision,
            model=made.model,
            dimension=made.dimension,
            state=made.state,
            vector=made.vector.to_binary() if made.vector is not None else b"",
        )
    )
    return EmbeddingRow(
        made.model_no, revision.doc_no, revision.content_revision, made.state, made.vector, seal
    )


def waiting_seal(key: ScopeKey, tenant_id: UUID, revision: Revision) -> bytes:
    """The seal of a row that waits for the vector of any model."""
    return key.seal(
        vector_bytes(
            tenant_id=tenant_id,
            scope_id=revision.scope_id,
            memory_id=revision.memory_id,
            content_revision=revision.content_revision,
            model="",
            dimension=0,
            state=EmbeddingState.PENDING,
            vector=b"",
        )
    )


class ScopeChange:
    """Everything that one transaction changes in one locked scope, sealed and stored together.

    Keeps the scope's statistics (live memories and their terms) and set digest exact.
    """

    def __init__(self, key: ScopeKey, tenant_id: UUID, scope: ScopeRow) -> None:
        self.key = key
        self._tenant_id = tenant_id
        self.scope = scope
        self._digest = key.reveal_set(scope.set_digest, scope.set_count)
        self._live_count = scope.live_count
        self._live_terms = scope.live_terms

    async def create(
        self, work: UnitOfWork, revisions: Sequence[Revision], frequencies: Mapping[UUID, Mapping[int, int]]
    ) -> list[Revision]:
        """Queue new memories and their postings; returns them sealed."""
        made = [sealed(self.key, self._tenant_id, revision) for revision in revisions]
        await insert_memories(work, made)
        live = [revision for revision in made if revision.state is MemoryState.ACTIVE]
        await index_tokens(
            work,
            self.scope.scope_no,
            [(one.doc_no, frequencies[one.memory_id], one.term_count) for one in live],
        )
        self._digest = self._digest.add(*(current_element(self.key, one.seal) for one in made))
        self._live_count += len(live)
        self._live_terms += sum(revision.term_count for revision in live)
        return made

    async def change(
        self,
        work: UnitOfWork,
        pairs: Sequence[tuple[Revision, Revision]],
        frequencies: Mapping[UUID, Mapping[int, int]] | None = None,
    ) -> list[tuple[Revision, Revision]]:
        """Queue changes of stored memories (before, after); returns the pairs with sealed afters.

        frequencies: token hash → frequency, of each memory that becomes ACTIVE.
        """
        made = [(before, sealed(self.key, self._tenant_id, after)) for before, after in pairs]
        for before, after in made:
            await change_memory(work, before, after)
            self._digest = self._digest.remove(current_element(self.key, before.seal))
            self._digest = self._digest.add(current_element(self.key, after.seal))
            if after.revision != before.revision:
                self._digest = self._digest.add(history_element(self.key, before.seal))
        retired = [
            before
            for before, after in made
            if before.state is MemoryState.ACTIVE and after.state is not MemoryState.ACTIVE
        ]
        await unindex_tokens(work, self.scope.scope_no, retired)
        self._live_count -= len(retired)
        self._live_terms -= sum(revision.term_count for revision in retired)
        raised = [
            after
            for before, after in made
            if before.state is not MemoryState.ACTIVE and after.state is MemoryState.ACTIVE
        ]
        await index_tokens(
            work,
            self.scope.scope_no,
            [(one.doc_no, (frequencies or {})[one.memory_id], one.term_count) for one in raised],
        )
        self._live_count += len(raised)
        self._live_terms += sum(revision.term_count for revision in raised)
        return made

    async def reanalyse(
        self, work: UnitOfWork, derived: Sequence[tuple[Revision, Revision, Mapping[int, int]]]
    ) -> None:
        """Queue new terms of memories (before, after, token hash → frequency); revisions stay the same."""
        pairs = [
            (before, sealed(self.key, self._tenant_id, after), terms) for before, after, terms in derived
        ]
        live = [(before, after, terms) for before, after, terms in pairs if after.state is MemoryState.ACTIVE]
        await unindex_tokens(work, self.scope.scope_no, [before for before, _, _ in live])
        for before, after, _ in pairs:
            await replace_analysis(work, after)
            self._digest = self._digest.remove(current_element(self.key, before.seal))
            self._digest = self._digest.add(current_element(self.key, after.seal))
        await index_tokens(
            work,
            self.scope.scope_no,
            [(after.doc_no, terms, after.term_count) for _, after, terms in live],
        )
        self._live_terms += sum(after.term_count - before.term_count for before, after, _ in live)

    async def embed(
        self, work: UnitOfWork, vectors: Sequence[tuple[Revision, Sequence[ModelVector]]]
    ) -> None:
        """Queue what models made of new texts, and for models in use that made nothing yet that it waits."""
        rows: list[EmbeddingRow] = []
        waiting: dict[tuple[int, ...], list[WaitingRow]] = {}
        for revision, made in vectors:
            rows += [embedding_row(self.key, self._tenant_id, revision, one) for one in made]
            waiting.setdefault(tuple(one.model_no for one in made), []).append(
                WaitingRow(
                    revision.doc_no,
                    revision.content_revision,
                    waiting_seal(self.key, self._tenant_id, revision),
                )
            )
        await insert_embeddings(work, self.scope.scope_no, rows)
        for given, documents in waiting.items():
            await insert_waiting(work, self.scope.scope_no, given, documents)

    def forget(self, current: Sequence[Revision], history_seals: Sequence[bytes]) -> None:
        """Take erased memories and their history out of statistics and digest."""
        self._digest = self._digest.remove(
            *(current_element(self.key, revision.seal) for revision in current),
            *(history_element(self.key, seal) for seal in history_seals),
        )
        live = [revision for revision in current if revision.state is MemoryState.ACTIVE]
        self._live_count -= len(live)
        self._live_terms -= sum(revision.term_count for revision in live)

    def recount(
        self, erased: Sequence[Revision], history_seals: Sequence[bytes], remaining: Sequence[Row]
    ) -> None:
        """Take erased memories out that are not all genuine, so that their own numbers say nothing.

        `remaining` are the rows that are left (seal, state, term_count, history). The statistics become
        theirs. The digest becomes theirs where what was erased explains the whole difference: the rows
        stood in the set with the seals that they had, or had never been in it. Otherwise something else is
        wrong as well, and the digest goes on telling it.
        """
        live = [row for row in remaining if not row["history"] and row["state"] == MemoryState.ACTIVE]
        self._live_count = len(live)
        self._live_terms = sum(row["term_count"] or 0 for row in live)
        rest = SetDigest.of(
            (history_element if row["history"] else current_element)(self.key, row["seal"] or b"")
            for row in remaining
        )
        gone = SetDigest.of(
            (
                *(current_element(self.key, revision.seal) for revision in erased),
                *(history_element(self.key, seal) for seal in history_seals),
            )
        )
        if self._digest in (rest, rest.combine(gone)):
            self._digest = rest
            return
        for revision in erased:
            if self._digest.count and is_genuine(self.key, self._tenant_id, revision):
                self._digest = self._digest.remove(current_element(self.key, revision.seal))

    async def close(self, work: UnitOfWork, now: datetime, next_doc: int | None = None) -> ScopeRow:
        """Queue the scope's new state, one generation further."""
        after = replace(
            self.scope,
            generation=self.scope.generation + 1,
            live_count=self._live_count,
            live_terms=self._live_terms,
            next_doc=self.scope.next_doc if next_doc is None else next_doc,
            set_count=self._digest.count,
            set_digest=self.key.hide_set(self._digest),
        )
        after = sealed_scope(self.key, self._tenant_id, after)
        await update_scope(work, after, now)
        return after
