"""Counting with the tokenizer file of a model."""

from importlib.util import find_spec
from pathlib import Path
from uuid import UUID

import pytest

from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel
from muniment_server.domain.packing import ESTIMATE, PackItem, pack
from muniment_server.retrieval.model_tokenizer import ModelTokenizer, TokenizerUnavailable, load_tokenizer

installed = pytest.mark.skipif(find_spec("tokenizers") is None, reason="needs the package tokenizers")


def test_without_a_file_tokens_are_estimated() -> None:
    assert load_tokenizer(None) is ESTIMATE


@installed
def test_a_file_counts_and_the_budget_holds_by_its_count() -> None:
    from muniment_server.embedding.minilm import TOKENIZER

    tokenizer = load_tokenizer(TOKENIZER)
    assert isinstance(tokenizer, ModelTokenizer)
    assert tokenizer.count("") == 0
    assert tokenizer.count("likes green tea") == 3
    items = [
        PackItem(
            memory_id=UUID(int=number),
            kind=MemoryKind.FACT,
            trust=TrustLevel.HIGH,
            source_type=SourceType.USER_STATED,
            content=f"likes green tea in cup number {number}",
            rank=number,
        )
        for number in range(1, 60)
    ]
    packed = pack(items, 900, tokenizer=tokenizer)
    assert packed.tokenizer == tokenizer.name
    assert packed.tokens == tokenizer.count(packed.text) <= 900
    assert len(packed.packed) > 10
    for text in ("x" * 1000, "a b  c\nd", "don't stop", "Ünïcode 茶 tea", ""):
        assert tokenizer.least(text) <= tokenizer.count(text)


def test_a_file_that_is_none_says_so_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(TokenizerUnavailable, match="MUNIMENT_TOKENIZER_FILE") as failed:
        load_tokenizer(path)
    assert "\n" not in str(failed.value)
