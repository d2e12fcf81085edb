"""Counting tokens as one model does, by its `tokenizer.json`, for the budget of packed contexts."""

from importlib import import_module
from pathlib import Path
from typing import Any

from muniment_server.domain.packing import ESTIMATE, Tokenizer


class TokenizerUnavailable(Exception):
    """The configured tokenizer cannot be used; the message is one line that says why."""


class ModelTokenizer:
    """Counts with a file of the `tokenizers` library. Its own special tokens are not counted."""

    def __init__(self, path: Path) -> None:
        """Load a file. Raises TokenizerUnavailable."""
        try:
            library = import_module("tokenizers")
        except ImportError:
            raise TokenizerUnavailable("MUNIMENT_TOKENIZER_FILE needs the package 'tokenizers'") from None
        try:
            self._tokenizer: Any = library.Tokenizer.from_file(str(path))
        except Exception as error:  # noqa: BLE001 - the library raises plain Exception
            raise TokenizerUnavailable(
                f"MUNIMENT_TOKENIZER_FILE: {path} is no tokenizer ({type(error).__name__})"
            ) from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.name = f"file:{path.stem}"

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids) if text else 0

    def least(self, content: str) -> int:
        """One for each word: no usual model joins words that white space parts."""
        return len(content.split())


def load_tokenizer(path: Path | None) -> Tokenizer:
    """The tokenizer of a file, or the estimate without one. Raises TokenizerUnavailable."""
    return ESTIMATE if path is None else ModelTokenizer(path)
