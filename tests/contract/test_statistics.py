"""What scores tell of memories that a caller does not see: how many have a word, and nothing else of them."""

from typing import Any

import pytest

from contract.stored import Stored
from support.service import Caller, RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEXICAL: Any = ["RETRIEVAL_LEG_LEXICAL"]


async def _measured(caller: Caller, subject: str, query: str) -> tuple[set[str], float, float]:
    """The texts found, and raw score and score of the visible memory."""
    answer = await caller.recall(subject, query, legs=LEXICAL, min_score=0.0, explain=True)
    (one,) = [one for one in answer.memories if one.memory.content == "Contoso boat in the harbour."]
    texts = {one.memory.content for one in answer.memories}
    return texts, one.leg_scores[0].raw_score, one.score


async def test_scores_tell_of_hidden_memories_how_many_have_a_word_and_no_more(
    shared: RunningService, caller: Caller, stored: Stored
) -> None:
    hidden = {
        "none": [],
        "one": ["Contoso zircon ledger"],
        "two": ["Contoso zircon ledger", "Contoso zircon garden"],
        "others": ["Contoso zircon garden", "Contoso zircon violet"],
    }
    for subject, texts in hidden.items():
        await caller.write(subject, "Contoso boat in the harbour.", "A cat on the sofa.")
        for text in texts:
            await caller.write(subject, text, agent="a2")
    assert stored.count("memory") == 2 * len(hidden) + 5
    bound = shared.caller(caller.tenant, agent="a1")
    for query in ("Contoso", "Contoso zircon"):
        found = {subject: await _measured(bound, subject, query) for subject in hidden}
        for texts, _, _ in found.values():
            assert texts == {"Contoso boat in the harbour."}
        scores = {subject: found[subject][1:] for subject in hidden}
        # docs/security.md, "What scores tell of hidden memories": the count, and not the rest of a text.
        assert len({scores["none"], scores["one"], scores["two"]}) == 3
        assert scores["two"] == scores["others"]
    # A word that stands in hidden memories alone gives no hit, and is as unknown as one that stands nowhere.
    unknown = await bound.recall("none", "zircon", legs=LEXICAL, min_score=0.0)
    hit = await bound.recall("two", "zircon", legs=LEXICAL, min_score=0.0)
    assert [one.memory.content for one in hit.memories] == [one.memory.content for one in unknown.memories]
    assert list(hit.left_out) == list(unknown.left_out)
