"""How to reach the service and as whom."""

import traceback
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment._settings import CLIENT_NAME, Secret, Settings, parse_target, settings

KEY = "mk_dev_5ecret"


def made(target: str | None = "127.0.0.1:7443", **options: Any) -> Settings:
    defaults: dict[str, Any] = {
        "tenant": "dev",
        "api_key": KEY,
        "token_source": None,
        "tls": None,
        "insecure": False,
        "deadlines": None,
        "client_name": None,
        "read_your_writes": True,
    }
    return settings(target, **defaults | options)


@pytest.mark.parametrize(
    ("target", "full", "host", "port"),
    [
        ("127.0.0.1:7443", "127.0.0.1:7443", "127.0.0.1", 7443),
        ("memory.example.test", "memory.example.test:7443", "memory.example.test", 7443),
        ("[::1]:80", "[::1]:80", "::1", 80),
        ("[::1]", "[::1]:7443", "::1", 7443),
        ("dns:///memory.example.test:1", "dns:///memory.example.test:1", "memory.example.test", 1),
        ("dns:memory.example.test", "dns:memory.example.test:7443", "memory.example.test", 7443),
        ("dns://8.8.8.8/host:1", "dns://8.8.8.8/host:1", "host", 1),
        ("ipv4:127.0.0.1:1", "ipv4:127.0.0.1:1", "127.0.0.1", 1),
        ("unix:/run/muniment.sock", "unix:/run/muniment.sock", "unix:/run/muniment.sock", None),
    ],
)
def test_targets(target: str, full: str, host: str, port: int | None) -> None:
    assert parse_target(target) == (full, host, port)


@pytest.mark.parametrize(
    "target", ["https://memory.example.test", "::1", "host:99999", "host:port", "a:b:c", "host/path", ":1"]
)
def test_targets_that_are_none(target: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        made(target)


@pytest.mark.parametrize(
    ("target", "options", "encrypted"),
    [
        ("127.0.0.1", {}, False),
        ("127.8.8.8", {}, False),
        ("localhost", {}, False),
        ("[::1]", {}, False),
        ("unix:/run/m.sock", {}, False),
        ("memory.example.test", {}, True),
        ("10.0.0.1", {}, True),
        ("0.0.0.0", {}, True),
        ("localhost.example.test", {}, True),
        ("10.0.0.1", {"insecure": True}, False),
        ("127.0.0.1", {"tls": muniment.TLS()}, True),
    ],
)
def test_plaintext_is_for_loopback(target: str, options: dict[str, Any], encrypted: bool) -> None:
    assert (made(target, **options).tls is not None) is encrypted


def test_a_proxy_is_no_way_to_loopback() -> None:
    assert ("grpc.enable_http_proxy", 0) in made("127.0.0.1").channel_options()
    assert ("grpc.enable_http_proxy", 0) not in made("memory.example.test").channel_options()


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="MUNIMENT_TENANT"):
        made(None, tenant=None)
    with pytest.raises(ValueError, match="MUNIMENT_API_KEY"):
        made(None, api_key=None)
    monkeypatch.setenv("MUNIMENT_API_KEY", "")
    with pytest.raises(ValueError, match="MUNIMENT_API_KEY"):
        made(None, api_key=None)
    assert made(None).target == "127.0.0.1:7443"
    monkeypatch.setenv("MUNIMENT_TARGET", "memory.example.test:1")
    monkeypatch.setenv("MUNIMENT_TENANT", "acme")
    monkeypatch.setenv("MUNIMENT_API_KEY", "from-env")
    found = made(None, tenant=None, api_key=None)
    assert (found.target, found.tenant, found.credential()) == ("memory.example.test:1", "acme", "from-env")
    given = made("127.0.0.1:2")
    assert (given.target, given.tenant, given.credential()) == ("127.0.0.1:2", "dev", KEY)
    assert made(api_key=None, token_source=lambda: "x").credential() == "x"


@pytest.mark.parametrize("tenant", ["Acme", "a%", " ", "-a", "a" * 64, "ümlaut", "a\n"])
def test_tenants_that_are_none(tenant: str) -> None:
    with pytest.raises(ValueError, match="tenant"):
        made(tenant=tenant)


def test_options_that_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude"):
        made(token_source=lambda: "x")
    with pytest.raises(ValueError, match="exclude"):
        made(tls=muniment.TLS(), insecure=True)
    with pytest.raises(TypeError, match="callable"):
        made(api_key=None, token_source="x")
    with pytest.raises(ValueError, match="belong together"):
        muniment.TLS(certificate=b"pem")


def test_certificates_are_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    with pytest.raises(FileNotFoundError):
        made(tls=muniment.TLS(root_certificates=path))
    path.write_bytes(b"pem")
    loaded = made(tls=muniment.TLS(root_certificates=str(path))).tls
    assert loaded is not None
    assert loaded.root_certificates == b"pem"


def test_client_names() -> None:
    assert made(client_name="support-bot/2.1").client_name == f"support-bot/2.1 ({CLIENT_NAME})"
    for name in ("x" * 64, "naïve", "", "a\nb"):
        with pytest.raises(ValueError, match="client_name"):
            made(client_name=name)


def test_nothing_secret_shows() -> None:
    private = muniment.TLS(certificate=b"cert", private_key=b"-----SECRET-----")
    found = made(tls=private)
    client = muniment.connect_sync(tenant="dev", api_key=KEY)
    metadata = found.metadata(Secret(KEY), [])
    texts = [repr(each) for each in (found, client, client.__dict__, metadata, private, vars(client._calls))]
    texts += [str(client), repr(dict(metadata))]
    try:
        found.metadata("two words", [])
    except ValueError as error:
        texts.append("".join(traceback.format_exception(error)))
    for text in texts:
        assert KEY not in text
        assert "SECRET" not in text
        assert "two words" not in text.replace('"two words", []', "")
    assert dict(metadata)["authorization"] == f"Bearer {KEY}"
