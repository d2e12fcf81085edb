"""`muniment version`."""

import platform
from importlib import metadata

from .output import Json, print_json


def version(as_json: Json = False) -> None:
    """Print the versions of the service and of what it runs on."""
    from muniment_server.storage.migrate import load_migrations

    found = {
        "muniment": metadata.version("muniment-server"),
        "python": platform.python_version(),
        "schema": f"{len(load_migrations()):04d}",
    }
    if as_json:
        print_json(found)
    else:
        print(f"muniment {found['muniment']} (schema {found['schema']}, Python {found['python']})")
