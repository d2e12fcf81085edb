"""What the keys of tenants and scopes do, and that nothing crosses from one place to another."""

import copy
import os
import pickle
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_server.crypto.derivation import derive_key
from muniment_server.crypto.errors import CiphertextInvalid, TokenInvalid
from muniment_server.crypto.framing import frame
from muniment_server.crypto.scope_key import ScopeKey
from muniment_server.crypto.set_digest import SetDigest
from muniment_server.crypto.tenant_key import TenantKey

ROOT = bytes(range(32))
TENANT = UUID("018f3c00-0000-7000-8000-000000000001")
SCOPE = UUID("018f3c00-0000-8000-8000-000000000002")


@pytest.fixture(scope="module")
def tenant() -> TenantKey:
    return TenantKey(TENANT, ROOT)


@pytest.fixture(scope="module")
def scope() -> ScopeKey:
    return ScopeKey(TENANT, SCOPE, 3, ROOT)


OTHERS = [
    ScopeKey(TENANT, SCOPE, 3, bytes(32)),
    ScopeKey(TENANT, SCOPE, 4, ROOT),
    ScopeKey(TENANT, uuid4(), 3, ROOT),
    ScopeKey(uuid4(), SCOPE, 3, ROOT),
]


@given(st.lists(st.binary(max_size=6), max_size=5), st.lists(st.binary(max_size=6), max_size=5))
def test_framing_never_confuses_two_lists(one: list[bytes], two: list[bytes]) -> None:
    assert (frame(*one) == frame(*two)) == (one == two)


def test_derivation_is_hkdf_sha256() -> None:
    # RFC 5869, appendix A.3: no salt, no info.
    assert derive_key(b"\x0b" * 22, "", b"", 42).hex() == (
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    )


class TestTenantKey:
    def test_scope_id_is_a_keyed_uuid_of_version_8(self, tenant: TenantKey) -> None:
        scope_id = tenant.scope_id(1, "alice")
        assert scope_id == tenant.scope_id(1, "alice")
        assert scope_id.version == 8
        assert scope_id.variant == "specified in RFC 4122"
        different = {
            scope_id,
            tenant.scope_id(2, "alice"),
            tenant.scope_id(1, "Alice"),
            tenant.scope_id(1, "alice "),
            tenant.scope_id(1, "alic%"),
            TenantKey(TENANT, bytes(32)).scope_id(1, "alice"),
            TenantKey(uuid4(), ROOT).scope_id(1, "alice"),
        }
        assert len(different) == 7

    def test_half_a_surrogate_pair_is_no_label(self, tenant: TenantKey) -> None:
        with pytest.raises(UnicodeEncodeError):
            tenant.scope_id(1, "\ud83d")

    def test_macs_differ_by_purpose_data_and_tenant(self, tenant: TenantKey) -> None:
        values = {
            tenant.mac("a", b"bc"),
            tenant.mac("ab", b"c"),
            tenant.mac("a", b"bd"),
            tenant.audit_mac(b"bc"),
            TenantKey(uuid4(), ROOT).mac("a", b"bc"),
        }
        assert len(values) == 5
        assert all(len(value) == 32 for value in values)
        assert tenant.mac("a", b"bc") == TenantKey(TENANT, ROOT).mac("a", b"bc")

    @given(st.binary(max_size=200), st.binary(max_size=50))
    def test_tokens_open_in_their_context(self, plaintext: bytes, context: bytes) -> None:
        tenant = TenantKey(TENANT, ROOT)
        token = tenant.seal_token(plaintext, context)
        assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        assert tenant.open_token(token, context) == plaintext
        with pytest.raises(TokenInvalid):
            tenant.open_token(token, context + b"x")
        with pytest.raises(TokenInvalid):
            TenantKey(uuid4(), ROOT).open_token(token, context)

    def test_every_change_of_a_token_is_noticed(self, tenant: TenantKey) -> None:
        token = tenant.seal_token(b"page 2", b"list")
        for position, character in enumerate(token):
            for other in ("A", "B", "_", "+", "=", "\u00e9"):
                if other != character:
                    with pytest.raises(TokenInvalid):
                        tenant.open_token(token[:position] + other + token[position + 1 :], b"list")

    @pytest.mark.parametrize("token", ["", "A", "====", "AA" * 20, "\x00", "\ud83d", "é", "A" * 4000, " \n"])
    def test_rubbish_is_no_token(self, tenant: TenantKey, token: str) -> None:
        with pytest.raises(TokenInvalid) as caught:
            tenant.open_token(token, b"")
        assert str(caught.value) == "the token is not valid here"

    def test_a_token_has_one_spelling(self, tenant: TenantKey) -> None:
        token = tenant.seal_token(b"x", b"")
        for other in (token + "=", token + "==", token + "\n", " " + token):
            with pytest.raises(TokenInvalid):
                tenant.open_token(other, b"")


class TestScopeKey:
    @given(st.binary(max_size=300))
    def test_ciphertext_opens_in_its_place_only(self, plaintext: bytes) -> None:
        key = ScopeKey(TENANT, SCOPE, 3, ROOT)
        row = (uuid4().bytes, b"1")
        sealed = key.encrypt(plaintext, "content", *row)
        assert len(sealed) == len(plaintext) + 29
        assert key.decrypt(sealed, "content", *row) == plaintext
        assert key.encrypt(plaintext, "content", *row) != sealed
        for kind, place in (
            ("label", row),
            ("content", (row[0],)),
            ("content", (row[0], b"2")),
            ("content", (row[0] + b"1",)),
            ("content", (*row, b"")),
        ):
            with pytest.raises(CiphertextInvalid):
                key.decrypt(sealed, kind, *place)
        for other in OTHERS:
            with pytest.raises(CiphertextInvalid):
                other.decrypt(sealed, "content", *row)

    def test_every_changed_bit_is_noticed(self, scope: ScopeKey) -> None:
        sealed = scope.encrypt(b"a text", "content", b"row")
        for bit in range(8 * len(sealed)):
            changed = bytearray(sealed)
            changed[bit // 8] ^= 1 << bit % 8
            with pytest.raises(CiphertextInvalid):
                scope.decrypt(bytes(changed), "content", b"row")
        for cut in range(len(sealed)):
            with pytest.raises(CiphertextInvalid):
                scope.decrypt(sealed[:cut], "content", b"row")

    def test_token_hashes_are_signed_64_bit_in_order(self, scope: ScopeKey) -> None:
        words = [f"word{number}" for number in range(500)] + ["仓库", "ถั่วลิสง", ""]
        hashes = scope.token_hashes(words)
        assert len(set(hashes)) == len(words)
        assert all(-(1 << 63) <= value < 1 << 63 for value in hashes)
        assert any(value < 0 for value in hashes)
        assert scope.token_hashes(words[::-1]) == hashes[::-1]
        assert scope.token_hashes([]) == []
        assert ScopeKey(TENANT, SCOPE, 3, ROOT).token_hashes(words) == hashes

    def test_the_same_word_in_two_scopes_has_two_hashes(self, scope: ScopeKey) -> None:
        words = [f"word{number}" for number in range(100)]
        for other in OTHERS:
            assert not set(scope.token_hashes(words)) & set(other.token_hashes(words))

    def test_digests_have_keys_of_their_own(self, scope: ScopeKey) -> None:
        text = "the same text"
        values = [
            scope.statement_hash(text),
            scope.query_digest(text),
            scope.seal(text.encode())[:16],
            scope.set_element(text.encode())[:16],
        ]
        assert len(set(values)) == 4
        assert len(scope.statement_hash(text)) == len(scope.query_digest(text)) == 16
        for other in OTHERS:
            assert other.statement_hash(text) != scope.statement_hash(text)
            assert other.query_digest(text) != scope.query_digest(text)
            assert other.seal(b"x") != scope.seal(b"x")
            assert other.set_element(b"x") != scope.set_element(b"x")

    def test_seals(self, scope: ScopeKey) -> None:
        seal = scope.seal(b"canonical")
        assert len(seal) == 32
        assert scope.verify_seal(b"canonical", seal)
        assert not scope.verify_seal(b"canonicaL", seal)
        for wrong in (b"", seal[:-1], seal + b"\x00", bytes(32)):
            assert not scope.verify_seal(b"canonical", wrong)
        assert not any(other.verify_seal(b"canonical", seal) for other in OTHERS)

    def test_a_stored_set_digest_shows_nothing(self, scope: ScopeKey) -> None:
        digest = SetDigest.of([scope.set_element(b"a"), scope.set_element(b"b")])
        stored = [scope.hide_set(digest) for _ in range(20)]
        assert len({value[16:] for value in stored}) == 20
        assert all(len(value) == 48 and scope.reveal_set(value, 2) == digest for value in stored)
        # Without the mask the difference of two stored digests would be an element.
        more = int.from_bytes(scope.hide_set(digest.add(scope.set_element(b"c")))[16:])
        less = int.from_bytes(stored[0][16:])
        assert (more - less) % (1 << 256) != int.from_bytes(scope.set_element(b"c"))
        for other in OTHERS:
            assert other.reveal_set(stored[0], 2) != digest
        for wrong in (b"", stored[0][:-1], stored[0] + b"x"):
            with pytest.raises(CiphertextInvalid):
                scope.reveal_set(wrong, 2)


@pytest.mark.parametrize("key", [TenantKey(TENANT, ROOT), ScopeKey(TENANT, SCOPE, 3, ROOT)])
def test_keys_show_and_give_nothing_away(key: TenantKey | ScopeKey) -> None:
    assert str(TENANT) in repr(key)
    for shown in (repr(key), str(key), f"{key}"):
        assert ROOT.hex() not in shown
        assert repr(ROOT) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.deepcopy(key)
    # The root itself is not kept anywhere.
    slots = [getattr(key, name) for name in type(key).__slots__]
    assert ROOT not in slots


def test_two_roots_have_nothing_in_common() -> None:
    one, two = (ScopeKey(TENANT, SCOPE, 0, os.urandom(32)) for _ in range(2))
    assert one.seal(b"") != two.seal(b"")
