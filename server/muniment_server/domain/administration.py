"""What operators do, as the audit trail tells it."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from .model import SourceType, TrustLevel


class AdministrativeAct(IntEnum):
    """What was done; the contract's numbers."""

    TENANT_CREATED = 1
    API_KEY_CREATED = 2
    API_KEY_REVOKED = 3
    MASTER_KEY_REWRAPPED = 4
    MASTER_KEY_RETIRED = 5
    SETTING_CHANGED = 6
    VIEW_CHANGED = 7
    EMBEDDING_CHANGE_STARTED = 8
    EMBEDDING_CHANGE_RELEASED = 9
    EMBEDDING_CHANGE_ABORTED = 10
    EMBEDDING_SWITCHED = 11


@dataclass(frozen=True, slots=True)
class Administered:
    """One act, and the API key, master key, setting or agent that it was about.

    `subject` is the label of the only subject that the API key may act for; it never reaches the trail, which
    names the subject's scope.
    """

    act: AdministrativeAct
    credential_id: UUID | None = None
    public_id: str = ""
    permissions: tuple[str, ...] = ()
    source_types: tuple[SourceType, ...] = ()
    max_trust: TrustLevel | None = None
    subject: str | None = field(default=None, repr=False)
    agent: str | None = None
    expire_time: datetime | None = None
    master_key_id: str = ""
    setting: str = ""
    value: str = ""
    """As JSON; empty: back to the default, or no bounds any more. Of a change of the model, both models."""
    policy_revision: int = 0
    policy_digest: bytes = b""


def administered_change(act: AdministrativeAct, before: str, after: str) -> Administered:
    """An act about a change of the embedding model, from one model to another by their names."""
    return Administered(act, value=json.dumps({"from": before, "to": after}))
