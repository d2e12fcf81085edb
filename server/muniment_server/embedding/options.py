"""What an embedder needs to be told beside its name, and the calibration of models that nobody measured."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from muniment_server.embedding.base import Calibration

CAUTIOUS: Final = Calibration(
    cosine_low=0.3, cosine_high=0.85, vector_weight=0.25, lexical_weight=0.75, min_score=0.12
)
"""For a model that we have not measured: most of the score comes from the words, a cosine counts late.

Models differ: unrelated English sentences lie at 0.0 with all-MiniLM-L6-v2, at 0.75 with raw E5. With too
low a `cosine_low` everything is relevant, with too high a one nothing is but by its words.
"""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NAMES = frozenset(
    {
        "url", "model", "dimension", "key_file", "timeout", "batch", "query_prefix", "passage_prefix",
        "max_characters", "cosine_low", "cosine_high", "vector_weight", "min_score",
    }
)  # fmt: skip


class OptionError(ValueError):
    """Options that cannot be used; the message names the option and holds neither keys nor texts."""


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """What an operator measured of a model; None keeps the cautious default. All between -1 and 1."""

    cosine_low: float | None = None
    cosine_high: float | None = None
    vector_weight: float | None = None
    min_score: float | None = None

    def apply(self, calibration: Calibration) -> Calibration:
        """The calibration with what is given. Raises OptionError for values that make no sense together."""
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        if "vector_weight" in given:
            given["lexical_weight"] = 1.0 - given["vector_weight"]
        made = replace(calibration, **given)
        if not -1 <= made.cosine_low < made.cosine_high <= 1:
            raise OptionError("cosine_low must be below cosine_high, both between -1 and 1")
        if not (0 < made.vector_weight < 1 and 0 <= made.min_score < 1):
            raise OptionError("vector_weight lies between 0 and 1, min_score from 0 to 1")
        return made


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """An OpenAI-compatible endpoint. url: up to and with the version, for example https://host/v1.

    timeout: seconds for one request. batch: texts in one request. max_characters: how much of a text is
    sent; what stands behind is left to the other legs.
    """

    url: str
    model: str
    dimension: int
    key: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    batch: int = 32
    query_prefix: str = ""
    passage_prefix: str = ""
    max_characters: int = 8_000
    calibration: CalibrationOptions = field(default_factory=CalibrationOptions)

    def __post_init__(self) -> None:
        """Refuse what no request could be made with."""
        parts = urlsplit(self.url)
        local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if not parts.hostname or not (parts.scheme == "https" or local):
            raise OptionError("url must begin with https:// (http:// only on loopback)")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise OptionError("url must not hold a user, a password or a query")
        if not self.model or len(self.model) > 128:
            raise OptionError("model must have 1 to 128 characters")
        if not 1 <= self.dimension <= 4000:
            raise OptionError("dimension must be 1 to 4000")
        if not (0 < self.timeout <= 600 and 1 <= self.batch <= 2048 and self.max_characters >= 100):
            raise OptionError("timeout, batch or max_characters is out of range")


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """Options of all embedders; each takes its own. threads: of one inference, None for a good number."""

    threads: int | None = None
    http: HttpOptions | None = None
    calibration: CalibrationOptions = field(default_factory=CalibrationOptions)


def read_http_options(path: Path) -> HttpOptions:
    """Read a TOML file with the options of an endpoint. Raises OptionError."""
    try:
        with path.open("rb") as file:
            given: Mapping[str, Any] = tomllib.load(file)
    except OSError as error:
        raise OptionError(f"{path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise OptionError(f"{path} is not valid TOML") from None
    unknown = sorted(given.keys() - _NAMES)
    if unknown:
        raise OptionError(f"{path} names an option {unknown[0]!r} that does not exist")
    values = dict(given)
    calibration = CalibrationOptions(
        **{f.name: values.pop(f.name) for f in fields(CalibrationOptions) if f.name in values}
    )
    key_file = values.pop("key_file", None)
    try:
        key = read_key(Path(key_file)) if key_file is not None else None
        return HttpOptions(**values, key=key, calibration=calibration)
    except TypeError:
        raise OptionError(f"{path} needs url, model and dimension, each of its own type") from None


def read_key(path: Path) -> str:
    """The key of an endpoint, in a file of its own. Raises OptionError."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise OptionError(f"the key file {path} cannot be read") from None
