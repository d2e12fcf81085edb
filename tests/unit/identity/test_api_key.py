"""API keys: form, digest, comparison, and the cache in front of storage."""

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from muniment_server.domain.errors import CredentialsInvalid
from muniment_server.identity.api_key import ApiKeyAuthenticator, generate, parse
from muniment_server.identity.cache import LookupCache
from support.rpc import Directory


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_keys_have_the_documented_form_and_are_all_different() -> None:
    keys = [generate() for _ in range(200)]
    assert len({key.secret for key in keys}) == len({key.public_id for key in keys}) == 200
    for key in keys:
        prefix, public_id, secret = key.text().split("_")
        assert (prefix, len(public_id), len(secret)) == ("mnm", 20, 43)
        assert parse(key.text()) == key
        assert key.digest() == hashlib.sha256(secret.encode()).digest()
        assert secret not in repr(key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mnm_",
        "mnm__",
        "mnm_short_" + "a" * 43,
        "mnm_" + "a" * 20 + "_" + "a" * 42,
        "MNM_" + "a" * 20 + "_" + "a" * 43,
        "mnm_" + "a" * 20 + "_" + "ä" * 43,
        "mnm_" + "A" * 20 + "_" + "a" * 43,
        "mnm_" + "a" * 20 + "_" + "a" * 43 + "\n",
    ],
)
def test_malformed_keys_are_not_parsed(text: str) -> None:
    assert parse(text) is None


async def test_record_becomes_a_principal() -> None:
    directory = Directory()
    expires = datetime.now(UTC) + timedelta(hours=1)
    key = directory.add_key(tenants=["t1", "t2"], subject="u1", agent="a1", expire_time=expires)
    principal = await ApiKeyAuthenticator(directory).authenticate(key.text())
    record = directory.records[key.public_id]
    assert principal.credential_id == record.credential_id
    assert principal.kind == "api_key"
    assert principal.tenants == record.tenants
    assert principal.permissions == record.permissions
    assert principal.source_types == record.source_types
    assert (principal.max_trust, principal.subject, principal.agent) == (record.max_trust, "u1", "a1")
    assert principal.expires == expires


async def test_key_expires_also_while_it_is_cached() -> None:
    directory = Directory()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    key = directory.add_key(expire_time=now + timedelta(seconds=1))
    authenticator = ApiKeyAuthenticator(directory, now=lambda: now)
    await authenticator.authenticate(key.text())
    now += timedelta(seconds=1)
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(key.text())
    assert directory.lookups == 1


async def test_revocation_is_seen_after_the_lifetime_and_at_once_after_a_drop() -> None:
    directory, clock = Directory(), Clock()
    key = directory.add_key()
    authenticator = ApiKeyAuthenticator(directory, clock=clock)
    await authenticator.authenticate(key.text())
    del directory.records[key.public_id]
    clock.now += 4.9
    await authenticator.authenticate(key.text())
    clock.now += 0.2
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(key.text())

    key = directory.add_key()
    await authenticator.authenticate(key.text())
    del directory.records[key.public_id]
    authenticator.drop(key.public_id)
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(key.text())


async def test_new_key_works_soon_after_it_was_tried_too_early() -> None:
    directory, clock = Directory(), Clock()
    authenticator = ApiKeyAuthenticator(directory, clock=clock)
    key = directory.add_key()
    record = directory.records.pop(key.public_id)
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(key.text())
    directory.records[key.public_id] = record
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(key.text())
    assert directory.lookups == 1
    clock.now += 1.1
    await authenticator.authenticate(key.text())


async def test_wrong_secret_of_a_known_id_is_refused_and_not_cached_as_right() -> None:
    directory = Directory()
    key, other = directory.add_key(), directory.add_key()
    authenticator = ApiKeyAuthenticator(directory)
    await authenticator.authenticate(key.text())
    with pytest.raises(CredentialsInvalid):
        await authenticator.authenticate(f"mnm_{key.public_id}_{other.secret}")


# --- the cache ----------------------------------------------------------------------------------


async def test_made_up_keys_do_not_push_out_real_ones() -> None:
    asked: list[str] = []

    async def lookup(key: str) -> str | None:
        asked.append(key)
        return key if key.startswith("real") else None

    cache: LookupCache[str, str] = LookupCache(lookup, ttl=5, miss_ttl=1, size=10)
    await cache.get("real")
    for index in range(1000):
        await cache.get(f"fake{index}")
    await cache.get("real")
    assert asked.count("real") == 1
    assert len(cache._misses) <= 10
    for index in range(50):
        await cache.get(f"real{index}")
    assert len(cache._hits) <= 10
    assert cache._running == {}


async def test_concurrent_lookups_share_one_call_and_survive_a_cancelled_caller() -> None:
    calls = 0
    release = asyncio.Event()

    async def lookup(key: str) -> str | None:
        nonlocal calls
        calls += 1
        await release.wait()
        return key

    cache: LookupCache[str, str] = LookupCache(lookup, ttl=5, miss_ttl=1, size=10)
    callers = [asyncio.create_task(cache.get("k")) for _ in range(10)]
    await asyncio.sleep(0)
    callers[0].cancel()
    await asyncio.sleep(0)
    release.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert calls == 1
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == ["k"] * 9


async def test_lookup_under_way_when_its_key_is_dropped_is_not_remembered() -> None:
    stored = "old"
    release = asyncio.Event()

    async def lookup(_key: str) -> str | None:
        read = stored
        await release.wait()
        return read

    cache: LookupCache[str, str] = LookupCache(lookup, ttl=5, miss_ttl=1, size=10)
    first = asyncio.create_task(cache.get("k"))
    await asyncio.sleep(0.01)
    stored = "new"
    cache.drop("k")
    second = asyncio.create_task(cache.get("k"))
    await asyncio.sleep(0.01)
    release.set()
    assert (await first, await second) == ("old", "new")
    assert await cache.get("k") == "new"


async def test_errors_pass_through_and_are_not_remembered() -> None:
    calls = 0

    async def lookup(_key: str) -> str | None:
        nonlocal calls
        calls += 1
        raise ConnectionError

    cache: LookupCache[str, str] = LookupCache(lookup, ttl=5, miss_ttl=1, size=10)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await cache.get("k")
    assert calls == 2


async def test_flood_of_made_up_keys_leaves_room_for_known_ones() -> None:
    running = peak = 0
    now = 0.0

    async def lookup(key: str) -> str | None:
        nonlocal running, peak
        if key == "real":
            return key
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(10)
        running -= 1
        return None

    cache: LookupCache[str, str] = LookupCache(
        lookup, ttl=5, miss_ttl=1, size=10, strangers=2, clock=lambda: now
    )
    await cache.get("real")
    now += 6
    flood = [asyncio.create_task(cache.get(f"fake{index}")) for index in range(20)]
    await asyncio.sleep(0.01)
    assert await asyncio.wait_for(cache.get("real"), 3) == "real"
    assert peak == 2
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
    for task in list(cache._running.values()):
        task.cancel()
    await asyncio.sleep(0)
