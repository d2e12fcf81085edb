"""A real installation, used and erased: no file of it holds a word of what was written or asked."""

import asyncio
import base64
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import psutil
import psycopg
import pytest
from psycopg.rows import dict_row

from muniment_server._gen.muniment.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    erasure_pb2,
    filter_pb2,
    ingest_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    review_pb2,
    review_pb2_grpc,
    subject_pb2,
    subject_pb2_grpc,
    write_pb2,
)
from muniment_server.bootstrap import derive_role_secrets
from muniment_server.bootstrap.embedded import EmbeddedPostgres
from muniment_server.crypto.master import FileMasterKeys
from muniment_server.domain.model import SourceType, TrustLevel
from muniment_server.identity import api_key
from muniment_server.identity.principal import Permission
from muniment_server.storage.admin import NewCredential, create_credential
from support.postgres import reachable_folder
from support.seals import new_key_store, run_elsewhere, seals_of
from support.service import item

STUBS = {
    "GetRecall": audit_pb2_grpc.AuditServiceStub,
    "ExportAudit": audit_pb2_grpc.AuditServiceStub,
    "ListReviews": review_pb2_grpc.ReviewServiceStub,
    "DecideReview": review_pb2_grpc.ReviewServiceStub,
    "ImportMemories": subject_pb2_grpc.SubjectServiceStub,
}
ROOT = Path(__file__).parents[2]
CONTROL = "quoxmarker"

SENTENCES = {
    "statement": "zephyrine keeps her savings under the velvomat",
    "restated": "zephyrine drinks brumtea before sunrise",
    "corrected": "zephyrine lodges at 12 rue quillefort",
    "correction": "zephyrine moved to 7 quai brasmont",
    "slotted": "the wardrobe code of zephyrine is oxbeltane",
    "slotted anew": "the wardrobe code of zephyrine is quandrixel",
    "chinese": "凤梨花生酱让泽菲琳严重过敏",
    "cyrillic": "зефирина боится квантовых ежей",
    "emoji": "zephyrine 🦔 quilbert 🦔",
    "in a space": "the plinkfolder lies in drawer nine",
    "erased by id": "zephyrine owes krumholt three hundred crowns",
    "refused": "zephyrine claims the flimmer prize",
    "timed out": "zephyrine waits for the drossel train",
    "asked only": "does zephyrine trust the wimborne brothers",
    "asked in vain": "which nostrix does zephyrine take at night",
    "a turn": "zephyrine told her aunt about the gollbertine",
    "hearsay": "zephyrine is said to fear the mundrakel",
    "edited by a reviewer": "zephyrine respects the trubelfink",
    "imported": "zephyrine brought a schnorrkiste along",
    "asked of the past": "what of the ombelturm did zephyrine know",
    "attribute value": "vexelhardtian remark about stones",
    "attribute name": "quengelfield",
    "subject": "subject-wilhelmotte@krondorp.example",
    "other subject": "subject-hildegundine@krondorp.example",
    "space": "space-of-the-garblesheets",
}


def telling(sentence: str) -> str:
    """The longest word of a sentence that is in no other: whoever finds the sentence finds it."""
    others = " ".join(other for other in SENTENCES.values() if other != sentence)
    words = [word for word in re.findall(r"\w+", sentence) if word not in others]
    # Five characters of a script without spaces are a phrase already.
    return max(words, key=len)[: 5 if "\u4e00" <= max(words, key=len)[0] <= "\u9fff" else None]


WORDS = {name: telling(sentence) for name, sentence in SENTENCES.items()}


def spellings(text: str) -> set[bytes]:
    """A text as it may stand in a file."""
    found: set[bytes] = set()
    for plain in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be")):
        found |= {plain, plain.hex().encode(), plain.hex().upper().encode()}
        for shift in range(3):
            encoded = base64.b64encode(bytes(shift) + plain).rstrip(b"=")
            # The characters at both ends hold bits of the neighbours as well.
            middle = encoded[(0, 2, 3)[shift] : len(encoded) - bool((shift + len(plain)) % 3)]
            found |= {middle, middle.translate(bytes.maketrans(b"+/", b"-_"))}
    if not text.isascii():
        found.add(json.dumps(text)[1:-1].encode())
    return found


_EMPTINESS = re.compile(rb"\0{64,}")


def search(folder: Path, texts: Iterable[str]) -> dict[str, set[str]]:
    """Which texts stand in which files of a folder, in whatever spelling."""
    needles = [(needle, text) for text in texts for needle in spellings(text)]
    found: dict[str, set[str]] = {}
    seen: dict[bytes, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with suppress(FileNotFoundError):
            # Most of a database's files is emptiness, and many are equal.
            content = _EMPTINESS.sub(bytes(64), path.read_bytes())
            hits = seen.get(content)
            if hits is None:
                hits = seen[content] = [text for needle, text in needles if needle in content]
            for text in hits:
                found.setdefault(text, set()).add(str(path.relative_to(folder)))
    return found


@dataclass
class Installation:
    """A running `muniment serve` and everything that it may write to, in one folder."""

    folder: Path
    process: subprocess.Popen[bytes]
    target: str
    channel: grpc.Channel
    key: api_key.ApiKey
    passwords: list[str]
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """MUNIMENT_HOME."""
        return self.folder / "home"

    @contextmanager
    def database(self) -> Iterator[psycopg.Connection[Any]]:
        """A superuser's connection."""
        server = EmbeddedPostgres(self.home, self.passwords[0])
        with psycopg.connect(
            server.superuser_conninfo("muniment"), autocommit=True, row_factory=dict_row
        ) as connection:
            connection.execute("SET search_path = muniment, public")
            yield connection

    def call(self, method: str, request: Any, timeout: float = 60.0) -> Any:
        """Call an RPC."""
        metadata = (("authorization", f"Bearer {self.key.text()}"), ("muniment-tenant", "dev"))
        stub: Any = STUBS.get(method, memory_service_pb2_grpc.MemoryServiceStub)(self.channel)
        answer = getattr(stub, method)(request, metadata=metadata, timeout=timeout)
        return list(answer) if method == "ExportAudit" else answer

    def refused(self, code: str, method: str, request: Any, timeout: float = 60.0) -> None:
        """A call that must fail."""
        with pytest.raises(grpc.RpcError) as caught:
            self.call(method, request, timeout)
        assert caught.value.code().name == code, caught.value  # type: ignore[attr-defined]
        text = str(caught.value) + repr(caught.value.trailing_metadata())  # type: ignore[attr-defined]
        assert not [word for word in WORDS.values() if word in text]

    def everything(self) -> dict[str, set[str]]:
        """What is found of all that was said, after everything was written to the files."""
        with self.database() as connection:
            assert connection.execute("SHOW wal_compression").fetchone() == {"wal_compression": "off"}
            connection.execute("SELECT pg_switch_wal()")
            connection.execute("CHECKPOINT")
        return search(self.folder, WORDS.values())


def _environment(folder: Path) -> dict[str, str]:
    for name in ("tmp", "user"):
        (folder / name).mkdir(mode=0o777, exist_ok=True)
        (folder / name).chmod(0o777)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OTEL_"))}
    return {
        **kept,
        "PYTHONPATH": str(ROOT / "server"),
        "MUNIMENT_HOME": str(folder / "home"),
        "MUNIMENT_DRAIN_DELAY": "0",
        "MUNIMENT_LOG_LEVEL": "DEBUG",
        # Whatever is put into temporary or user's folders is searched as well.
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "user"),
        "OTEL_TRACES_EXPORTER": "console",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    """A first start in a folder of its own."""
    with reachable_folder() as folder:
        with (folder / "stdout.log").open("wb") as out, (folder / "stderr.log").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "muniment_server", "serve", "--listen", "127.0.0.1:0"],
                stdout=out,
                stderr=err,
                env=_environment(folder),
            )
        try:
            target = _target(folder / "stdout.log", process)
            secrets = asyncio.run(
                derive_role_secrets(FileMasterKeys(folder / "home" / "keys" / "master.key"))
            )
            passwords = [secrets.passwords["postgres"], *secrets.passwords.values()]
            key = api_key.generate()
            with grpc.insecure_channel(target) as channel:
                made = Installation(folder, process, target, channel, key, passwords)
                store = new_key_store(folder / "home" / "keys")
                with made.database() as connection:
                    create_credential(
                        connection,
                        NewCredential(
                            key.public_id,
                            key.digest(),
                            "test",
                            ("dev",),
                            tuple(Permission),
                            tuple(SourceType),
                            TrustLevel.CONFIRMED,
                        ),
                        seals=seals_of(store),
                    )
                run_elsewhere(store.close())
                yield made
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0


def _target(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = 100.0
    while process.poll() is None and deadline > 0:
        match = re.search(r"serves on (\S+)", log.read_text())
        if match is not None and "Not wanted any more" in log.read_text():
            return match[1]
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
        deadline -= 0.1
    raise AssertionError("the service did not start")


def _subject(name: str = "subject") -> memory_pb2.Scope:
    return memory_pb2.Scope(subject=SENTENCES[name])


def _use_everything(made: Installation) -> None:
    texts, ids, call = SENTENCES, made.ids, made.call
    special = item(texts["statement"], tags=["plain-tag"])
    special.attributes[texts["attribute name"]] = texts["attribute value"]
    names = ("restated", "corrected", "chinese", "cyrillic", "emoji", "erased by id")
    items = [special, *(item(texts[name]) for name in names), item(texts["slotted"], slot="code")]
    written = call(
        "Write",
        memory_service_pb2.WriteRequest(scope=_subject(), items=items, request_id=str(uuid4())),
    )
    for name, result in zip(("statement", *names, "slotted"), written.results, strict=True):
        ids[name] = result.memory.memory_id
    for content, fields in ((texts["restated"], {}), (texts["slotted anew"], {"slot": "code"})):
        call("Write", memory_service_pb2.WriteRequest(scope=_subject(), items=[item(content, **fields)]))
    call(
        "Write",
        memory_service_pb2.WriteRequest(
            scope=memory_pb2.Scope(space=texts["space"]), items=[item(texts["in a space"])]
        ),
    )
    call(
        "Write",
        memory_service_pb2.WriteRequest(scope=_subject("other subject"), items=[item(texts["restated"])]),
    )
    call(
        "Supersede",
        memory_service_pb2.SupersedeRequest(
            memory_id=ids["corrected"], item=item(texts["correction"]), request_id=str(uuid4())
        ),
    )
    for query in (*texts.values(), texts["asked only"]):
        recalled = call(
            "Recall",
            memory_service_pb2.RecallRequest(
                scope=_subject(), query=query, min_score=0.0, token_budget=2_000, explain=True
            ),
        )
    assert texts["statement"] in recalled.packed_context.text
    call(
        "ReportUse",
        memory_service_pb2.ReportUseRequest(
            recall_id=recalled.recall_id,
            memory_ids=[recalled.memories[0].memory.memory_id],
            request_id=str(uuid4()),
        ),
    )
    call("GetRecall", audit_pb2.GetRecallRequest(recall_id=recalled.recall_id))
    call("GetMemory", memory_service_pb2.GetMemoryRequest(memory_id=ids["statement"], include_revisions=True))
    call("ListMemories", memory_service_pb2.ListMemoriesRequest(scope=_subject()))
    call("Audit", memory_service_pb2.AuditRequest(filter=audit_pb2.AuditFilter(scope=_subject())))
    call("ExportAudit", audit_pb2.ExportAuditRequest())
    talk = memory_pb2.Scope(subject=texts["subject"], session="talk")
    said = ingest_pb2.IngestTurn(number=1, role=ingest_pb2.TURN_ROLE_USER, content=texts["a turn"])
    for mode in (ingest_pb2.EXTRACTION_MODE_QUEUED, ingest_pb2.EXTRACTION_MODE_SYNC):
        call("Ingest", ingest_pb2.IngestRequest(scope=talk, turns=[said], mode=mode))
    hearsay = item(
        texts["hearsay"], provenance=memory_pb2.Provenance(source_type=memory_pb2.SOURCE_TYPE_THIRD_PARTY)
    )
    waiting = call("Write", memory_service_pb2.WriteRequest(scope=_subject(), items=[hearsay])).results[0]
    call("ListReviews", review_pb2.ListReviewsRequest())
    call(
        "DecideReview",
        review_pb2.DecideReviewRequest(
            memory_id=waiting.memory.memory_id,
            decision=review_pb2.REVIEW_DECISION_EDIT,
            content=texts["edited by a reviewer"],
        ),
    )
    records = [subject_pb2.MemoryRecord(item=item(texts["imported"]))]
    call("ImportMemories", subject_pb2.ImportMemoriesRequest(scope=_subject(), records=records))
    call(
        "Recall",
        memory_service_pb2.RecallRequest(
            scope=_subject(), query=texts["asked of the past"], as_of_time=waiting.memory.create_time
        ),
    )
    target = erasure_pb2.ErasureTarget(memories=erasure_pb2.MemoriesTarget(memory_ids=[ids["erased by id"]]))
    call("Erase", memory_service_pb2.EraseRequest(target=target, request_id=str(uuid4())))


def _fail_in_every_way(made: Installation) -> None:
    """Calls that are refused before, in and behind the database; each with a sentence in it."""
    refused = SENTENCES["refused"]
    item_of = item(refused)
    Write, Recall = memory_service_pb2.WriteRequest, memory_service_pb2.RecallRequest  # noqa: N806
    made.refused(
        "INVALID_ARGUMENT", "Write", Write(scope=_subject(), items=[item(refused + "\x01", slot=refused)])
    )
    made.refused("INVALID_ARGUMENT", "Recall", Recall(scope=_subject(), query=refused + "\x00"))
    made.refused("INVALID_ARGUMENT", "Recall", Recall(scope=_subject(), query=refused, limit=0))
    made.refused(
        "INVALID_ARGUMENT",
        "ListMemories",
        memory_service_pb2.ListMemoriesRequest(scope=_subject(), page_token=refused),
    )
    made.refused(
        "NOT_FOUND", "Supersede", memory_service_pb2.SupersedeRequest(memory_id=str(uuid4()), item=item_of)
    )
    mark = str(uuid4())
    made.call("Write", Write(scope=_subject(), items=[item(SENTENCES["restated"])], request_id=mark))
    made.refused("ALREADY_EXISTS", "Write", Write(scope=_subject(), items=[item_of], request_id=mark))
    made.refused(
        "INVALID_ARGUMENT",
        "Recall",
        Recall(
            scope=_subject(),
            query=refused,
            filter=filter_pb2.MemoryFilter(
                properties=[
                    filter_pb2.PropertyCondition(
                        key=refused, equals=memory_pb2.PropertyValue(string_value=refused)
                    )
                ]
            ),
        ),
    )
    # The database itself ends statements that have these texts among their parameters.
    waiting = SENTENCES["timed out"]
    with made.database() as connection, connection.transaction():
        connection.execute("LOCK TABLE memory IN ACCESS EXCLUSIVE MODE")
        made.refused(
            "DEADLINE_EXCEEDED", "Write", Write(scope=_subject(), items=[item(waiting)]), timeout=1.5
        )
        made.refused("DEADLINE_EXCEEDED", "Recall", Recall(scope=_subject(), query=waiting), timeout=1.5)
    # And refuses a row: the number that it would get is taken.
    with made.database() as connection:
        connection.execute("SET session_replication_role = replica")
        moved = (made.ids["chinese"],)
        connection.execute("UPDATE memory SET doc_no = doc_no + 100000 WHERE memory_id = %s", moved)
        connection.execute(
            "UPDATE memory m SET doc_no = s.next_doc FROM scope s WHERE s.scope_id = m.scope_id"
            " AND m.memory_id = %s",
            moved,
        )
    made.refused("DATA_LOSS", "Write", Write(scope=_subject(), items=[item_of]))
    past = memory_pb2.Memory().create_time
    past.GetCurrentTime()
    made.refused(
        "UNIMPLEMENTED", "Recall", Recall(scope=_subject(), query=refused, as_of_time=past, legs=[4])
    )
    made.refused(
        "INVALID_ARGUMENT", "Write", Write(scope=_subject(), items=[write_pb2.WriteItem(content=refused)])
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_file_holds_what_was_written_or_asked(installation: Installation) -> None:
    made = installation
    _use_everything(made)
    made.call("Recall", memory_service_pb2.RecallRequest(scope=_subject(), query=SENTENCES["asked in vain"]))
    _fail_in_every_way(made)
    assert made.everything() == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_stands_in_clear_is_found(installation: Installation) -> None:
    """The control: the search sees a sentence that is really there, in every spelling."""
    with installation.database() as connection:
        connection.execute("CREATE TABLE public.control (plain text, raw bytea)")
        connection.execute(
            "INSERT INTO public.control VALUES (%s, %s), (%s, %s), (%s, NULL), (%s, NULL)",
            (
                CONTROL,
                CONTROL.encode("utf-16-le"),
                CONTROL.encode().hex(),
                CONTROL.encode("utf-16-be"),
                base64.b64encode(b"x" + CONTROL.encode()).decode(),
                base64.b64encode(b"xy" + CONTROL.encode()).decode(),
            ),
        )
        connection.execute("CHECKPOINT")
    found = search(installation.folder, [CONTROL])[CONTROL]
    assert any("/base/" in path for path in found)
    assert any("pg_wal" in path for path in found)
    for needle in {
        CONTROL.encode(),
        CONTROL.encode("utf-16-le"),
        CONTROL.encode().hex().encode(),
        base64.b64encode(b"\0\0" + CONTROL.encode())[3:-4],
    }:
        hits = [
            path for path in installation.folder.rglob("*") if path.is_file() and needle in path.read_bytes()
        ]
        assert hits, needle
    with installation.database() as connection:
        connection.execute("DROP TABLE public.control")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_file_holds_what_was_erased_nor_its_key(installation: Installation) -> None:
    made = installation
    wrapped = _wrapped_keys(made.home / "keys" / "keystore.sqlite")
    assert _kept(made.folder, wrapped) == wrapped
    for owner in (_subject(), _subject("other subject"), memory_pb2.Scope(space=SENTENCES["space"])):
        target = erasure_pb2.ErasureTarget(scope=erasure_pb2.ScopeTarget(scope=owner))
        receipt = made.call("Erase", memory_service_pb2.EraseRequest(target=target)).receipt
        assert receipt.state == erasure_pb2.ERASURE_STATE_COMPLETE
        assert receipt.counts.memories >= 1
        assert receipt.keys_destroyed == 1
    assert made.everything() == {}
    with made.database() as connection:
        left = connection.execute("SELECT count(*) AS n FROM memory").fetchone()
    assert left == {"n": 0}
    destroyed = wrapped - _wrapped_keys(made.home / "keys" / "keystore.sqlite")
    assert len(destroyed) == 3
    assert _kept(made.folder, destroyed) == set()


def _wrapped_keys(store: Path) -> set[bytes]:
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as keys:
        return {bytes(row[0]) for row in keys.execute("SELECT wrapped FROM wrapped_key")}


def _kept(folder: Path, wrapped: set[bytes]) -> set[bytes]:
    """Which keys a file holds a piece of; a page may end inside of one."""
    kept = set()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            kept |= {key for key in wrapped if key[:16] in content or key[-16:] in content}
    return kept


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_secret_stands_in_logs_files_or_arguments(installation: Installation) -> None:
    made = installation
    home = made.home
    dev_key = (home / "dev-key").read_text().strip()
    master = (home / "keys" / "master.key").read_text().strip()
    secrets = {
        made.key.secret,
        *made.passwords,
        *(part for part in master.split() if len(part) > 30),
    }
    found = search(made.folder, secrets)
    # The master key stands in its own file, which only its owner may read, and nowhere else.
    assert set().union(*found.values()) <= {"home/keys/master.key"}
    found = search(made.folder, [dev_key.rpartition("_")[2]])
    # Shown once, on a terminal or in whatever the operator sends the output to.
    assert set().union(*found.values()) <= {"home/dev-key", "stdout.log"}
    processes = [psutil.Process(made.process.pid)]
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(home) in " ".join(process.cmdline()):
                processes += [process, *process.children(recursive=True)]
    # The service, and the database with its own processes.
    assert len(processes) > 5
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            arguments = " ".join(process.cmdline())
            assert not [one for one in {*secrets, dev_key} if one in arguments]
