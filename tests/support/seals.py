"""Seals for tests, which act as an operator would."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from muniment_server.crypto.credential_seal import StoreSeals
from muniment_server.crypto.key_store import KeyStore
from muniment_server.crypto.master import FileMasterKeys
from muniment_server.crypto.wrapped_key_store import key_store_at

T = TypeVar("T")


def run_elsewhere(call: Coroutine[Any, Any, T]) -> T:
    """Carry out a call to a key store in a file, also for whoever holds up the event loop meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call).result()


def seals_of(store: KeyStore) -> StoreSeals:
    """Seals of an open key store in a file."""
    return StoreSeals(store, run_elsewhere)


def new_key_store(folder: Path) -> KeyStore:
    """An open key store in a folder, with a master key of its own."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = key_store_at(folder / "keystore.sqlite", FileMasterKeys(folder / "master.key", create=True))
    run_elsewhere(store.open())
    return store
