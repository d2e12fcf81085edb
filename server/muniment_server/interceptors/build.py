"""Authenticator and chain from the settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from google.protobuf.message import Message

from muniment_server.config import Settings
from muniment_server.identity.api_key import ApiKeyAuthenticator
from muniment_server.identity.authenticator import Authenticator
from muniment_server.identity.jwt import JwtAuthenticator, JwtSettings
from muniment_server.identity.source import CredentialSource
from muniment_server.interceptors.authentication import AuthenticationStage
from muniment_server.interceptors.chain import Chain, stages
from muniment_server.interceptors.deadline import DeadlineRule, DeadlineStage
from muniment_server.interceptors.errors import ErrorStage, OnDenied, Translation
from muniment_server.interceptors.limits import LimitStage
from muniment_server.interceptors.methods import MethodClass
from muniment_server.interceptors.permission import PermissionStage
from muniment_server.interceptors.telemetry import TelemetryStage
from muniment_server.interceptors.validation import ValidationStage


@dataclass(frozen=True, slots=True)
class Guard:
    """What stands in front of the handlers.

    chain: the one interceptor of the server. errors: to `drain` before storage is closed.
    """

    chain: Chain
    errors: ErrorStage
    limits: LimitStage


async def build_authenticator(settings: Settings, source: CredentialSource) -> Authenticator:
    """The authenticator; with an issuer configured its keys are read. Raises JwksError."""
    tokens: JwtAuthenticator | None = None
    if settings.oidc_issuer is not None and settings.oidc_audience is not None:
        tokens = JwtAuthenticator(
            JwtSettings(
                settings.oidc_issuer,
                settings.oidc_audience,
                jwks_url=settings.oidc_jwks_url,
                jwks_file=settings.oidc_jwks_file,
            ),
            source,
        )
        await tokens.start()
    return Authenticator(ApiKeyAuthenticator(source), tokens)


def build_guard(
    settings: Settings,
    authenticator: Authenticator,
    *,
    translate: Translation,
    on_denied: OnDenied | None = None,
    messages: Iterable[type[Message]] = (),
) -> Guard:
    """The chain with the settings' deadlines and limits.

    messages: request types whose validation rules are compiled now, and not with their first call.
    """
    deadlines = {
        each: DeadlineRule(
            default=getattr(settings, f"deadline_{each}"),
            ceiling=getattr(settings, f"deadline_ceiling_{each}"),
        )
        for each in MethodClass
    }
    errors = ErrorStage(translate, on_denied)
    limits = LimitStage({each: getattr(settings, f"concurrency_{each}") for each in MethodClass})
    ordered = stages(
        TelemetryStage(settings.host, settings.port),
        errors,
        DeadlineStage(deadlines),
        AuthenticationStage(authenticator),
        PermissionStage(),
        limits,
        ValidationStage(messages),
    )
    return Guard(Chain(ordered), errors, limits)
