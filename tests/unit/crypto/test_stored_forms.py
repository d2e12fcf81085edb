"""What is stored must stay readable: fixed keys give these values for ever.

A failure here means that every existing installation would lose its data. Make a new version beside the
old one instead of changing the expected values.
"""

from uuid import UUID

from muniment_server.crypto.key_rows import Slot, SlotKind
from muniment_server.crypto.master import LocalMasterKeys, WrappedKey
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.crypto.tenant_key import TenantKey

ROOT = bytes(range(32))
TENANT = UUID("018f3c00-0000-7000-8000-000000000001")
SCOPE = UUID("018f3c00-0000-8000-8000-000000000002")


def test_tenant_key() -> None:
    key = TenantKey(TENANT, ROOT)
    assert key.scope_id(1, "alice") == UUID("0655100a-e650-89d3-a10d-35b2ea3f9331")
    assert key.mac("p", b"d").hex() == "164d638c78de4b5ed7bf4875547ffec61e1e802b27c95b2e80c60b4f2d55eb7e"
    assert key.audit_mac(b"d").hex() == "6f482899fc37ae1d785634598fc1894923462642bc13e52837c38b9c63755046"
    assert key.open_token("ATVSGjZ4OKFBj3K4B6h5WJZHgXu0Q3ZpVBVQdwN66-uk", b"list") == b"page"


def test_scope_key() -> None:
    key = ScopeKey(TENANT, SCOPE, 3, ROOT)
    assert key.token_hashes(["word"]) == [8743288213058288471]
    assert key.statement_hash("text").hex() == "9d4a1e0f6553daff3de9982b25a29682"
    assert key.query_digest("text").hex() == "d6e54aa3fd0ddaa0f7b5f63d3db83069"
    assert key.seal(b"c").hex() == "9b23ff38bab850c32269bf0d7b0d4802e32ee9e50fba449162debca10ae6674b"
    element = key.set_element(b"s")
    assert element.hex() == "4bc96367e26283c9c05f31c252f2cc28da1947a2e15a079f030c3d37ffdd86e1"
    ciphertext = "013b0b5d7b2453da0d2bee9ec777e93a606cf6137389287f8a26265f584695cd36"
    assert key.decrypt(bytes.fromhex(ciphertext), "content", b"row") == b"text"
    digest = (
        "94d1df6c6bd30df75728650256139ebf37a24e64563db2a887e7f09df5a657d76ffe881714c7906f6e2a5c0ea7938bc7"
    )
    assert key.reveal_set(bytes.fromhex(digest), 1) == SetDigest.of([element])


async def test_master_key() -> None:
    keys = LocalMasterKeys([ROOT])
    assert keys.current_key_id == "9ba4f1a22e3f0ba2"
    assert (await keys.derive("p")).hex() == (
        "9ddc5e4eaa39372093a469b98b588e31e3b995295d2badfe8f7eefd59fe204d3"
    )
    wrapped = "bc7f10e79cd8aa82b1f60081521a8069b26f43c32d4ef73bc82164cb459d12"
    slot = Slot(SlotKind.SCOPE, TENANT, SCOPE, 3)
    opened = await keys.unwrap(WrappedKey(keys.current_key_id, bytes.fromhex(wrapped)), slot.aad())
    assert opened == b"key"
