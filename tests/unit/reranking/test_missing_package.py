"""Without its packages a cross-encoder is refused at the start, with a word on what is missing."""

from importlib.util import find_spec

import pytest

from muniment_server.config import ConfigError, Settings
from muniment_server.reranking.factory import configured_reranker


@pytest.mark.skipif(find_spec("torch") is not None, reason="the packages are there")
def test_it_says_which_extra_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"MUNIMENT_RERANK_MODEL.*sentence-transformers.*missing: torch"):
        configured_reranker(Settings(rerank="cross-encoder", rerank_model="some-model"))
