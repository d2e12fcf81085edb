"""What a tenant wants done about what the gates find. The defaults are those of a fresh tenant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel

from .base import Verdict


class Sensitive(StrEnum):
    """A sort of secret or personal data that is detected. The value is the rule's name."""

    CARD = "CARD_NUMBER"
    RESIDENT_ID = "RESIDENT_ID"
    IBAN = "IBAN"
    PHONE = "PHONE_NUMBER"
    EMAIL = "EMAIL_ADDRESS"
    API_KEY = "API_KEY"
    PRIVATE_KEY = "PRIVATE_KEY"
    JWT = "JSON_WEB_TOKEN"

    @property
    def placeholder(self) -> str:
        """What stands in the text instead."""
        return f"[REDACTED:{_PLACEHOLDERS[self]}]"


_PLACEHOLDERS = {
    Sensitive.CARD: "CARD",
    Sensitive.RESIDENT_ID: "RESIDENT_ID",
    Sensitive.IBAN: "IBAN",
    Sensitive.PHONE: "PHONE",
    Sensitive.EMAIL: "EMAIL",
    Sensitive.API_KEY: "API_KEY",
    Sensitive.PRIVATE_KEY: "PRIVATE_KEY",
    Sensitive.JWT: "JWT",
}


class Handling(StrEnum):
    """What is done with something sensitive."""

    ALLOW = "allow"
    """Stored as it is, and not looked for."""
    ENCRYPT_ONLY = "encrypt_only"
    """Stored, encrypted like every content; index and vector are made of the text without it."""
    REDACT = "redact"
    """A typed placeholder takes its place, for good."""
    REJECT = "reject"
    """The call is refused."""


DEFAULT_HANDLING: Mapping[Sensitive, Handling] = {
    Sensitive.CARD: Handling.REDACT,
    Sensitive.RESIDENT_ID: Handling.REDACT,
    Sensitive.IBAN: Handling.REDACT,
    Sensitive.PHONE: Handling.ALLOW,
    Sensitive.EMAIL: Handling.ALLOW,
    Sensitive.API_KEY: Handling.REDACT,
    Sensitive.PRIVATE_KEY: Handling.REDACT,
    Sensitive.JWT: Handling.REDACT,
}
"""How to reach a person is what memories are for, so phone numbers and addresses stay."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is done with suspicious text, by how far its source is trusted before the gate.

    low: up to LOW. medium: MEDIUM. high: HIGH and CONFIRMED. Each is PASS (told only), MARK, REVIEW,
    QUARANTINE or REJECT; anything but PASS brings the trust down to LOW.

    What a tool or a third party says never stands among the trusted lines of a packed context, so a mark
    is enough there; an agent's own statement would, so it is kept apart.
    """

    low: Verdict = Verdict.MARK
    medium: Verdict = Verdict.QUARANTINE
    high: Verdict = Verdict.MARK

    def verdict(self, trust: TrustLevel) -> Verdict:
        """The verdict for a source of this trust."""
        if trust >= TrustLevel.HIGH:
            return self.high
        return self.medium if trust is TrustLevel.MEDIUM else self.low


_MARK = Suspicion(Verdict.MARK, Verdict.MARK, Verdict.MARK)


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """A tenant's policy for what is written.

    sensitive: per sort; what is missing there has its default. sensitive_by_kind: exceptions for a kind.
    regions: ISO 3166 codes in which a phone number without a country code is looked for.
    min_importance: below it an item is dropped, from 0 (nothing) to 1. extraction_min_importance: the same
    for what an extractor proposes. min_confidence: below it, an item whose source is trusted less than HIGH
    waits for review. review_sources: sources whose word always waits for review. importance_factors: what
    the weights of the importance are multiplied with, by name; 1 for what is missing.
    """

    sensitive: Mapping[Sensitive, Handling] = field(default_factory=dict)
    sensitive_by_kind: Mapping[MemoryKind, Mapping[Sensitive, Handling]] = field(default_factory=dict)
    regions: tuple[str, ...] = ("CN", "US", "GB", "DE")
    instructions: Suspicion = Suspicion()
    stuffing: Suspicion = _MARK
    min_importance: float = 0.0
    extraction_min_importance: float = 0.35
    importance_factors: Mapping[str, float] = field(default_factory=dict)
    min_confidence: float = 0.3
    review_sources: frozenset[SourceType] = frozenset({SourceType.THIRD_PARTY})

    def handling(self, sort: Sensitive, kind: MemoryKind) -> Handling:
        """What is done with one sort in memories of a kind."""
        found = self.sensitive_by_kind.get(kind, {}).get(sort) or self.sensitive.get(sort)
        return found or DEFAULT_HANDLING[sort]


DEFAULT_POLICY = GatePolicy()
