"""Verification of a scope: seals, the set of its rows, statistics, vectors, index; with `deep` contents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from muniment_server.application.preparing import turn_of
from muniment_server.application.scoping import scope_canonical, scope_number
from muniment_server.application.sealing import (
    current_element,
    history_element,
    is_genuine,
    open_content,
)
from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.seal import vector_bytes
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.domain.model import EmbeddingState, MemoryState, Revision, ScopeRow
from muniment_server.domain.statement import statement_form
from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.indexing import index_terms
from muniment_server.storage.database import UnitOfWork
from muniment_server.storage.verification import (
    Postings,
    StoredModel,
    StoredVector,
    history,
    memories,
    postings,
    vectors,
)

from .findings import FindingKind, TenantReport

_MEMORIES = 500
_POSTING_DOCUMENTS = 10_000
_LAST_DOCUMENT = 2**31 - 1
_BEFORE_FIRST = -(2**31)
_MOST_FREQUENT = 32_767


@dataclass(frozen=True, slots=True)
class Derived:
    """What the text of a memory gives: token hash → frequency, and the number of terms."""

    frequencies: Mapping[int, int]
    terms: int


class ScopeCheck:
    """One pass over a scope in one snapshot; notes what it finds in the report."""

    def __init__(
        self,
        work: UnitOfWork,
        key: ScopeKey,
        scope: ScopeRow,
        stored_number: int,
        models: Mapping[int, StoredModel],
        report: TenantReport,
        *,
        deep: bool,
    ) -> None:
        self._work = work
        self._key = key
        self._scope = scope
        self._stored_number = stored_number
        self._models = models
        self._used = [number for number, model in models.items() if model.in_use]
        self._report = report
        self._deep = deep
        self._set = SetDigest()
        self._live = 0
        self._live_terms = 0
        self._highest = 0
        self._postings: dict[int, Postings] = {}
        self._postings_to = _BEFORE_FIRST

    async def run(self) -> None:
        """Check everything."""
        scope, report = self._scope, self._report
        report.scopes += 1
        if not self._key.verify_seal(scope_canonical(self._work.tenant_id, scope), scope.seal):
            self._add(FindingKind.SCOPE_SEAL, "the row of the scope is not what the service sealed")
        after = _BEFORE_FIRST
        while True:
            page = await memories(self._work, scope.scope_id, after, _MEMORIES)
            full = len(page) == _MEMORIES
            last = page[-1].doc_no if full else _LAST_DOCUMENT
            await self._documents(page, after, last)
            if not full:
                break
            after = last
        self._statistics()

    def _add(self, kind: FindingKind, detail: str, *memory_ids: UUID) -> None:
        self._report.add(kind, detail, scope_id=self._scope.scope_id, memory_ids=memory_ids)

    # --- documents --------------------------------------------------------------------------------

    async def _documents(self, page: Sequence[Revision], after: int, last: int) -> None:
        by_document = {one.doc_no: one for one in page}
        earlier: dict[UUID, list[Revision]] = {one.memory_id: [] for one in page}
        for revision in await history(self._work, list(earlier)) if page else []:
            earlier[revision.memory_id].append(revision)
        for memory in page:
            await self._memory(memory, earlier[memory.memory_id])
        present = set()
        for vector in await vectors(self._work, self._scope.scope_no, after, last):
            self._vector(vector, by_document.get(vector.doc_no), earlier)
            present.add((vector.model_no, vector.doc_no, vector.content_revision))
        for memory in page:
            for number in self._used:
                if (number, memory.doc_no, memory.content_revision) not in present:
                    self._add(
                        FindingKind.VECTOR_MISSING,
                        "nothing is stored of what the embedding model made of the text",
                        memory.memory_id,
                    )
        await self._index_beyond(by_document, after, last)

    async def _memory(self, memory: Revision, earlier: Sequence[Revision]) -> None:
        self._report.memories += 1
        self._highest = max(self._highest, memory.doc_no)
        genuine = is_genuine(self._key, self._work.tenant_id, memory)
        if not genuine:
            self._add(
                FindingKind.MEMORY_SEAL,
                f"revision {memory.revision} is not what the service sealed",
                memory.memory_id,
            )
        self._set = self._set.add(current_element(self._key, memory.seal))
        if memory.state is MemoryState.ACTIVE:
            self._live += 1
            self._live_terms += memory.term_count
        for revision in earlier:
            self._report.revisions += 1
            self._set = self._set.add(history_element(self._key, revision.seal))
            if not is_genuine(self._key, self._work.tenant_id, revision):
                self._add(
                    FindingKind.REVISION_SEAL,
                    f"revision {revision.revision} is not what the service sealed",
                    memory.memory_id,
                )
            elif self._deep:
                self._derive(revision)
        numbers = [one.revision for one in earlier]
        if len(numbers) != memory.revision - 1 or numbers != list(range(1, len(numbers) + 1)):
            self._add(
                FindingKind.REVISION_ORDER,
                f"revision {memory.revision} is current, and the earlier ones are not 1 to "
                f"{memory.revision - 1}",
                memory.memory_id,
            )
        derived = self._derive(memory) if self._deep and genuine else None
        await self._index(memory, derived)

    def _vector(
        self, vector: StoredVector, memory: Revision | None, earlier: Mapping[UUID, Sequence[Revision]]
    ) -> None:
        waits = vector.state == EmbeddingState.PENDING and vector.vector is None
        self._report.vectors += vector.vector is not None
        model = self._models.get(vector.model_no)
        if memory is None or model is None:
            self._add(FindingKind.VECTOR_STRAY, f"a vector of document {vector.doc_no} belongs to nothing")
            return
        revisions = {memory.content_revision, *(one.content_revision for one in earlier[memory.memory_id])}
        if vector.content_revision not in revisions:
            self._add(
                FindingKind.VECTOR_STRAY,
                f"a vector belongs to content revision {vector.content_revision}, which there is not",
                memory.memory_id,
            )
            return
        if waits and model.in_use:
            self._report.vectors_waiting += 1
        canonical = vector_bytes(
            tenant_id=self._work.tenant_id,
            scope_id=self._scope.scope_id,
            memory_id=memory.memory_id,
            content_revision=vector.content_revision,
            model="" if waits else model.name,
            dimension=0 if waits else model.dimension,
            state=vector.state,
            vector=vector.vector.to_binary() if vector.vector is not None else b"",
        )
        if not self._key.verify_seal(canonical, vector.seal):
            self._add(
                FindingKind.VECTOR_SEAL,
                f"the vector of model {model.name} is not what the service sealed",
                memory.memory_id,
            )

    # --- the lexical index ----------------------------------------------------------------------------

    async def _index(self, memory: Revision, derived: Derived | None) -> None:
        if memory.doc_no > self._postings_to:
            # From where the last window ended: documents that were erased leave gaps that must be empty.
            after, self._postings_to = (
                self._postings_to,
                min(memory.doc_no + _POSTING_DOCUMENTS, _LAST_DOCUMENT),
            )
            self._postings |= await postings(self._work, self._scope.scope_no, after, self._postings_to)
        entries = self._postings.pop(memory.doc_no, None)
        if memory.state is not MemoryState.ACTIVE:
            if entries is not None:
                self._add(
                    FindingKind.POSTINGS, "a memory that is not live stands in the index", memory.memory_id
                )
            return
        fault = _fault(memory, entries, derived)
        if fault:
            self._add(FindingKind.POSTINGS, fault, memory.memory_id)

    async def _index_beyond(self, by_document: Mapping[int, Revision], after: int, last: int) -> None:
        """Entries of documents that there are not, up to the last document of this page."""
        if last == _LAST_DOCUMENT:
            self._postings |= await postings(
                self._work, self._scope.scope_no, max(self._postings_to, after), last
            )
            self._postings_to = last
        elif not by_document:
            return
        for document in sorted(number for number in self._postings if number <= last):
            del self._postings[document]
            self._add(FindingKind.POSTINGS, f"the index has document {document}, which there is not")

    # --- contents ---------------------------------------------------------------------------------------

    def _derive(self, revision: Revision) -> Derived | None:
        """Open a genuine revision and derive what its text gives."""
        try:
            content = open_content(self._key, revision)
        except (CiphertextInvalid, ValueError):
            self._add(FindingKind.CONTENT, f"revision {revision.revision} does not open", revision.memory_id)
            return None
        turn = turn_of(revision.origin_session, revision.turn_number)
        if (
            self._key.statement_hash(statement_form(content.text, content.speaker, turn))
            != revision.statement_hash
        ):
            self._add(
                FindingKind.CONTENT,
                f"the statement hash of revision {revision.revision} is not that of its text",
                revision.memory_id,
            )
        if revision.analyzer != ANALYZER_VERSION:
            self._report.not_derived += 1
            return None
        counted = index_terms(content.indexed, content.speaker, revision.slot)
        hashes = self._key.token_hashes(list(counted.frequencies))
        derived = Derived(dict(zip(hashes, counted.frequencies.values(), strict=True)), counted.length)
        if derived.terms != revision.term_count or set(hashes) != set(revision.tokens):
            self._add(
                FindingKind.CONTENT,
                f"the tokens of revision {revision.revision} are not those of its text",
                revision.memory_id,
            )
        return derived

    # --- the scope as a whole -----------------------------------------------------------------------------

    def _statistics(self) -> None:
        scope = self._scope
        difference = self._set.count - scope.set_count
        try:
            same = self._key.reveal_set(scope.set_digest, scope.set_count) == self._set
        except CiphertextInvalid:
            same = False
        if not same:
            self._add(
                FindingKind.SCOPE_SET,
                f"{abs(difference)} rows too {'many' if difference > 0 else 'few'}: rows were "
                f"{'inserted or put back' if difference > 0 else 'deleted'}"
                if difference
                else "as many rows as there should be, but other ones: rows were exchanged or put back",
            )
        for name, found, expected in (
            ("live_count", scope.live_count, self._live),
            ("live_terms", scope.live_terms, self._live_terms),
            ("scope_no", self._stored_number, scope_number(scope.scope_id)),
        ):
            if found != expected:
                self._add(FindingKind.SCOPE_STATISTICS, f"{name} is {found} and should be {expected}")
        if self._highest >= scope.next_doc:
            self._add(
                FindingKind.SCOPE_STATISTICS,
                f"next_doc is {scope.next_doc}, and document {self._highest} exists",
            )


def _fault(memory: Revision, entries: Postings | None, derived: Derived | None) -> str | None:
    """What is wrong with the index entries of a live memory."""
    if entries is None:
        return "a live memory does not stand in the index" if memory.tokens else None
    if (entries.least_terms, entries.most_terms) != (memory.term_count, memory.term_count):
        return "the index has another length for the memory"
    if len(entries.tokens) != len(memory.tokens) or set(entries.tokens) != set(memory.tokens):
        return "the index has other tokens for the memory"
    if derived is not None:
        expected = {token: min(count, _MOST_FREQUENT) for token, count in derived.frequencies.items()}
        if dict(zip(entries.tokens, entries.frequencies, strict=True)) != expected:
            return "the index has other frequencies for the memory than its text"
    elif max(entries.frequencies, default=0) > max(memory.term_count, 1):
        # Marks stand beside the terms without counting as such, so only single entries can be judged.
        return "the index has higher frequencies for the memory than it has terms"
    return None
