"""The contract's gRPC service config as source text, for languages whose runtime cannot read the JSON."""

from pathlib import Path
from typing import Any


def _mark(source: Path) -> str:
    return f"// Generated from {source.as_posix()} by `make generate`. Do not edit.\n"


def _java(value: object, indent: str) -> str:
    inner = indent + "    "
    if isinstance(value, dict):
        entries = [f'{inner}entry("{key}", {_java(each, inner)})' for key, each in value.items()]
        return "Map.ofEntries(\n" + ",\n".join(entries) + ")" if entries else "Map.of()"
    if isinstance(value, list):
        return "List.of(\n" + ",\n".join(inner + _java(each, inner) for each in value) + ")"
    if isinstance(value, str):
        return f'"{value}"'
    # gRPC takes numbers as doubles only.
    return repr(float(value)) if isinstance(value, int | float) else str(value).lower()


def java(config: dict[str, Any], source: Path) -> str:
    """A class that gives what `ManagedChannelBuilder.defaultServiceConfig` takes."""
    return (
        _mark(source)
        + f"""package dev.muniment.v1;

import static java.util.Map.entry;

import java.util.List;
import java.util.Map;

/** The gRPC service config of the contract. */
public final class ServiceConfig {{
    private static final Map<String, ?> CONFIG = {_java(config, "            ")};

    private ServiceConfig() {{}}

    /** The config, in the form that {{@code ManagedChannelBuilder.defaultServiceConfig}} takes. */
    public static Map<String, ?> get() {{
        return CONFIG;
    }}
}}
"""
    )


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def rust(config: dict[str, Any], source: Path) -> str:
    """Constants of the retry policy, which is the same for all methods."""
    [method] = config["methodConfig"]
    policy = method["retryPolicy"]
    throttling = config["retryThrottling"]
    if policy["retryableStatusCodes"] != ["UNAVAILABLE"]:
        raise ValueError("the Rust client repeats after UNAVAILABLE only")
    return (
        _mark(source)
        + f"""
/// Attempts of one call, the first included.
pub const MAX_ATTEMPTS: u32 = {policy["maxAttempts"]};
/// Seconds before the second attempt.
pub const INITIAL_BACKOFF: f64 = {_seconds(policy["initialBackoff"])!r};
/// The most seconds before an attempt.
pub const MAX_BACKOFF: f64 = {_seconds(policy["maxBackoff"])!r};
/// What the wait grows by from attempt to attempt.
pub const BACKOFF_MULTIPLIER: f64 = {float(policy["backoffMultiplier"])!r};
/// Tokens of the retry throttle when it is full.
pub const MAX_TOKENS: f64 = {float(throttling["maxTokens"])!r};
/// Tokens that a call that succeeds gives back.
pub const TOKEN_RATIO: f64 = {float(throttling["tokenRatio"])!r};
"""
    )
