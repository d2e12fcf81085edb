"""Fifth stage: may this credential call this method at all?"""

from __future__ import annotations

from muniment_server.domain.errors import PermissionDenied, Unimplemented
from muniment_server.interceptors.call import Call


class PermissionStage:
    """Checks the method's permission. A method without a rule is not offered to anybody."""

    name = "permission"

    async def __call__(self, call: Call) -> object:
        rule = call.rule
        if rule is None:
            raise Unimplemented(call.method)
        if call.principal is None or not any(call.principal.allows(each) for each in rule.permissions):
            raise PermissionDenied(rule.permissions[0].value)
        return await call.proceed()
