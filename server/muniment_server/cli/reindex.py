"""`muniment reindex`: change the embedding model while the service runs, and see how far such work is."""

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import Json, note, print_json

if TYPE_CHECKING:
    import psycopg

    from muniment_server.storage.reindex_admin import AnalysisRow, ChangeRow

app = typer.Typer(
    name="reindex",
    help="Change the embedding model while the service runs, and back; or make again what is missing.",
    no_args_is_help=True,
)

Wait = Annotated[bool, typer.Option("--wait", help="Stay until it is over, and show how far it is.")]
_LOOK_SECONDS = 1.0
_UNHEARD = timedelta(seconds=15)
"""For so long a running server may not have said yet that it works on a change."""


@app.command("start")
def start(
    embedder: Annotated[
        str | None,
        typer.Option(help="As MUNIMENT_EMBEDDER.", show_default="the one in use: makes what is missing"),
    ] = None,
    switch: Annotated[
        bool, typer.Option("--switch/--no-switch", help="Switch by itself once every memory has been seen.")
    ] = True,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Begin: the running servers give every memory a vector of the new model, then compare with that.

    Writes and recalls go on with the model in use meanwhile. Every server must have the embedder installed.
    """
    from muniment_server import bootstrap, config
    from muniment_server.storage.admin import read_instance
    from muniment_server.storage.reindex_admin import start_change

    from .operator import operation

    choice = bootstrap.EmbedderChoice(config.load())
    with operation() as it:
        model = choice.load(embedder).model if embedder else choice(read_instance(it.connection))
        change = start_change(it.connection, model, automatic=switch, record=it.trail)
        if not wait:
            _show(it.connection, change, as_json)
            return
        _stay(it.connection, as_json)


@app.command("status")
def status(wait: Wait = False, as_json: Json = False) -> None:
    """Show the running change, or the last one; and what a newer text analysis has still to read."""
    from muniment_server.storage.reindex_admin import newest_change

    from .operator import administration

    with administration() as connection:
        if wait:
            _await_analysis(connection)
        change = newest_change(connection)
        if change is None:
            analysis = _analysis(connection)
            if as_json:
                print_json({"analysis": _analysis_json(analysis)} if analysis else None)
            else:
                print("The embedding model was never changed.")
                _show_analysis(analysis)
        elif wait:
            _stay(connection, as_json)
        else:
            _show(connection, change, as_json)


@app.command("switch")
def switch_command(as_json: Json = False) -> None:
    """Let a change that was begun with --no-switch switch, as soon as every memory has been seen."""
    from muniment_server.storage.reindex_admin import release_switch

    from .operator import operation

    with operation() as it:
        _show(it.connection, release_switch(it.connection, it.trail), as_json)


@app.command("abort")
def abort(as_json: Json = False) -> None:
    """End a change that was not switched yet. The model in use stays, the new vectors are dropped."""
    from muniment_server.storage.reindex_admin import abort_change

    from .operator import operation

    with operation() as it:
        _show(it.connection, abort_change(it.connection, it.trail), as_json)


def _stay(connection: "psycopg.Connection[Any]", as_json: bool) -> None:
    from muniment_server.storage.reindex_admin import newest_change, progress_of
    from muniment_server.storage.reindexing import ReindexState

    from .output import CommandError

    while True:
        change = newest_change(connection)
        if change is None:
            raise CommandError("The change is gone.")
        if change.over or (change.state is ReindexState.FILLED and not change.automatic):
            _show(connection, change, as_json)
            return
        memories, done = progress_of(connection, change)
        note(f"{change.state.name.lower()}: {done} of {memories} memories")
        time.sleep(_LOOK_SECONDS)


def _analysis(connection: "psycopg.Connection[Any]") -> "AnalysisRow | None":
    """The change of the text analysis that the servers are at, if there is one."""
    from muniment_server.retrieval.analysis import ANALYZER_VERSION
    from muniment_server.storage.reindex_admin import analysis_of

    found = analysis_of(connection, ANALYZER_VERSION)
    return None if found.over else found


def _await_analysis(connection: "psycopg.Connection[Any]") -> None:
    while (analysis := _analysis(connection)) is not None:
        note(f"text analysis: {analysis.done} of {analysis.memories} memories")
        time.sleep(_LOOK_SECONDS)


def _show_analysis(analysis: "AnalysisRow | None") -> None:
    if analysis is not None:
        print(
            f"text analysis {analysis.from_version} -> {analysis.to_version}: {analysis.done} of"
            f" {analysis.memories} memories have been read anew."
        )
        note("Servers with a maintenance login do this by themselves. Every memory is found meanwhile.")


def _analysis_json(analysis: "AnalysisRow") -> dict[str, int]:
    return {
        "from": analysis.from_version,
        "to": analysis.to_version,
        "memories": analysis.memories,
        "read": analysis.done,
    }


def _show(connection: "psycopg.Connection[Any]", change: "ChangeRow", as_json: bool) -> None:
    from muniment_server.storage.reindex_admin import progress_of

    memories, done = progress_of(connection, change)
    analysis = _analysis(connection)
    if as_json:
        print_json(
            {
                "id": str(change.reindex_id),
                "state": change.state.name,
                "from": change.from_model,
                "to": change.to_model,
                "automatic": change.automatic,
                "over": change.over,
                "memories": memories,
                "seen": done,
                "start_time": _time(change.create_time),
                "complete_time": _time(change.complete_time),
                "end_time": _time(change.drop_time),
                "analysis": _analysis_json(analysis) if analysis else None,
            }
        )
        return
    print(f"{change.from_model} -> {change.to_model}: {_words(change)}")
    _show_analysis(analysis)
    if not change.over:
        print(f"{done} of {memories} memories have been seen by the new model.")
        if change.working:
            return
        if datetime.now(UTC) - change.create_time < _UNHEARD:
            note("Servers are told. See how far it is: muniment reindex status --wait")
        else:
            note("No server was heard of that works on it. Is one running, with a maintenance login?")


def _words(change: "ChangeRow") -> str:
    from muniment_server.storage.reindexing import ReindexState

    repair = change.from_no == change.to_no
    match change.state:
        case ReindexState.RUNNING:
            return "running"
        case ReindexState.FILLED if not change.automatic:
            return "ready, waits for `muniment reindex switch`"
        case ReindexState.FILLED:
            return "about to be switched"
        case ReindexState.SWITCHED if repair:
            return "done"
        case ReindexState.SWITCHED:
            return "switched" if change.over else "switched, the earlier vectors are being dropped"
        case ReindexState.ABORTED:
            return "aborted" if change.over else "aborted, the new vectors are being dropped"


def _time(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant is not None else None
