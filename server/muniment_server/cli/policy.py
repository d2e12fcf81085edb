"""What the commands for settings and views share: reading a tenant's policy, and changing it in one act."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from .operator import check_tenant_name, operation
from .output import CommandError

if TYPE_CHECKING:
    from muniment_server.application.policies import TenantPolicy
    from muniment_server.crypto.tenant_key import TenantKey
    from muniment_server.domain.administration import Administered
    from muniment_server.storage.policies import PolicyRows

_BROKEN = (
    "Settings or views of {tenant} are not what an operator set: {error}. The service refuses the tenant's"
    " calls until they are. `muniment audit list` tells what was set; `muniment settings reset --tenant"
    " {tenant}` puts everything back to the defaults."
)


@dataclass(frozen=True, slots=True)
class Known:
    """A tenant's policy, the values it set as JSON texts, and when it set each of them and each view."""

    policy: "TenantPolicy"
    values: Mapping[str, str]
    set_times: Mapping[str, datetime]
    view_times: Mapping[str, datetime]


Edit = Callable[["TenantKey", "PolicyRows"], "tuple[PolicyRows, Administered]"]


def read(tenant: str) -> Known:
    """What a tenant set. Raises CommandError where its rows do not hold."""
    from muniment_server.application.policies import PolicyBroken, to_policy
    from muniment_server.storage.policies import read_policy_as_owner

    check_tenant_name(tenant)
    with operation() as it:
        tenant_id, rows = read_policy_as_owner(it.connection, tenant)
        key = it.run(it.store.tenant_key(tenant_id))
    try:
        policy, _ = to_policy(key, rows)
    except PolicyBroken as error:
        raise CommandError(_BROKEN.format(tenant=tenant, error=error)) from None
    return Known(policy, rows.settings, rows.set_times, rows.view_times)


def change(tenant: str, edit: Edit, *, checked: bool = True) -> None:
    """Change a tenant's policy and record it, all or nothing.

    edit: gets the rows and returns the new ones, and what the trail says but for their revision and digest.
    checked: refuse rows that do not hold. Raises CommandError.
    """
    from muniment_server.application.policies import PolicyBroken, check_rows, policy_digest, signed
    from muniment_server.storage.policies import change_policy

    check_tenant_name(tenant)
    with operation() as it:

        def apply(tenant_id: UUID, before: "PolicyRows") -> "tuple[PolicyRows, Administered]":
            key = it.run(it.store.tenant_key(tenant_id))
            if checked:
                try:
                    check_rows(key, before)
                except PolicyBroken as error:
                    raise CommandError(_BROKEN.format(tenant=tenant, error=error)) from None
            edited, told = edit(key, before)
            after = signed(key, replace(edited, revision=before.revision + 1))
            return after, replace(told, policy_revision=after.revision, policy_digest=policy_digest(after))

        change_policy(it.connection, tenant, apply, it.trail)
