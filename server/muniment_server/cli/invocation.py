"""How this very program, and the Python it runs in, are called: for hints that can be copied."""

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path


def command() -> str:
    """`muniment` where a shell finds this one by that name, otherwise what finds it."""
    own = Path(sys.executable).with_name("muniment")
    if own.exists():
        return _word("muniment", own)
    return f"{_word(Path(sys.executable).name, Path(sys.executable))} -m muniment_server"


def python() -> str:
    """A Python with the client: this one, or where the client is not installed here, whichever has it."""
    own = Path(sys.executable)
    return _word("python", own) if find_spec("muniment") is not None else "python"


def _word(name: str, path: Path) -> str:
    found = shutil.which(name)
    # Not resolved: the Python of an environment is a link to one that has none of its packages.
    return name if found is not None and Path(found).absolute() == path.absolute() else shlex.quote(str(path))
