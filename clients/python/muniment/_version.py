"""The version, as the installed distribution states it."""

from importlib import metadata
from typing import Final


def _installed() -> str:
    try:
        return metadata.version("muniment")
    except metadata.PackageNotFoundError:
        return "0+source"


__version__: Final = _installed()
