"""Settings: environment variables MUNIMENT_*, and a TOML file that MUNIMENT_CONFIG names.

The environment wins over the file. Names in the file are those of the variables in lower case
without the prefix. A name that is not known is refused, since a mistyped limit or key that is
silently ignored is found when it is needed. Telemetry is set up with the standard OTEL_* variables
(see telemetry/setup.py).

Secrets are held as SecretStr: they show neither in a representation nor in an error.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

PREFIX: Final = "MUNIMENT_"
CONFIG_VARIABLE: Final = "MUNIMENT_CONFIG"

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Set by the clients' side of the same shell, or by a test run; not ours to judge.
_NOT_SETTINGS: Final = re.compile(r"MUNIMENT_(API_KEY|TENANT|TARGET|TEST_.*|BENCH_.*|CLIENT_.*)")
# Kubernetes sets these in every container beside a Service named `muniment` or `muniment-...`.
_SERVICE_LINKS: Final = re.compile(
    r"MUNIMENT_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?)?)"
)

_EMBEDDER: Final = re.compile(
    r"auto|multilingual|english-fast|wordllama|http|http:(?!//).+|sentence-transformers:.+"
)

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class ConfigError(Exception):
    """Settings that cannot be used: one line per fault, each naming its variable, none its value."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Settings(BaseSettings):
    """All settings of the server. Use `load`, which reports faults as ConfigError."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    home: Path = Path("muniment-data")
    """Folder of the embedded PostgreSQL and of the key store."""
    database_url: SecretStr | None = None
    """Owner's URL of a PostgreSQL, for migrations; without it the embedded one is started."""
    app_database_url: SecretStr | None = None
    """URL with the service's login; made from `database_url` if not given."""
    maintenance_database_url: SecretStr | None = None
    """URL with the scheduler's login; made from `database_url` if not given."""
    key_store_url: SecretStr | None = None
    """PostgreSQL URL of the key store; without it a SQLite file in `home` is used."""
    master_key_file: Path | None = None
    """File with the master key; by default `keys/master.key` in `home`."""
    master_key: SecretStr | None = None
    """The master key itself, instead of a file."""

    listen: str = "127.0.0.1:7443"
    """Address and port; port 0 chooses a free one."""
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_client_ca_file: Path | None = None
    """With it, clients must show a certificate of this authority."""
    insecure_listen: bool = False
    """Allow plaintext on other addresses than loopback."""
    reflection: bool | None = None
    """gRPC reflection; by default only while listening on loopback."""
    shared_listen: bool = False
    """Let several server processes share one address."""
    uvloop: bool = False

    pool_min_size: Count = 2
    pool_max_size: Count = 10
    maintenance_pool_max_size: Count = 3
    pool_timeout: Seconds = 5.0
    """Seconds a call waits for a connection."""

    embedder: str = "auto"
    """The model that makes vectors; chosen once, at the first start (docs/embedding.md)."""
    embedder_url: str | None = None
    """Of an OpenAI-compatible endpoint, up to and with its version; for `embedder = "http"`."""
    embedder_model: str | None = None
    embedder_dimension: Annotated[int, Field(ge=1, le=4000)] | None = None
    embedder_key: SecretStr | None = None
    embedder_key_file: Path | None = None
    embedder_timeout: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Seconds for one request, with its one repetition."""
    embedder_batch: Annotated[int, Field(ge=1, le=2048)] = 32
    """Texts in one request."""
    embedder_query_prefix: str = ""
    embedder_passage_prefix: str = ""
    embedder_max_characters: Annotated[int, Field(ge=100, le=1_000_000)] = 8_000
    """How much of a text is sent."""
    embedder_cosine_low: Annotated[float, Field(ge=-1, le=1)] | None = None
    embedder_cosine_high: Annotated[float, Field(ge=-1, le=1)] | None = None
    embedder_vector_weight: Annotated[float, Field(gt=0, lt=1)] | None = None
    embedder_min_score: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Calibration of a model that is not measured here (`http`, `sentence-transformers`)."""
    embedding_on_write: Literal["defer", "require"] = "defer"
    """Without its vectors in time, a Write stores its memories to get them later, or fails."""
    embedding_patience: Seconds = 3.0
    """Seconds that a Write waits for its vectors before it stores its memories without them."""
    embedding_backlog: Count = 10_000
    """Memories of one process that may wait for their vectors before Writes are turned away."""

    tokenizer_file: Path | None = None
    """A `tokenizer.json` that counts packed contexts; without it tokens are estimated from above."""

    deadline_recall: Seconds = 5.0
    deadline_write: Seconds = 10.0
    deadline_erase: Seconds = 60.0
    deadline_audit: Seconds = 15.0
    deadline_export: Seconds = 600.0
    deadline_stream: Seconds = 60.0
    """Deadlines in seconds for callers that set none."""
    deadline_ceiling_recall: Seconds = 30.0
    deadline_ceiling_write: Seconds = 60.0
    deadline_ceiling_erase: Seconds = 300.0
    deadline_ceiling_audit: Seconds = 60.0
    deadline_ceiling_export: Seconds = 3600.0
    deadline_ceiling_stream: Seconds = 3600.0
    """Longest deadlines accepted from a caller; a longer one is shortened."""
    concurrency_recall: Count = 64
    concurrency_write: Count = 32
    concurrency_erase: Count = 8
    concurrency_audit: Count = 16
    concurrency_export: Count = 4
    concurrency_stream: Count = 64
    """Calls of each class that run at once."""
    max_concurrent_rpcs: Count = 2000
    """Backstop over all calls, health checks included."""

    llm_url: str | None = None
    """Base URL of an endpoint that speaks OpenAI's chat completions, for example https://host/v1."""
    llm_model: str | None = None
    llm_api_key: SecretStr | None = None
    llm_api_key_file: Path | None = None
    """The endpoint's key, or a file that holds it."""
    llm_timeout: Annotated[float, Field(gt=0, le=600)] = 20.0
    """Seconds for a whole answer; then the rules do the work."""
    judge: Literal["none", "llm", "nli"] = "none"
    """Who relates a new statement to near ones: nobody, the language model, or a cross-encoder."""
    judge_model: str = "cross-encoder/nli-deberta-v3-small"
    """Folder or name of the cross-encoder of the judge `nli`."""
    judge_timeout: Annotated[float, Field(gt=0, le=60)] = 3.0
    """Seconds that a write waits for the judge; then nothing is proposed."""
    rerank: Literal["none", "cross-encoder", "http"] = "none"
    """Who reads a query with each of the best candidates: nobody, a model in this process, an endpoint."""
    rerank_model: str | None = None
    """Folder, package or name of the cross-encoder; for `http` the model's name there."""
    rerank_url: str | None = None
    """Of an endpoint that speaks `/rerank`, up to and with its version; for `rerank = "http"`."""
    rerank_key: SecretStr | None = None
    rerank_key_file: Path | None = None
    """The endpoint's key, or a file that holds it."""
    rerank_scale: Literal["probability", "logit"] = "probability"
    """What the endpoint's scores are."""
    rerank_candidates: Annotated[int, Field(ge=1, le=200)] = 30
    """How many of the best candidates are read."""
    rerank_timeout: Annotated[float, Field(gt=0, le=60)] = 1.0
    """Seconds that a Recall waits at most, and half of the time that it has left."""
    rerank_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The reranker's share of what a score has above the threshold."""
    recall_exact_rows: Annotated[int, Field(ge=1_000, le=1_000_000_000)] = 20_000
    """Subjects and spaces with more ACTIVE memories are recalled by drawing the likely ones first."""
    ingest_quiet_seconds: Seconds | None = None
    """Seconds without a new turn after which a session's extraction begins; by default each tenant's own."""
    ingest_attempts: Annotated[int, Field(ge=1, le=100)] = 5
    """Attempts to make memories of turns before they are given up."""

    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_jwks_url: str | None = None
    oidc_jwks_file: Path | None = None

    drain_delay: Annotated[float, Field(ge=0, le=600)] = 1.0
    """Seconds between NOT_SERVING and refusing new calls, so that load balancers notice."""
    shutdown_grace: Annotated[float, Field(ge=0, le=3600)] = 15.0
    """Seconds that running calls get to finish."""
    health_interval: Annotated[float, Field(gt=0, le=5)] = 2.0
    """Seconds between two readiness checks."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["plain", "json"] = "plain"
    capture_content: bool | None = None
    """Write queries and memories into spans; None follows the standard OTEL_ switch, which is off."""

    @property
    def host(self) -> str:
        """Host part of `listen`, without brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Port of `listen`."""
        return int(self.listen.rpartition(":")[2])

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in _LOOPBACK

    @property
    def tls(self) -> bool:
        """Whether the server speaks TLS."""
        return self.tls_cert_file is not None

    @property
    def reflection_enabled(self) -> bool:
        """`reflection`, or its default."""
        return self.on_loopback if self.reflection is None else self.reflection

    @property
    def oidc(self) -> bool:
        """Whether tokens of an issuer are accepted."""
        return self.oidc_issuer is not None

    @field_validator("embedder")
    @classmethod
    def _embedder(cls, value: str) -> str:
        if _EMBEDDER.fullmatch(value) is None:
            raise ValueError(
                "must be auto, multilingual, english-fast, wordllama, http, http:<file.toml> or "
                "sentence-transformers:<folder, package or name>"
            )
        return value

    @field_validator("listen")
    @classmethod
    def _listen(cls, value: str) -> str:
        host, colon, port = value.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65_535:
            raise ValueError("must be host:port, for example 127.0.0.1:7443 or [::]:7443")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ValueError("an IPv6 address stands in brackets, for example [::]:7443")
        return value

    @field_validator("database_url", "app_database_url", "maintenance_database_url", "key_store_url")
    @classmethod
    def _postgres(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("must be a URL that begins with postgresql://")
        return value

    @field_validator("oidc_jwks_url", "llm_url", "rerank_url")
    @classmethod
    def _https(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if not parts.hostname or not (parts.scheme == "https" or local):
            raise ValueError("must be a URL that begins with https:// (http:// only on loopback)")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must not hold a user name or password")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _together(self) -> Self:
        faults = list(_faults(self))
        if faults:
            raise ConfigError(*faults)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments before the environment before the file."""
        return init_settings, env_settings, InitSettingsSource(settings_cls, _read_file())


def load(**overrides: Any) -> Settings:
    """The settings; `overrides` (of a command line) win where they are not None. Raises ConfigError."""
    faults = list(_unknown_variables())
    if faults:
        raise ConfigError(*faults)
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        lines = [_line(each["loc"], each["type"], each["msg"]) for each in error.errors(include_url=False)]
        raise ConfigError(*lines) from None


def variable(field: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + field.upper()


def _unknown_variables() -> Iterator[str]:
    known = {variable(field) for field in Settings.model_fields} | {CONFIG_VARIABLE}
    for name in sorted(os.environ):
        if not name.startswith(PREFIX) or name in known:
            continue
        if not _NOT_SETTINGS.fullmatch(name) and not _SERVICE_LINKS.fullmatch(name):
            near = _hint(name.removeprefix(PREFIX), (each.removeprefix(PREFIX) for each in known), PREFIX)
            yield f"{name}: there is no such setting{near}"


def _read_file() -> dict[str, Any]:
    path = os.environ.get(CONFIG_VARIABLE, "").strip()
    if not path:
        return {}
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{CONFIG_VARIABLE}: the file cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ConfigError(f"{CONFIG_VARIABLE}: the file is not valid TOML") from None


def _line(location: tuple[int | str, ...], kind: str, message: str) -> str:
    field = str(location[0]) if location else ""
    if kind == "extra_forbidden":
        hint = _hint(field, Settings.model_fields)
        return f"{CONFIG_VARIABLE}: the file names a setting {field!r} that does not exist{hint}"
    return f"{variable(field)}: {message.removeprefix('Value error, ')}"


def _hint(name: str, known: Iterable[str], prefix: str = "") -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {prefix}{near[0]}?)" if near else ""


def _faults(settings: Settings) -> Iterator[str]:
    """What single settings cannot see: rules over several of them, and files that must exist."""
    if (settings.tls_cert_file is None) != (settings.tls_key_file is None):
        yield "MUNIMENT_TLS_CERT_FILE, MUNIMENT_TLS_KEY_FILE: give both or neither"
    if settings.tls_client_ca_file is not None and not settings.tls:
        yield "MUNIMENT_TLS_CLIENT_CA_FILE: needs MUNIMENT_TLS_CERT_FILE and MUNIMENT_TLS_KEY_FILE"
    if not settings.on_loopback and not settings.tls and not settings.insecure_listen:
        yield (
            "MUNIMENT_LISTEN: plaintext beyond loopback is refused; give MUNIMENT_TLS_CERT_FILE and "
            "MUNIMENT_TLS_KEY_FILE, or set MUNIMENT_INSECURE_LISTEN=true behind a proxy that speaks TLS"
        )
    if settings.master_key is not None and settings.master_key_file is not None:
        yield "MUNIMENT_MASTER_KEY, MUNIMENT_MASTER_KEY_FILE: give one of them"
    if settings.pool_min_size > settings.pool_max_size:
        yield "MUNIMENT_POOL_MIN_SIZE: must not be above MUNIMENT_POOL_MAX_SIZE"
    for name in ("recall", "write", "erase", "audit", "export", "stream"):
        if getattr(settings, f"deadline_{name}") > getattr(settings, f"deadline_ceiling_{name}"):
            yield (
                f"{variable(f'deadline_{name}')}: must not be above {variable(f'deadline_ceiling_{name}')}"
            )
    if settings.embedder_key is not None and settings.embedder_key_file is not None:
        yield "MUNIMENT_EMBEDDER_KEY, MUNIMENT_EMBEDDER_KEY_FILE: give one of them"
    if settings.embedder == "http" and not (
        settings.embedder_url and settings.embedder_model and settings.embedder_dimension
    ):
        yield (
            "MUNIMENT_EMBEDDER: http needs MUNIMENT_EMBEDDER_URL, MUNIMENT_EMBEDDER_MODEL and "
            "MUNIMENT_EMBEDDER_DIMENSION"
        )
    yield from _oidc_faults(settings)
    if (settings.llm_url is None) != (settings.llm_model is None):
        yield "MUNIMENT_LLM_URL, MUNIMENT_LLM_MODEL: give both or neither"
    if settings.llm_api_key is not None and settings.llm_api_key_file is not None:
        yield "MUNIMENT_LLM_API_KEY, MUNIMENT_LLM_API_KEY_FILE: give one of them"
    if settings.rerank != "none" and not settings.rerank_model:
        yield "MUNIMENT_RERANK: needs MUNIMENT_RERANK_MODEL"
    if settings.rerank == "http" and not settings.rerank_url:
        yield "MUNIMENT_RERANK: http needs MUNIMENT_RERANK_URL"
    if settings.rerank_key is not None and settings.rerank_key_file is not None:
        yield "MUNIMENT_RERANK_KEY, MUNIMENT_RERANK_KEY_FILE: give one of them"
    for field in (
        "master_key_file",
        "embedder_key_file",
        "tls_cert_file",
        "tls_key_file",
        "tls_client_ca_file",
        "oidc_jwks_file",
        "llm_api_key_file",
        "rerank_key_file",
    ):
        path: Path | None = getattr(settings, field)
        if path is not None and not path.is_file():
            yield f"{variable(field)}: there is no such file"


def _oidc_faults(settings: Settings) -> Iterator[str]:
    sources = (settings.oidc_jwks_url, settings.oidc_jwks_file)
    given = (settings.oidc_issuer, settings.oidc_audience, *sources)
    if all(each is None for each in given):
        return
    if not settings.oidc_issuer:
        yield "MUNIMENT_OIDC_ISSUER: is required to accept tokens"
    if not settings.oidc_audience:
        yield "MUNIMENT_OIDC_AUDIENCE: is required, or any token of the issuer would be accepted"
    if sum(each is not None for each in sources) != 1:
        yield "MUNIMENT_OIDC_JWKS_URL, MUNIMENT_OIDC_JWKS_FILE: give one of them"
