"""Chinese word segmentation: jieba's dictionary and search mode, loaded quietly and offline."""

import threading
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

_lock = threading.Lock()
_tokenizer: Any = None


def _load() -> Any:
    with warnings.catch_warnings():
        # jieba 0.42 has invalid escape sequences and may import pkg_resources; under `-W error`
        # either of them would make the import fail.
        warnings.simplefilter("ignore")
        jieba: Any = import_module("jieba")
    # The library attaches a DEBUG handler on standard error to its own logger.
    jieba.default_logger.handlers.clear()
    jieba.setLogLevel(100)

    class OfflineTokenizer(jieba.Tokenizer):  # type: ignore[misc]
        """jieba without its cache file.

        jieba keeps a marshalled dictionary under a fixed name in the shared temporary directory. That
        needs a writable file system, and trusts whatever another user has put there.
        """

        def initialize(self, dictionary: str | None = None) -> None:
            path = Path(jieba.__file__).with_name("dict.txt")
            self.FREQ, self.total = self.gen_pfdict(path.open("rb"))
            self.initialized = True

    tokenizer = OfflineTokenizer()
    tokenizer.initialize()
    return tokenizer


def warm_up() -> None:
    """Load the dictionary: about a second and 100 MB, once per process. Safe from any thread."""
    global _tokenizer
    if _tokenizer is None:
        with _lock:
            if _tokenizer is None:
                _tokenizer = _load()


def words(run: str) -> Iterator[str]:
    """Yield the words of a run of Han characters, with the shorter words inside long ones.

    The hidden Markov model for unknown words stays off: its cost grows with the square of a run that
    the dictionary does not know, and the bigrams beside the words find those anyway.
    """
    warm_up()
    return iter(_tokenizer.cut_for_search(run, HMM=False))
