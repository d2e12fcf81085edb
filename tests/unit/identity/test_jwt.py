"""Tokens of an issuer, with real keys and a key set served over loopback."""

import asyncio
import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from muniment_server.domain.errors import CredentialsInvalid
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.authenticator import Authenticator
from muniment_server.identity.jwks import JwksError, KeySet
from muniment_server.identity.jwt import JwtAuthenticator, JwtSettings
from muniment_server.identity.principal import Permission, Principal
from support.rpc import Directory

ISSUER = "https://issuer.test"
AUDIENCE = "muniment"

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
RSA_OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
RSA_SHORT = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def public(key: Any, kid: str | None, **extra: str) -> dict[str, Any]:
    algorithm = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    kind = next(value for base, value in algorithm.items() if isinstance(key, base))
    entry: dict[str, Any] = kind.to_jwk(key.public_key(), as_dict=True)
    return {**entry, **({} if kid is None else {"kid": kid}), **extra}


class Issuer:
    """Serves a key set on loopback."""

    def __init__(self) -> None:
        self.document: Any = {"keys": [public(RSA, "r1"), public(EC, "e1"), public(ED, "o1")]}
        self.requests = 0
        self.delay = 0.0
        self.status = 200
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.requests += 1
                time.sleep(issuer.delay)
                self.send_response(issuer.status)
                if issuer.status == 302:
                    self.send_header("Location", f"{issuer.url}/elsewhere")
                self.end_headers()
                body = (
                    issuer.document
                    if isinstance(issuer.document, bytes)
                    else json.dumps(issuer.document).encode()
                )
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/jwks"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.close()


def token(
    key: Any = RSA, algorithm: str = "RS256", kid: str | None = "r1", headers: Any = None, **claims: Any
) -> str:
    body: dict[str, Any] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "svc-1",
        "exp": int(time.time()) + 300,
        "muniment_tenants": ["t1"],
        "muniment_permissions": ["recall", "write"],
    }
    body.update(claims)
    body = {name: value for name, value in body.items() if value is not ...}
    named = {} if kid is None else {"kid": kid}
    return jwt.encode(body, key, algorithm=algorithm, headers={**named, **(headers or {})})


def authenticator(issuer: Issuer, **options: Any) -> JwtAuthenticator:
    settings = JwtSettings(ISSUER, AUDIENCE, jwks_url=issuer.url)
    return JwtAuthenticator(settings, options.pop("directory", Directory()), **options)


async def principal(issuer: Issuer, text: str, tenant: str = "t1") -> Principal:
    return await authenticator(issuer).authenticate(text, tenant)


async def refused(issuer: Issuer, text: str) -> None:
    with pytest.raises(CredentialsInvalid) as caught:
        await authenticator(issuer).authenticate(text, "t1")
    assert str(caught.value) == CredentialsInvalid.message
    assert caught.value.metadata == {}


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [
        (RSA, "RS256", "r1"),
        (RSA, "PS256", "r1"),
        (RSA, "RS512", "r1"),
        (EC, "ES256", "e1"),
        (ED, "EdDSA", "o1"),
    ],
)
async def test_tokens_of_all_allowed_kinds_are_accepted(
    issuer: Issuer, key: Any, algorithm: str, kid: str
) -> None:
    found = await principal(issuer, token(key, algorithm, kid))
    assert found.kind == "jwt"
    assert found.permissions == {Permission.RECALL, Permission.WRITE}


async def test_claims_become_rights(issuer: Issuer) -> None:
    directory = Directory()
    text = token(
        muniment_tenants="t1 t2 unknown T%",
        muniment_permissions=["audit", "fly"],
        muniment_source_types=["TOOL", "USER_STATED", "GOD_STATED"],
        muniment_max_trust="MEDIUM",
        muniment_subject="u1",
        muniment_agent="planner",
        aud=["other", AUDIENCE],
    )
    found = await authenticator(issuer, directory=directory).authenticate(text, "t2")
    assert found.tenants == {"t2": directory.tenants["t2"]}
    assert found.permissions == {Permission.AUDIT}
    assert found.source_types == {SourceType.TOOL, SourceType.USER_STATED}
    assert found.max_trust is TrustLevel.MEDIUM
    assert (found.subject, found.agent) == ("u1", "planner")
    for other in ("unknown", "T%", "t3"):
        assert (await authenticator(issuer, directory=directory).authenticate(text, other)).tenants == {}


async def test_missing_claims_grant_nothing(issuer: Issuer) -> None:
    found = await principal(issuer, token(muniment_tenants=..., muniment_permissions=...))
    assert found.tenants == {}
    assert found.permissions == frozenset()
    assert found.source_types == frozenset()
    assert found.max_trust is TrustLevel.UNTRUSTED


async def test_credential_id_is_stable_per_subject_and_does_not_show_it(issuer: Issuer) -> None:
    one = await principal(issuer, token(sub="jo@example.test"))
    again = await principal(issuer, token(sub="jo@example.test", exp=int(time.time()) + 400))
    other = await principal(issuer, token(sub="al@example.test"))
    assert one.credential_id == again.credential_id != other.credential_id
    assert "jo@example.test" not in repr(one)


NOW = int(time.time())


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW - 60},
        {"exp": ...},
        {"exp": "soon"},
        {"exp": 10**30},
        {"nbf": NOW + 86_400},
        {"iat": NOW + 86_400},
        {"iss": "https://other.test"},
        {"iss": ...},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": ...},
        {"sub": ...},
        {"sub": ""},
        {"muniment_tenants": 7},
        {"muniment_tenants": ["t1", 7]},
        {"muniment_tenants": {"t1": True}},
        {"muniment_tenants": [f"t{n}" for n in range(300)] * 4},
        {"muniment_permissions": None},
        {"muniment_max_trust": 5},
        {"muniment_subject": ""},
        {"muniment_subject": None},
        {"muniment_subject": ["u1"]},
        {"muniment_agent": ""},
        {"muniment_agent": "x" * 257},
    ],
)
async def test_wrong_claims_are_refused(issuer: Issuer, claims: dict[str, Any]) -> None:
    await refused(issuer, token(**claims))


async def test_wrong_signatures_and_headers_are_refused(issuer: Issuer) -> None:
    issuer.document["keys"].append(public(RSA_SHORT, "short"))
    issuer.document["keys"].append(public(RSA_OTHER, "enc", use="enc"))
    issuer.document["keys"].append(public(RSA_OTHER, "pinned", alg="RS512"))
    issuer.document["keys"].append(
        {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 64).decode(), "kid": "secret"}
    )
    good = token()
    head, body, signature = good.split(".")
    pem = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    none = base64.urlsafe_b64encode(b'{"alg":"none","kid":"r1"}').decode().rstrip("=")
    hmac_head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"r1"}').decode().rstrip("=")
    forged = base64.urlsafe_b64encode(hmac.new(pem, f"{hmac_head}.{body}".encode(), hashlib.sha256).digest())
    bad = [
        token(RSA_OTHER),
        token(EC, "ES256", "r1"),
        token(RSA_OTHER, kid="nope"),
        token(RSA_OTHER, kid="enc"),
        token(RSA_OTHER, "RS256", "pinned"),
        token(RSA, kid=None),
        token(b"s" * 64, "HS256", "secret"),
        f"{head}.{body}.",
        f"{none}.{body}.",
        f"{hmac_head}.{body}.{forged.decode().rstrip('=')}",
        f"{head}.{body}.{signature[:-4]}AAAA",
        good + "." + signature,
        token(headers={"typ": "logout+jwt"}),
        token(headers={"crit": ["exp"]}),
        "",
        "a.b.c",
        "ä.ö.ü",
        "x" * 9000,
    ]
    for text in bad:
        await refused(issuer, text)
    await principal(issuer, good)
    await principal(issuer, token(RSA_OTHER, "RS512", "pinned"))


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_short_keys_are_refused(issuer: Issuer) -> None:
    issuer.document["keys"].append(public(RSA_SHORT, "short"))
    await refused(issuer, token(RSA_SHORT, kid="short"))


async def test_single_key_needs_no_key_id(issuer: Issuer) -> None:
    issuer.document = {"keys": [public(RSA, "r1")]}
    await principal(issuer, token(kid=None))
    issuer.document = {"keys": [public(RSA, None)]}
    await principal(issuer, token(kid=None))


async def test_new_key_is_found_and_lookups_of_made_up_ids_are_limited(issuer: Issuer) -> None:
    now = 1000.0
    keys = KeySet(url=issuer.url, clock=lambda: now)
    check = authenticator(issuer, keys=keys)
    await check.authenticate(token(), "t1")
    issuer.document["keys"].append(public(RSA_OTHER, "r2"))
    with pytest.raises(CredentialsInvalid):
        await check.authenticate(token(RSA_OTHER, kid="r2"), "t1")
    now += 11
    await check.authenticate(token(RSA_OTHER, kid="r2"), "t1")
    assert issuer.requests == 2
    for index in range(50):
        with pytest.raises(CredentialsInvalid):
            await check.authenticate(token(kid=f"made-up-{index}"), "t1")
    assert issuer.requests == 2


async def test_removed_key_goes_with_the_regular_refresh(issuer: Issuer) -> None:
    now = 1000.0
    check = authenticator(issuer, keys=KeySet(url=issuer.url, clock=lambda: now), ttl=0.0)
    await check.authenticate(token(), "t1")
    issuer.document = {"keys": [public(EC, "e1")]}
    now += 301
    # Served with the keys in hand while new ones are read in the background.
    await check.authenticate(token(), "t1")
    for _ in range(100):
        await asyncio.sleep(0.02)
        if issuer.requests == 2:
            break
    await asyncio.sleep(0.1)
    with pytest.raises(CredentialsInvalid):
        await check.authenticate(token(), "t1")


async def test_keys_stay_in_use_while_the_issuer_is_away_but_not_for_ever(issuer: Issuer) -> None:
    now = 1000.0
    check = authenticator(issuer, keys=KeySet(url=issuer.url, clock=lambda: now), ttl=0.0)
    await check.authenticate(token(), "t1")
    issuer.status = 500
    now += 3600
    await check.authenticate(token(), "t1")
    now += 86_400
    with pytest.raises(CredentialsInvalid):
        await check.authenticate(token(), "t1")
    issuer.status = 200
    now += 11
    await check.authenticate(token(), "t1")


async def test_slow_issuer_does_not_block_the_event_loop(issuer: Issuer) -> None:
    issuer.delay = 0.3
    check = authenticator(issuer)
    pending = asyncio.create_task(check.authenticate(token(), "t1"))
    ticks = 0
    while not pending.done():
        await asyncio.sleep(0.01)
        ticks += 1
    await pending
    assert ticks > 10


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", {"keys": []}, {"keys": "x"}, {"keys": [7]}, b"x" * 600_000]
)
async def test_unusable_key_sets_refuse_tokens_and_do_not_fail(issuer: Issuer, document: Any) -> None:
    issuer.document = document
    await refused(issuer, token())


async def test_redirects_are_not_followed(issuer: Issuer) -> None:
    issuer.status = 302
    await refused(issuer, token())
    assert issuer.requests == 1


async def test_start_fails_for_a_broken_file_and_not_for_an_absent_issuer(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text("nonsense")
    broken = JwtAuthenticator(JwtSettings(ISSUER, AUDIENCE, jwks_file=path), Directory())
    with pytest.raises(JwksError):
        await broken.start()
    absent = JwtAuthenticator(JwtSettings(ISSUER, AUDIENCE, jwks_url="http://127.0.0.1:1/jwks"), Directory())
    await absent.start()
    path.write_text(json.dumps({"keys": [public(RSA, "r1")]}))
    good = JwtAuthenticator(JwtSettings(ISSUER, AUDIENCE, jwks_file=path), Directory())
    await good.start()
    assert (await good.authenticate(token(), "t1")).kind == "jwt"


@pytest.mark.parametrize(
    "url", ["http://issuer.test/jwks", "file:///etc/passwd", "ftp://127.0.0.1/x", "https://", ""]
)
def test_key_sets_come_over_https_only(url: str) -> None:
    with pytest.raises(JwksError):
        KeySet(url=url)


@pytest.mark.parametrize(("issuer_name", "audience"), [("", AUDIENCE), (ISSUER, ""), (ISSUER, "  ")])
def test_issuer_and_audience_are_mandatory(issuer_name: str, audience: str) -> None:
    with pytest.raises(ValueError, match="both required"):
        JwtSettings(issuer_name, audience, jwks_url="https://issuer.test/jwks")


async def test_cached_token_still_expires(issuer: Issuer) -> None:
    now = time.time()
    check = authenticator(issuer, now=lambda: now, ttl=3600)
    text = token(exp=int(now) + 60)
    await check.authenticate(text, "t1")
    now += 75
    with pytest.raises(CredentialsInvalid):
        await check.authenticate(text, "t1")


async def test_scheme_chooses_between_keys_and_tokens(issuer: Issuer) -> None:
    directory = Directory()
    key = directory.add_key()
    both = Authenticator(ApiKeyAuthenticator(directory), authenticator(issuer, directory=directory))
    assert (await both.authenticate(f"Bearer {key.text()}", "t1")).kind == "api_key"
    assert (await both.authenticate(f"Bearer {token()}", "t1")).kind == "jwt"
    without = Authenticator(ApiKeyAuthenticator(directory))
    with pytest.raises(CredentialsInvalid):
        await without.authenticate(f"Bearer {token()}", "t1")
