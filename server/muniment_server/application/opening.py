"""A stored revision opened for a caller: held against its seal, decrypted."""

from muniment_server.crypto.errors import CiphertextInvalid
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import Memory, Revision, ScopeKind

from .sealing import is_genuine, open_content
from .views import to_memory


def opened_memory(
    key: ScopeKey,
    tenant_key: TenantKey,
    revision: Revision,
    kind: ScopeKind,
    label: str,
    *,
    full: bool = True,
) -> Memory | None:
    """The caller's view of a revision, or None when its seal does not hold. full: with what is encrypted."""
    try:
        if not is_genuine(key, tenant_key.tenant_id, revision):
            return None
        content, attributes, speaker = open_content(key, revision)[:3] if full else (None, None, None)
    except (CiphertextInvalid, ValueError):
        return None
    return to_memory(tenant_key, revision, kind, label, content, attributes, speaker)
