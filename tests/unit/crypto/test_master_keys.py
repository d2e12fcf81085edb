"""Master keys: files that only their owner reads, several keys at once, and what they wrap."""

import asyncio
import base64
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from muniment_server.crypto.errors import MasterKeyError, MasterKeyUnknown, UnwrapFailed
from muniment_server.crypto.master import (
    EnvironmentMasterKeys,
    FileMasterKeys,
    LocalMasterKeys,
    WrappedKey,
    add_master_key,
    retire_master_keys,
)


def encoded(root: bytes) -> str:
    return base64.b64encode(root).decode()


async def test_wraps_and_unwraps_with_the_same_associated_data() -> None:
    keys = LocalMasterKeys([os.urandom(32)])
    wrapped = await keys.wrap(b"secret", b"place")
    assert wrapped.master_id == keys.current_key_id
    assert b"secret" not in wrapped.data
    assert await keys.unwrap(wrapped, b"place") == b"secret"
    with pytest.raises(UnwrapFailed):
        await keys.unwrap(wrapped, b"another place")


async def test_a_changed_wrapping_does_not_open() -> None:
    keys = LocalMasterKeys([os.urandom(32)])
    wrapped = await keys.wrap(b"secret", b"")
    for data in (b"", wrapped.data[:-1], wrapped.data[:-1] + bytes([wrapped.data[-1] ^ 1])):
        with pytest.raises(UnwrapFailed):
            await keys.unwrap(WrappedKey(wrapped.master_id, data), b"")


async def test_an_earlier_key_unwraps_and_the_first_wraps() -> None:
    old, new = os.urandom(32), os.urandom(32)
    before = LocalMasterKeys([old])
    wrapped = await before.wrap(b"secret", b"")
    both = LocalMasterKeys([new, old])
    assert await both.unwrap(wrapped, b"") == b"secret"
    assert (await both.wrap(b"x", b"")).master_id == both.current_key_id != before.current_key_id
    with pytest.raises(MasterKeyUnknown) as caught:
        await LocalMasterKeys([new]).unwrap(wrapped, b"")
    assert caught.value.key_id == before.current_key_id


async def test_derives_the_same_secret_for_the_same_key_and_purpose_only() -> None:
    old, new = os.urandom(32), os.urandom(32)
    keys = LocalMasterKeys([new, old])
    assert await keys.derive("a") == await LocalMasterKeys([new]).derive("a")
    assert (
        len({await keys.derive("a"), await keys.derive("b"), await LocalMasterKeys([old]).derive("a")}) == 3
    )
    earlier = LocalMasterKeys([old])
    assert await keys.derive("a", key_id=earlier.current_key_id) == await earlier.derive("a")
    with pytest.raises(MasterKeyUnknown):
        await earlier.derive("a", key_id=keys.current_key_id)


def test_nothing_shows_key_material() -> None:
    root = os.urandom(32)
    keys = LocalMasterKeys([root])
    shown = repr(keys) + repr(vars(keys)) + repr(WrappedKey("id", root))
    assert encoded(root) not in shown
    assert root.hex() not in shown
    assert repr(root) not in shown


@pytest.mark.parametrize("roots", [[], [b"short"], [bytes(33)], [bytes(32), bytes(32)]])
def test_refuses_wrong_roots(roots: list[bytes]) -> None:
    with pytest.raises(MasterKeyError):
        LocalMasterKeys(roots)


async def test_environment_holds_one_or_several() -> None:
    one, two = os.urandom(32), os.urandom(32)
    single = EnvironmentMasterKeys({"MUNIMENT_MASTER_KEY": encoded(one)})
    urlsafe = base64.urlsafe_b64encode(one).decode()
    assert EnvironmentMasterKeys({"MUNIMENT_MASTER_KEY": urlsafe}).key_ids == single.key_ids
    both = EnvironmentMasterKeys({"MUNIMENT_MASTER_KEY": f" {encoded(two)} , {encoded(one)},"})
    assert both.key_ids == (both.current_key_id, single.current_key_id)
    assert await both.unwrap(await single.wrap(b"x", b""), b"") == b"x"


@pytest.mark.parametrize("value", [None, "", " , ", "no base64!", "c2hvcnQ=", "A" * 44])
def test_environment_refuses_without_showing_the_value(value: str | None) -> None:
    environ = {} if value is None else {"MUNIMENT_MASTER_KEY": value}
    with pytest.raises(MasterKeyError) as caught:
        EnvironmentMasterKeys(environ)
    assert caught.value.__cause__ is None
    if value and value.strip(" ,"):
        assert value not in str(caught.value)


def test_file_is_created_on_request_only_and_private(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "master.key"
    with pytest.raises(MasterKeyError):
        FileMasterKeys(path)
    assert not path.parent.exists()
    before = os.umask(0)
    try:
        keys = FileMasterKeys(path, create=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["master.key"]
    assert FileMasterKeys(path, create=True).key_ids == FileMasterKeys(path).key_ids == keys.key_ids


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o666, 0o601])
def test_file_that_others_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "master.key"
    FileMasterKeys(path, create=True)
    path.chmod(mode)
    with pytest.raises(MasterKeyError, match="chmod 600"):
        FileMasterKeys(path)


def test_a_folder_or_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.mkdir(mode=0o700)
    with pytest.raises(MasterKeyError):
        FileMasterKeys(path)
    path.rmdir()
    path.touch(mode=0o600)
    with pytest.raises(MasterKeyError, match="holds no key"):
        FileMasterKeys(path, create=True)


def _create_in_process(path: Path) -> str:
    return FileMasterKeys(path, create=True).current_key_id


def test_processes_that_create_at_once_get_one_key(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "master.key"
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        ids = pool.map(_create_in_process, [path] * 16)
    assert len(set(ids)) == 1


async def test_rotation_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    running = FileMasterKeys(path, create=True)
    wrapped = await running.wrap(b"old", b"")
    new_id = add_master_key(path)
    restarted = FileMasterKeys(path)
    assert restarted.key_ids == (new_id, running.current_key_id)
    assert await restarted.unwrap(wrapped, b"") == b"old"
    # The process that did not restart finds the new key by itself, and goes on with its own.
    assert await running.unwrap(await restarted.wrap(b"new", b""), b"") == b"new"
    assert running.current_key_id == wrapped.master_id

    assert retire_master_keys(path, [new_id]) == 0
    assert retire_master_keys(path, [wrapped.master_id]) == 1
    assert FileMasterKeys(path).key_ids == (new_id,)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(MasterKeyUnknown):
        await FileMasterKeys(path).unwrap(wrapped, b"")


def test_two_rotations_do_not_lose_a_key(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    first = FileMasterKeys(path, create=True).current_key_id
    left_behind = tmp_path / ".master.key.new"
    left_behind.touch()
    with pytest.raises(MasterKeyError, match="another rotation"):
        add_master_key(path)
    left_behind.unlink()
    second = add_master_key(path)
    assert FileMasterKeys(path).key_ids == (second, first)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_rotation_by_root_leaves_the_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    first = FileMasterKeys(path, create=True).current_key_id
    os.chown(path, 12345, 23456)
    retired = add_master_key(path), retire_master_keys(path, [first])
    assert retired[1] == 1
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o600)


def test_a_failed_rotation_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    FileMasterKeys(path, create=True)
    before = path.read_bytes()
    path.chmod(0o644)
    with pytest.raises(MasterKeyError):
        add_master_key(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["master.key"]


async def test_reading_the_file_again_does_not_block_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    running = FileMasterKeys(path, create=True)
    add_master_key(path)
    wrapped = await FileMasterKeys(path).wrap(b"x", b"")
    opened = await asyncio.gather(*(running.unwrap(wrapped, b"") for _ in range(8)))
    assert opened == [b"x"] * 8
