"""Chinese word segmentation: jieba's dictionary and search mode, loaded quietly and offline."""

import threading
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

_lock = threading.Lock()
_tokenizer: Any = None
# Family names that begin few other words of three characters.
_FAMILY = frozenset(
    "王李张刘陈杨赵周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪"
    "田任姜范姚谭廖邹熊陆郝孔崔邱秦侯邵孟段钱汤尹黎乔贺赖龚"
)


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
            self.names = frozenset(_names(path))
            self.initialized = True

    tokenizer = OfflineTokenizer()
    tokenizer.initialize()
    return tokenizer


def _names(path: Path) -> Iterator[str]:
    """The people of a dictionary: what it calls names also has peaks, dynasties and thanks in it."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            word, _, rest = line.partition(" ")
            if rest.rstrip().endswith((" nr", " nrfg")) and (
                (len(word) == 3 and word[0] in _FAMILY) or (len(word) == 2 and word[0] in "老小阿")
            ):
                yield word


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


def pieces(run: str) -> Iterator[str]:
    """Yield the words of a run of Han characters, one behind the other; unknown ones by characters."""
    warm_up()
    return iter(_tokenizer.cut(run, HMM=False))


def is_name(word: str) -> bool:
    """Whether the dictionary has a word as the name of a person, and hardly as anything else."""
    return word in _tokenizer.names
