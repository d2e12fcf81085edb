"""Whether a recorded erasure is what the service recorded: its receipt signed, or waiting to be."""

import hmac
from collections.abc import Mapping

from muniment_server.audit.canonical import CanonicalError, parse_canonical
from muniment_server.crypto.signing import verify_receipt
from muniment_server.crypto.tenant_key import TenantKey
from muniment_server.domain.model import ErasureState
from muniment_server.storage.erasures import ErasureRow


def pending_mac(key: TenantKey, row: ErasureRow) -> bytes:
    """What stands for the signature of a receipt that waits for its keys."""
    if row.scope_id is None or row.key_epoch is None:
        raise ValueError("only an erasure of a scope waits for its keys")
    bound = row.erasure_id.bytes + row.scope_id.bytes + row.key_epoch.to_bytes(8)
    return key.mac("pending-erasure", bound + row.receipt)


def is_pending(key: TenantKey, row: ErasureRow) -> bool:
    """Whether the service recorded this erasure, which waits for its keys."""
    if row.signature is None or row.scope_id is None or row.key_epoch is None:
        return False
    return hmac.compare_digest(row.signature, pending_mac(key, row))


def is_genuine_receipt(key: TenantKey, public_keys: Mapping[str, bytes], row: ErasureRow) -> bool:
    """Whether a stored receipt is of this erasure, and signed by this installation or waiting to be."""
    try:
        facts = parse_canonical(row.receipt)
    except CanonicalError:
        return False
    if (facts.get("tenant_id"), facts.get("erasure_id")) != (str(key.tenant_id), str(row.erasure_id)):
        return False
    said = (facts.get("state"), facts.get("target_kind"), facts.get("scope_id"))
    if said != (int(row.state), int(row.target), str(row.scope_id) if row.scope_id else None):
        return False
    if row.state is ErasureState.PENDING:
        return is_pending(key, row)
    public = public_keys.get(str(facts.get("signing_key_id")))
    return (
        public is not None
        and row.signature is not None
        and verify_receipt(public, row.receipt, row.signature)
    )
