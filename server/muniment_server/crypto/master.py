"""Master keys: what wraps the keys of the key store.

A key-management service fits the same interface: `wrap` and `unwrap` are its Encrypt and Decrypt with
the associated data as encryption context, `current_key_id` names its key version, and `derive` is its
GenerateMac over the purpose. Both are coroutines for that reason; none is called while a transaction
of the key store is open.
"""

import asyncio
import base64
import binascii
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .derivation import KEY_BYTES, derive_key
from .errors import MasterKeyError, MasterKeyUnknown, UnwrapFailed
from .framing import frame

ENVIRONMENT_VARIABLE = "MUNIMENT_MASTER_KEY"
_NONCE_BYTES = 12
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_HEADER = "# Muniment master keys, base64. The first wraps new keys, the others only unwrap old ones.\n"


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A key encrypted by a master key, and which master key that was."""

    master_id: str
    data: bytes = field(repr=False)


class MasterKeyProvider(Protocol):
    """Holds one master key that wraps, and possibly earlier ones that still unwrap."""

    @property
    def current_key_id(self) -> str:
        """The id of the key that wraps. Ids are not secret."""
        ...

    async def wrap(self, plaintext: bytes, aad: bytes) -> WrappedKey:
        """Encrypt under the current key; only the same associated data opens it again."""
        ...

    async def unwrap(self, wrapped: WrappedKey, aad: bytes) -> bytes:
        """Decrypt. Raises MasterKeyUnknown when the key is not held, UnwrapFailed when it does not open."""
        ...

    async def derive(self, purpose: str, *, key_id: str | None = None) -> bytes:
        """32 bytes that are always the same for one master key and purpose, e.g. for a role's password.

        They change with the master key: pass the id of an earlier one to get the earlier secret.
        """
        ...


class _MasterKey:
    """One master key as the subkeys made from it; the root itself is not kept."""

    __slots__ = ("_derivation_root", "_wrapping", "key_id")

    def __init__(self, root: bytes) -> None:
        self.key_id = derive_key(root, "muniment/v1/master/id", length=8).hex()
        self._wrapping = AESGCM(derive_key(root, "muniment/v1/master/wrap"))
        self._derivation_root = derive_key(root, "muniment/v1/master/derive")

    def wrap(self, plaintext: bytes, aad: bytes) -> WrappedKey:
        nonce = os.urandom(_NONCE_BYTES)
        return WrappedKey(self.key_id, nonce + self._wrapping.encrypt(nonce, plaintext, self._bound(aad)))

    def unwrap(self, data: bytes, aad: bytes) -> bytes:
        try:
            return self._wrapping.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], self._bound(aad))
        except (InvalidTag, ValueError) as error:
            raise UnwrapFailed(f"a key wrapped by master key {self.key_id} does not open") from error

    def derive(self, purpose: str) -> bytes:
        return derive_key(self._derivation_root, purpose)

    def _bound(self, aad: bytes) -> bytes:
        return frame(b"muniment.wrap.v1", self.key_id.encode(), aad)

    def __repr__(self) -> str:
        return f"<master key {self.key_id}>"


class LocalMasterKeys:
    """Master keys held in this process; the first of the given roots (32 random bytes each) wraps."""

    def __init__(self, roots: Sequence[bytes]) -> None:
        self._adopt(roots)

    def _adopt(self, roots: Sequence[bytes]) -> None:
        if not roots:
            raise MasterKeyError("no master key is given")
        if any(len(root) != KEY_BYTES for root in roots):
            raise MasterKeyError(f"a master key has {KEY_BYTES} bytes")
        keys = [_MasterKey(root) for root in roots]
        self._keys: Mapping[str, _MasterKey] = {key.key_id: key for key in keys}
        self._current = keys[0]
        if len(self._keys) != len(keys):
            raise MasterKeyError("a master key is given twice")

    @property
    def current_key_id(self) -> str:
        """The id of the key that wraps."""
        return self._current.key_id

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of all keys held, the current one first."""
        return tuple(self._keys)

    async def wrap(self, plaintext: bytes, aad: bytes) -> WrappedKey:
        """See MasterKeyProvider."""
        return self._current.wrap(plaintext, aad)

    async def unwrap(self, wrapped: WrappedKey, aad: bytes) -> bytes:
        """See MasterKeyProvider."""
        return (await self._find(wrapped.master_id)).unwrap(wrapped.data, aad)

    async def derive(self, purpose: str, *, key_id: str | None = None) -> bytes:
        """See MasterKeyProvider."""
        return (self._current if key_id is None else await self._find(key_id)).derive(purpose)

    async def _find(self, key_id: str) -> _MasterKey:
        key = self._keys.get(key_id)
        if key is None:
            raise MasterKeyUnknown(key_id)
        return key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.current_key_id}>"


class EnvironmentMasterKeys(LocalMasterKeys):
    """Master keys from MUNIMENT_MASTER_KEY: base64 of 32 bytes, several separated by commas.

    The first wraps, the others only unwrap.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        value = (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE, "")
        texts = [text for text in (part.strip() for part in value.split(",")) if text]
        if not texts:
            raise MasterKeyError(f"{ENVIRONMENT_VARIABLE} is not set")
        super().__init__(_decode_all(texts, ENVIRONMENT_VARIABLE))


class FileMasterKeys(LocalMasterKeys):
    """Master keys from a file that only its owner may read, one base64 line each.

    A key that appears in the file later is found without a restart: the file is read again when a
    value is wrapped by a key not known yet. The key that wraps changes only with a new object.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Read the file; with `create`, make it (mode 0600, in a folder 0700) when it does not exist.

        Ask for creation only where no key store exists yet: a fresh master key opens nothing old.
        """
        self._path = path
        if create and not path.exists():
            _create(path, os.urandom(KEY_BYTES))
        super().__init__(_read(path))

    async def _find(self, key_id: str) -> _MasterKey:
        if key_id not in self._keys:
            roots = await asyncio.to_thread(_read, self._path)
            fresh = {key.key_id: key for key in map(_MasterKey, roots)}
            self._keys = {**self._keys, **fresh}
        return await super()._find(key_id)


def add_master_key(path: Path) -> str:
    """Put a new key first in the file, so that it wraps from the next start on; returns its id.

    Afterwards re-wrap the key store, then `retire_master_keys`.
    """
    root = os.urandom(KEY_BYTES)
    _edit(path, lambda roots: [root, *roots])
    return _MasterKey(root).key_id


def retire_master_keys(path: Path, key_ids: Iterable[str]) -> int:
    """Remove keys that wrap nothing any more from the file; returns how many. The first key stays."""
    gone = set(key_ids)
    before, after = _edit(
        path, lambda roots: roots[:1] + [root for root in roots[1:] if _MasterKey(root).key_id not in gone]
    )
    return before - after


def _decode_all(texts: Sequence[str], source: str) -> list[bytes]:
    roots = []
    for text in texts:
        try:
            root = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            root = b""
        if len(root) != KEY_BYTES:
            # Without the cause: its message could show part of the key.
            raise MasterKeyError(f"{source}: each master key is the base64 of {KEY_BYTES} bytes") from None
        roots.append(root)
    return roots


def _read(path: Path) -> list[bytes]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise MasterKeyError(f"cannot read the master key file {path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise MasterKeyError(f"the master key file {path} is not a regular file")
        if os.name == "posix" and status.st_mode & 0o077:
            raise MasterKeyError(
                f"the master key file {path} may be read or written by others (mode "
                f"{stat.S_IMODE(status.st_mode):04o}); take care of what they may have seen, then chmod 600"
            )
        with os.fdopen(descriptor, encoding="ascii", errors="replace", closefd=False) as file:
            lines = [line.strip() for line in file]
    finally:
        os.close(descriptor)
    roots = _decode_all([line for line in lines if line and not line.startswith("#")], str(path))
    if not roots:
        raise MasterKeyError(f"the master key file {path} holds no key")
    return roots


def _create(path: Path, root: bytes) -> None:
    """Make the file appear complete and only once, whoever else tries at the same moment."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(temporary, _CREATE_FLAGS, 0o600), "w", encoding="ascii") as file:
            _write(file, [root])
        # A link fails when the name is taken, as O_EXCL does, and shows no half-written file.
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError as error:
        raise MasterKeyError(f"cannot create the master key file {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _edit(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> tuple[int, int]:
    """Replace the keys of the file at once; returns how many there were before and are now."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        # The fixed name is the lock: whoever makes it may read, change and replace.
        descriptor = os.open(temporary, _CREATE_FLAGS, 0o600)
    except FileExistsError as error:
        raise MasterKeyError(
            f"{temporary} exists: another rotation is running, or one was broken off and left it behind"
        ) from error
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            before = _read(path)
            after = change(before)
            _keep_owner(file, path)
            _write(file, after)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return len(before), len(after)


def _keep_owner(file: TextIO, path: Path) -> None:
    # An operator who is root must not take the file away from the service's account.
    if os.name == "posix" and os.geteuid() == 0:
        status = path.stat()
        os.fchown(file.fileno(), status.st_uid, status.st_gid)


def _write(file: TextIO, roots: Sequence[bytes]) -> None:
    file.write(_HEADER)
    file.writelines(base64.b64encode(root).decode() + "\n" for root in roots)
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
