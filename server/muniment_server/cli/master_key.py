"""`muniment master-key`: from one master key to the next, without an outage and without a key that is lost.

The order is safe at every step: `add` (the new key is there), restart (every server has it and wraps with
it), `rewrap` (nothing needs the old one any more), `retire` (the key store refuses it, then it is removed).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .operator import Operation, operation
from .output import CommandError, Json, count_of, note, print_json, print_table

if TYPE_CHECKING:
    from muniment_server.domain.administration import AdministrativeAct

app = typer.Typer(
    name="master-key",
    help="Rotate the master key: add, restart all servers, rewrap, retire. Shows ids, never keys.",
    no_args_is_help=True,
)


@dataclass(frozen=True, slots=True)
class State:
    """Where a rotation stands.

    held: ids of the master keys here, the one that wraps first. wraps: keys of the key store, by the id of
    their master key. servers: connections, by the id of the master key that their server began with.
    """

    held: tuple[str, ...]
    wraps: Mapping[str, int]
    servers: Mapping[str, int]

    @property
    def missing(self) -> list[str]:
        """Master keys that something needs and that are not here."""
        return [key_id for key_id in self.wraps if key_id not in self.held]

    @property
    def left(self) -> int:
        """Keys that another master key than the present one wraps."""
        return sum(count for key_id, count in self.wraps.items() if key_id != self.held[0])

    @property
    def outdated(self) -> str:
        """Servers that began with another master key than the present one; empty when there are none."""
        return ", ".join(
            f"{key_id}: {count} connections"
            for key_id, count in self.servers.items()
            if key_id != self.held[0]
        )

    def next_step(self) -> str:
        """What to do now."""
        if self.missing:
            return f"Put the master key {self.missing[0]} back: something can be opened with nothing else."
        if self.outdated:
            return f"Restart the servers that began with another master key ({self.outdated})."
        if self.left:
            return "Run `muniment master-key rewrap`, once every server has been restarted."
        if len(self.held) > 1:
            return "Run `muniment master-key retire`."
        return "Nothing is left to do."


def _state(it: Operation) -> State:
    from muniment_server.storage.activity import connected_servers

    held: Sequence[str] = getattr(it.provider, "key_ids", (it.provider.current_key_id,))
    return State(tuple(held), it.run(it.store.master_keys_in_use()), connected_servers(it.connection))


@app.command()
def status(as_json: Json = False) -> None:
    """Show which master keys there are, what they wrap, and which servers began with them."""
    with operation() as it:
        state = _state(it)
    known = [*state.held, *sorted({*state.wraps, *state.servers} - {*state.held})]
    if as_json:
        print_json(
            {
                "master_keys": [
                    {
                        "id": key_id,
                        "use": _use(state, key_id),
                        "keys": state.wraps.get(key_id, 0),
                        "server_connections": state.servers.get(key_id, 0),
                    }
                    for key_id in known
                ],
                "next": state.next_step(),
            }
        )
        return
    print_table(
        ("ID", "USE", "KEYS", "SERVER CONNECTIONS"),
        (
            (key_id, _use(state, key_id), str(state.wraps.get(key_id, 0)), str(state.servers.get(key_id, 0)))
            for key_id in known
        ),
        empty="",
    )
    note(state.next_step())


def _use(state: State, key_id: str) -> str:
    if key_id not in state.held:
        return "not here"
    return "wraps" if key_id == state.held[0] else "opens"


@app.command()
def add(as_json: Json = False) -> None:
    """Put a new master key into the file, in front of the others. It wraps from the next start on."""
    from muniment_server import bootstrap
    from muniment_server.crypto.master import add_master_key

    with operation() as it:
        state = _state(it)
        path = bootstrap.master_key_file(it.settings)
        if path is None:
            raise CommandError(
                "The master keys are in MUNIMENT_MASTER_KEY. Put a new one in front there, the base64 of 32 "
                "random bytes with a comma after it, and restart every server."
            )
        if state.missing:
            raise CommandError(state.next_step())
        if state.wraps and not state.wraps.get(state.held[0]):
            raise CommandError(
                f"The master key {state.held[0]} was added before and wraps nothing yet. {state.next_step()}"
            )
        key_id = add_master_key(path)
    if as_json:
        print_json({"id": key_id, "file": str(path.resolve())})
        return
    print(key_id, flush=True)
    note(
        f"Added to {path.resolve()}, in front of {state.held[0]}. Keep a copy offline first. Then:\n"
        "  where other machines have files of their own, copy this one there;\n"
        "  restart every server, one soon after the other;\n"
        "  muniment master-key rewrap\n"
        "  muniment master-key retire"
    )


@app.command()
def rewrap(as_json: Json = False) -> None:
    """Wrap every key of the key store by the present master key. Beside running servers; repeat at will."""
    from muniment_server.domain.administration import AdministrativeAct

    with operation() as it:
        state = _ready(it)
        count = 0
        if state.left:
            with _recorded(it, AdministrativeAct.MASTER_KEY_REWRAPPED, state.held[0]):
                while done := it.run(it.store.rewrap(it.provider)):
                    count += done
        after = _state(it)
    if as_json:
        print_json({"id": state.held[0], "rewrapped": count, "left": after.left})
        return
    print(f"Wrapped {count_of(count, 'key')} by {state.held[0]}.")
    note(after.next_step())


@app.command()
def retire(
    key_id: Annotated[
        list[str] | None, typer.Argument(help="Ids to retire.", show_default="all but the one that wraps")
    ] = None,
    as_json: Json = False,
) -> None:
    """Retire master keys that wrap nothing: the key store refuses them from now on, the file loses them."""
    from muniment_server import bootstrap
    from muniment_server.crypto.master import retire_master_keys
    from muniment_server.domain.administration import AdministrativeAct

    with operation() as it:
        state = _ready(it)
        wanted = list(dict.fromkeys(key_id or state.held[1:]))
        for each in wanted:
            if each == state.held[0]:
                raise CommandError(f"The master key {each} wraps new keys. Add another one first.")
            if each not in state.held:
                raise CommandError(f"There is no master key {each} here. See `muniment master-key status`.")
            if state.wraps.get(each):
                raise CommandError(
                    f"The master key {each} still wraps {state.wraps[each]} keys. Run `muniment master-key "
                    "rewrap` first."
                )
        for each in wanted:
            with _recorded(it, AdministrativeAct.MASTER_KEY_RETIRED, each):
                if it.run(it.store.retire_master_key(each)):
                    raise CommandError(
                        f"A server goes on to wrap keys by {each}. Restart it, and run `muniment master-key "
                        "rewrap` again."
                    )
        path = bootstrap.master_key_file(it.settings)
        if path is not None:
            retire_master_keys(path, wanted)
    if as_json:
        print_json({"retired": wanted, "file": None if path is None else str(path.resolve())})
        return
    for each in wanted:
        print(each)
    if not wanted:
        note("There is nothing to retire.")
    elif path is None:
        note("Take it out of MUNIMENT_MASTER_KEY, everywhere.")
    else:
        note(
            f"Removed from {path.resolve()}; do the same with copies on other machines. Backups of the key "
            "store from before the rotation open with the retired key only."
        )


def _ready(it: Operation) -> State:
    """The state, once no server can lose its login or its keys by what follows. Raises CommandError."""
    from muniment_server import bootstrap

    state = _state(it)
    if state.missing or state.outdated:
        raise CommandError(state.next_step())
    # The passwords of the logins come from the master key: what only an earlier one opens has to follow
    # before that one is gone. No server is left that would still use the old ones.
    bootstrap.settle_logins(it.connection, it.where, it.secrets)
    return state


@contextmanager
def _recorded(it: Operation, act: "AdministrativeAct", master_key_id: str) -> Iterator[None]:
    """Around an act: it stands in the trail of every tenant, or is not done."""
    from muniment_server.domain.administration import Administered
    from muniment_server.storage import admin

    tenants = admin.list_tenants(it.connection)
    with admin.owner_cursor(it.connection) as cursor:
        for tenant in tenants:
            it.trail(cursor, tenant.tenant_id, Administered(act, master_key_id=master_key_id))
        yield
