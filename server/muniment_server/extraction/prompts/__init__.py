"""Instructions and schemas for language models, one file per version. A version that was released is never
changed: what it made says so (`extracted_by`), and must be explainable later."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version. schema: JSON schema of the answer."""

    version: str
    instructions: str
    schema: Mapping[str, Any]


@cache
def load_prompt(task: str, version: str) -> Prompt:
    """The prompt `task-version`. Raises FileNotFoundError where there is none."""
    folder = resources.files(__package__)
    return Prompt(
        version,
        folder.joinpath(f"{task}-{version}.txt").read_text(encoding="utf-8"),
        json.loads(folder.joinpath(f"{task}-{version}.json").read_text(encoding="utf-8")),
    )
