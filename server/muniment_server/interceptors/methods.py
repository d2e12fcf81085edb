"""What each RPC needs: its permission and its class. A method that is missing here is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from muniment_server.identity.principal import Permission


class MethodClass(StrEnum):
    """Calls of one class share a deadline rule and a concurrency limit."""

    RECALL = "recall"
    WRITE = "write"
    ERASE = "erase"
    AUDIT = "audit"
    EXPORT = "export"
    STREAM = "stream"
    """A request that goes on for as long as the caller has something to say."""


@dataclass(frozen=True, slots=True)
class MethodRule:
    """permissions: any one of them is enough; the first is the one named in a refusal."""

    method_class: MethodClass
    permissions: tuple[Permission, ...]


_MEMORY: Final = "muniment.v1.MemoryService/"
_AUDIT: Final = "muniment.v1.AuditService/"
_REVIEW: Final = "muniment.v1.ReviewService/"
_SUBJECT: Final = "muniment.v1.SubjectService/"

METHODS: Final[Mapping[str, MethodRule]] = MappingProxyType(
    {
        _MEMORY + "Write": MethodRule(MethodClass.WRITE, (Permission.WRITE,)),
        _MEMORY + "Recall": MethodRule(MethodClass.RECALL, (Permission.RECALL,)),
        _MEMORY + "Supersede": MethodRule(MethodClass.WRITE, (Permission.SUPERSEDE,)),
        _MEMORY + "Erase": MethodRule(MethodClass.ERASE, (Permission.ERASE,)),
        _MEMORY + "GetErasure": MethodRule(MethodClass.RECALL, (Permission.ERASE, Permission.AUDIT)),
        _MEMORY + "GetMemory": MethodRule(MethodClass.RECALL, (Permission.RECALL,)),
        _MEMORY + "ListMemories": MethodRule(MethodClass.RECALL, (Permission.RECALL,)),
        _MEMORY + "ReportUse": MethodRule(MethodClass.WRITE, (Permission.RECALL,)),
        _MEMORY + "Ingest": MethodRule(MethodClass.WRITE, (Permission.WRITE,)),
        _MEMORY + "StreamIngest": MethodRule(MethodClass.STREAM, (Permission.WRITE,)),
        _MEMORY + "GetIngest": MethodRule(MethodClass.RECALL, (Permission.WRITE, Permission.RECALL)),
        _MEMORY + "Restore": MethodRule(MethodClass.WRITE, (Permission.SUPERSEDE,)),
        _MEMORY + "Retract": MethodRule(MethodClass.WRITE, (Permission.SUPERSEDE,)),
        _MEMORY + "UndoWrite": MethodRule(MethodClass.WRITE, (Permission.SUPERSEDE,)),
        _REVIEW + "ListReviews": MethodRule(MethodClass.RECALL, (Permission.REVIEW,)),
        _REVIEW + "DecideReview": MethodRule(MethodClass.WRITE, (Permission.REVIEW,)),
        _SUBJECT + "SetConsent": MethodRule(MethodClass.ERASE, (Permission.ERASE, Permission.ADMIN)),
        _SUBJECT + "GetConsent": MethodRule(MethodClass.RECALL, (Permission.RECALL,)),
        _SUBJECT + "DescribeSubject": MethodRule(MethodClass.RECALL, (Permission.RECALL,)),
        _SUBJECT + "ExportMemories": MethodRule(MethodClass.EXPORT, (Permission.RECALL,)),
        _SUBJECT + "ImportMemories": MethodRule(MethodClass.WRITE, (Permission.WRITE,)),
        _MEMORY + "Audit": MethodRule(MethodClass.AUDIT, (Permission.AUDIT,)),
        _AUDIT + "GetRecall": MethodRule(MethodClass.AUDIT, (Permission.AUDIT,)),
        _AUDIT + "ExportAudit": MethodRule(MethodClass.EXPORT, (Permission.AUDIT,)),
    }
)
"""Rules by fully qualified method, without a leading slash."""

UNGUARDED_PREFIXES: Final = ("/grpc.health.v1.Health/", "/grpc.reflection.")
"""Services that pass around the chain: they need no credential and touch no tenant's data."""
