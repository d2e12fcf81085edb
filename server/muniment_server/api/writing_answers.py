"""What a write answers about its items, as messages of the contract."""

from collections.abc import Iterable
from dataclasses import replace

from muniment_server._gen.muniment.v1 import memory_pb2, memory_service_pb2, write_pb2
from muniment_server.api import answers
from muniment_server.application.supersede import Superseded
from muniment_server.domain.conflicts import PossibleConflict
from muniment_server.domain.gates.base import Finding
from muniment_server.domain.importance import Factor
from muniment_server.domain.write_result import WriteResult

_SECRET = "Something was found that must not be kept, and a placeholder stands in its place."  # noqa: S105
_SUSPICIOUS = "The text reads like an instruction to whoever recalls it, so a person decides."
_EXPLANATIONS = {
    "LESS_TRUSTED_THAN_CORRECTED": (
        "The source is less trusted than the memory it corrects, so the correction waits for review."
    ),
    "CARD_NUMBER": _SECRET,
    "RESIDENT_ID": _SECRET,
    "IBAN": _SECRET,
    "PHONE_NUMBER": _SECRET,
    "EMAIL_ADDRESS": _SECRET,
    "API_KEY": _SECRET,
    "PRIVATE_KEY": _SECRET,
    "JSON_WEB_TOKEN": _SECRET,
    "OVERRIDE": _SUSPICIOUS,
    "NEW_ROLE": _SUSPICIOUS,
    "ROLE_TAG": _SUSPICIOUS,
    "TOOL_CALL": _SUSPICIOUS,
    "REVEAL": _SUSPICIOUS,
    "EXFILTRATION": _SUSPICIOUS,
    "STANDING_ORDER": _SUSPICIOUS,
    "CONCEALMENT": _SUSPICIOUS,
    "TRIGGER": _SUSPICIOUS,
    "HIDDEN_TEXT": "The text holds characters that nobody sees, so a person decides.",
    "BIDI_CONTROL": "The text holds characters that reverse its order, so a person decides.",
    "INVISIBLE_CHARACTERS": "The text holds invisible characters inside words, so a person decides.",
    "LOOK_ALIKE_LETTERS": "The text mixes letters that look alike, so a person decides.",
    "REPEATED_WORDS": "The text repeats its words as if to be found for every question, so a person decides.",
    "SLOT_OUT_OF_VIEW": "What it would replace is out of this agent's view, so a person decides.",
    "JUDGED_CONTRADICTION": "A judge finds that it contradicts what is stored, so a person decides.",
    "JUDGED_SAME": "A judge finds that it says what is stored already, so a person decides which stays.",
    "LOW_CONFIDENCE": "Whoever wrote it is not sure of it, so it waits for review.",
    "NOT_LOOKED_THROUGH": "The text has more numbers than are looked at, so a person decides.",
    "SOURCE_NEEDS_REVIEW": "The word of this kind of source waits for review.",
    "IMPORTANCE_BELOW_THRESHOLD": "It was not important enough for this tenant; it can be forced.",
    "CONSENT_NONE": "The subject does not want to be remembered.",
    "CONSENT_NOT_NECESSARY": "The subject allows only what is necessary, and this kind is not.",
    "STATE_NOT_IMPORTED": "Only what was live or archived is taken in.",
    "ALREADY_STORED": "The subject has this statement already.",
    "CONSENT_SESSION": "The subject does not want this session to be remembered.",
}


def explanation(rule: str | None) -> str:
    """What a rule means, in a sentence."""
    return _EXPLANATIONS.get(rule or "", "")


def findings(values: Iterable[Finding]) -> list[write_pb2.GateFinding]:
    """What gates found. The verdicts have the contract's numbers."""
    return [
        write_pb2.GateFinding(
            gate=one.gate, rule=one.rule, verdict=answers.number(one.verdict), count=one.count
        )
        for one in values
    ]


def factors(values: Iterable[Factor]) -> list[write_pb2.ScoreFactor]:
    """The factors of an importance."""
    return [
        write_pb2.ScoreFactor(
            name=one.name, value=one.value, weight=one.weight, contribution=one.contribution
        )
        for one in values
    ]


def conflicts(values: Iterable[PossibleConflict]) -> list[write_pb2.PossibleConflict]:
    """Near memories."""
    return [
        write_pb2.PossibleConflict(
            memory_id=str(one.memory_id),
            similarity=one.similarity,
            differences=[answers.number(difference) for difference in one.differences],
            relation=answers.number(one.relation),
            confidence=one.confidence,
        )
        for one in values
    ]


def _written(result: WriteResult) -> memory_pb2.Memory | None:
    """The memory of an item. Of one that the caller may not read, its id and state are all that is told."""
    memory = result.memory
    if memory is not None and memory.kind is not None:
        memory = replace(memory, embedding_state=result.embedding_state)
    return None if memory is None else answers.memory(memory)


def write_results(results: Iterable[WriteResult]) -> list[write_pb2.WriteResult]:
    """The outcome per item."""
    return [
        write_pb2.WriteResult(
            memory=_written(one),
            outcome=answers.number(one.outcome),
            superseded_memory_id=str(one.superseded) if one.superseded else "",
            embedding_state=answers.number(one.embedding_state if one.memory else None),
            possible_conflicts=conflicts(one.conflicts),
            possible_conflicts_partial=one.conflicts_partial,
            rule=one.rule or "",
            explanation=explanation(one.rule),
            findings=findings(one.findings),
            importance_factors=factors(one.factors),
        )
        for one in results
    ]


def superseded(value: Superseded, request_id: str) -> memory_service_pb2.SupersedeResponse:
    """The answer of Supersede."""
    result = value.result
    return memory_service_pb2.SupersedeResponse(
        superseded=answers.memory(value.superseded),
        memory=_written(result),
        outcome=answers.number(result.outcome),
        consistency_token=answers.token(value.consistency_token),
        embedding_state=answers.number(result.embedding_state if result.memory else None),
        possible_conflicts=conflicts(result.conflicts),
        rule=result.rule or "",
        explanation=explanation(result.rule),
        request_id=request_id,
        findings=findings(result.findings),
        importance_factors=factors(result.factors),
    )
