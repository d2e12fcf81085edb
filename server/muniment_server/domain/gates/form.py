"""The gate for size and form: what cannot be stored unaltered is refused with its reason, never altered."""

from muniment_server.domain.statement import check_text

from .base import Finding, GateResult, Statement, Verdict

NAME = "form"
MAX_BYTES = 32_768
TOO_LONG = "string.max_bytes"


class FormGate:
    """Refuses NUL, half surrogate pairs, control characters, and more than 32 KiB of UTF-8.

    Composed and decomposed letters are both stored as they come; two statements that differ in nothing else
    are the same statement (`domain/statement.py`).
    """

    name = NAME

    def check(self, statement: Statement) -> GateResult:
        """See `Gate`. The rule is that of the field violation."""
        refusal = check_text(statement.content)
        if refusal is not None:
            return _refused(str(refusal))
        content = statement.content
        if len(content) > MAX_BYTES // 4 and len(content.encode()) > MAX_BYTES:
            return _refused(TOO_LONG)
        return GateResult(NAME)


def _refused(rule: str) -> GateResult:
    return GateResult(NAME, Verdict.REJECT, rule, [Finding(NAME, rule, Verdict.REJECT)])
