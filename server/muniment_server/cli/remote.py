"""What commands share that ask a running server: the channel, the credential, errors in words."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import CommandError

if TYPE_CHECKING:
    from muniment_server._gen.muniment.v1 import (
        audit_pb2_grpc,
        memory_pb2,
        memory_service_pb2_grpc,
        review_pb2_grpc,
        subject_pb2_grpc,
    )

Subject = Annotated[str, typer.Option(help="The subject.")]
Space = Annotated[str, typer.Option(help="The space, instead of a subject.")]
Target = Annotated[str, typer.Option(envvar="MUNIMENT_TARGET", help="Address and port of the server.")]
Tenant = Annotated[str, typer.Option(envvar="MUNIMENT_TENANT", help="The tenant's name.")]
Tls = Annotated[bool, typer.Option("--tls", help="Speak TLS, trusting what this machine trusts.")]
CaFile = Annotated[
    Path | None, typer.Option(help="PEM file of the authority to trust instead; implies --tls.")
]
DEFAULT_TARGET = "127.0.0.1:7443"
_KEY = "MUNIMENT_API_KEY"
_TIMEOUT = 30.0
_EXPORT_TIMEOUT = 3600.0
_BINDINGS = ("tenant", "subject", "space", "agent")
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Remote:
    """Stubs of the services, and what every call of a command needs."""

    memory: "memory_service_pb2_grpc.MemoryServiceStub"
    audit: "audit_pb2_grpc.AuditServiceStub"
    review: "review_pb2_grpc.ReviewServiceStub"
    subject: "subject_pb2_grpc.SubjectServiceStub"
    options: dict[str, Any]
    export_options: dict[str, Any]


def owner(subject: str, space: str) -> "memory_pb2.Scope":
    """The scope that one of two options names. Raises CommandError."""
    from muniment_server._gen.muniment.v1 import memory_pb2

    if bool(subject) == bool(space):
        raise CommandError("Give --subject or --space, one of them.")
    return memory_pb2.Scope(subject=subject) if subject else memory_pb2.Scope(space=space)


@contextmanager
def remote(
    target: str, tenant: str, tls: bool, ca_file: Path | None, permission: str = "audit"
) -> Iterator[Remote]:
    """A channel to a server; the API key comes from MUNIMENT_API_KEY and must have the permission.

    Errors of calls made inside become CommandErrors with reason and text of the server.
    """
    import os

    import grpc

    from muniment_server._gen.muniment.v1 import (
        audit_pb2_grpc,
        memory_service_pb2_grpc,
        review_pb2_grpc,
        subject_pb2_grpc,
    )

    key = os.environ.get(_KEY, "").strip()
    if _TOKEN.fullmatch(key) is None:
        raise CommandError(f"Set {_KEY} to an API key with the permission {permission}.")
    metadata = (("authorization", f"Bearer {key}"), ("muniment-tenant", tenant), ("muniment-client", "cli"))
    with channel_to(target, tls, ca_file) as channel:
        try:
            yield Remote(
                memory_service_pb2_grpc.MemoryServiceStub(channel),
                audit_pb2_grpc.AuditServiceStub(channel),
                review_pb2_grpc.ReviewServiceStub(channel),
                subject_pb2_grpc.SubjectServiceStub(channel),
                {"metadata": metadata, "timeout": _TIMEOUT},
                {"metadata": metadata, "timeout": _EXPORT_TIMEOUT},
            )
        except grpc.RpcError as error:
            raise CommandError(_words(error, target, secure=tls or ca_file is not None)) from None


def channel_to(target: str, tls: bool, ca_file: Path | None) -> Any:
    """A channel as the options ask for it. Raises CommandError for a file that cannot be read."""
    import grpc

    options = (("grpc.max_receive_message_length", 8 * 1024 * 1024),)
    if not tls and ca_file is None:
        return grpc.insecure_channel(target, options)
    try:
        roots = ca_file.read_bytes() if ca_file else None
    except OSError as error:
        raise CommandError(f"{ca_file} cannot be read: {error.strerror}.") from None
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(roots), options)


def _words(error: Any, target: str, *, secure: bool) -> str:
    import grpc
    from google.rpc import error_details_pb2  # type: ignore[import-untyped]
    from grpc_status import rpc_status

    status = rpc_status.from_call(error)
    if status is not None:
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            if detail.Is(info.DESCRIPTOR) and detail.Unpack(info):
                return f"{status.message} ({info.reason}{_lacking(info.metadata)})"
    text = f"{target} does not answer ({error.code().name})."
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        text += " " + (
            "Does it serve TLS, and does --ca-file name the authority that signed its certificate?"
            if secure
            else "If it serves TLS: --tls, or --ca-file with the authority that signed its certificate."
        )
    return text


def _lacking(metadata: Mapping[str, str]) -> str:
    """Which of the causes that the message names it was."""
    permission, source = metadata.get("permission", ""), metadata.get("source_type", "")
    if permission in _BINDINGS:
        return f", the credential's {permission}"
    if permission:
        return f", missing permission {permission}"
    return f", source type {source.lower()}" if source else ""
