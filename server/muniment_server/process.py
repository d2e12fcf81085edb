"""One serving process, from its settings to an orderly end."""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from importlib.metadata import version

from muniment_server.application.services import Instance
from muniment_server.bootstrap import EmbedderChoice, Installation, key_store, master_keys, prepare, where
from muniment_server.config import Settings
from muniment_server.grpc_server import GrpcServer
from muniment_server.service import Parts, Service, grpc_server
from muniment_server.telemetry.setup import configure

_log = logging.getLogger("muniment.service")

_COLLECT_AFTER = (20_000, 20, 20)
"""Values made before the youngest are looked through for what only refers to itself; see `gc`."""


async def serve(settings: Settings, announce: Callable[[Installation, GrpcServer], None]) -> None:
    """Everything from settings to the end of the process; `announce` is called once it listens.

    Raises ConfigError, BootstrapError, EmbeddingError, ServerError and the errors of the key store.
    """
    with _cancelled_by_signals():
        async with AsyncExitStack() as closing:
            service = await _prepared(settings, announce, closing)
            await service.run()


async def _prepared(
    settings: Settings, announce: Callable[[Installation, GrpcServer], None], closing: AsyncExitStack
) -> Service:
    telemetry = configure(
        version=version("muniment-server"), environ=os.environ, capture=settings.capture_content
    )
    closing.push_async_callback(telemetry.aclose)
    server = grpc_server(settings)
    closing.push_async_callback(server.stop)
    if not settings.shared_listen:
        # A shared port is opened when all is ready: the kernel would give a process that starts its part of
        # the connections, though others could serve them.
        await server.start()
    provider = master_keys(settings)
    # Before the database: a master key that does not open the key store must not set passwords of roles.
    store = key_store(settings, provider)
    await store.open()
    closing.push_async_callback(store.close)
    choice = EmbedderChoice(settings)
    installation = await prepare(where(settings), provider, choice, store)
    closing.push_async_callback(installation.close)
    found = installation.instance
    service = Service(
        settings,
        Parts(
            installation.app_conninfo,
            installation.maintenance_conninfo,
            Instance(found.instance_id, found.model_no, found.restore_epoch),
            store,
            choice.embedder(found),
            choice.load_anew,
        ),
        server=server,
    )
    await service.start()
    # Before what it stands on is closed, whatever happens from here on.
    closing.push_async_callback(service.stop)
    # What the start has made stays as long as the process: no collection need look through it again. And a
    # call makes thousands of values that go with it, among which a collection finds nothing.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    server.handle_signals()
    announce(installation, server)
    return service


@contextmanager
def _cancelled_by_signals() -> Iterator[None]:
    """Until the server takes the signals over, one ends the start in order: what is open is closed."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        if task is not None:
            task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        yield
    except asyncio.CancelledError:
        if not stopped:
            raise
        _log.info("stopped while starting")
