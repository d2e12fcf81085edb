"""Settings: where they come from, what is refused and how, and that secrets stay hidden."""

from pathlib import Path

import pytest

from muniment_server.config import ConfigError, Settings, load, variable
from muniment_server.extraction.settings import chat_model
from muniment_server.interceptors.methods import MethodClass

SECRET = "s3cr3t-value"


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


def faults(**overrides: object) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(**overrides)
    assert str(caught.value) == "\n".join(caught.value.faults)
    assert all("\n" not in each and each.startswith("MUNIMENT_") for each in caught.value.faults)
    return caught.value.faults


def test_defaults_need_nothing() -> None:
    settings = load()
    assert (settings.host, settings.port) == ("127.0.0.1", 7443)
    assert settings.home == Path("muniment-data")
    assert settings.database_url is None
    assert settings.on_loopback
    assert settings.reflection_enabled
    assert not settings.tls
    assert not settings.oidc
    assert settings.embedder == "auto"


def test_environment_file_and_arguments_win_in_this_order(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "muniment.toml"
    file.write_text('pool_max_size = 20\nlog_level = "warning"\nhome = "/file"\n')
    env.setenv("MUNIMENT_CONFIG", str(file))
    env.setenv("MUNIMENT_POOL_MAX_SIZE", "30")
    env.setenv("MUNIMENT_HOME", "/env")
    settings = load(home=Path("/argument"), listen=None)
    assert (settings.pool_max_size, settings.log_level, settings.home) == (30, "WARNING", Path("/argument"))


def test_every_setting_is_read_from_its_variable(env: pytest.MonkeyPatch) -> None:
    for method_class in MethodClass:
        for name in ("deadline", "deadline_ceiling", "concurrency"):
            assert f"{name}_{method_class}" in Settings.model_fields
    for field in Settings.model_fields:
        assert variable(field) == f"MUNIMENT_{field.upper()}"
    env.setenv("MUNIMENT_UVLOOP", "true")
    env.setenv("MUNIMENT_DRAIN_DELAY", "0")
    assert load().uvloop is True
    assert load().drain_delay == 0


def test_empty_variable_is_not_set(env: pytest.MonkeyPatch) -> None:
    env.setenv("MUNIMENT_DATABASE_URL", "")
    env.setenv("MUNIMENT_POOL_MAX_SIZE", "")
    assert load().database_url is None
    assert load().pool_max_size == 10


def test_unknown_variables_are_refused_with_a_hint(env: pytest.MonkeyPatch) -> None:
    env.setenv("MUNIMENT_DATABSE_URL", SECRET)
    env.setenv("MUNIMENT_QQQQ", SECRET)
    first, second = faults()
    assert first == "MUNIMENT_DATABSE_URL: there is no such setting (did you mean MUNIMENT_DATABASE_URL?)"
    assert second == "MUNIMENT_QQQQ: there is no such setting"


def test_variables_of_clients_and_of_service_discovery_are_not_ours(env: pytest.MonkeyPatch) -> None:
    for name in (
        "MUNIMENT_API_KEY",
        "MUNIMENT_TENANT",
        "MUNIMENT_TARGET",
        "MUNIMENT_TEST_ANYTHING",
        "MUNIMENT_SERVICE_HOST",
        "MUNIMENT_SERVICE_PORT",
        "MUNIMENT_SERVICE_PORT_GRPC",
        "MUNIMENT_PORT",
        "MUNIMENT_PORT_7443_TCP",
        "MUNIMENT_PORT_7443_TCP_ADDR",
        "MUNIMENT_HEADLESS_SERVICE_HOST",
        "MUNIMENT_HEADLESS_PORT_7443_TCP_PROTO",
    ):
        env.setenv(name, "tcp://10.0.0.1:7443")
    load()
    assert not any(variable(field).endswith("_PORT") for field in Settings.model_fields)


def test_unknown_names_in_the_file_are_refused_with_a_hint(env: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "muniment.toml"
    file.write_text("pool_max_sise = 20\n")
    env.setenv("MUNIMENT_CONFIG", str(file))
    (fault,) = faults()
    assert fault.startswith("MUNIMENT_CONFIG: the file names a setting 'pool_max_sise' that does not exist")
    assert fault.endswith("(did you mean pool_max_size?)")


@pytest.mark.parametrize(("content", "said"), [("nonsense = [", "not valid TOML"), (None, "cannot be read")])
def test_unreadable_file_is_said(
    env: pytest.MonkeyPatch, tmp_path: Path, content: str | None, said: str
) -> None:
    file = tmp_path / "muniment.toml"
    if content is not None:
        file.write_text(content)
    env.setenv("MUNIMENT_CONFIG", str(file))
    (fault,) = faults()
    assert said in fault


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("database_url", f"mysql://u:{SECRET}@h/d"),
        ("app_database_url", SECRET),
        ("key_store_url", f"sqlite:///{SECRET}"),
        ("pool_max_size", SECRET),
        ("pool_max_size", "0"),
        ("deadline_recall", "-1"),
        ("deadline_recall", "nan"),
        ("health_interval", "6"),
        ("listen", "7443"),
        ("listen", "127.0.0.1:"),
        ("listen", "127.0.0.1:99999"),
        ("listen", "::1:7443"),
        ("log_level", "LOUD"),
        ("uvloop", "perhaps"),
        ("oidc_jwks_url", "http://issuer.test/jwks"),
    ],
)
def test_unusable_value_names_its_variable_and_not_itself(
    env: pytest.MonkeyPatch, field: str, value: str
) -> None:
    env.setenv(variable(field), value)
    found = faults()
    assert any(each.startswith(variable(field)) for each in found)
    assert SECRET not in "\n".join(found)


def test_plaintext_beyond_loopback_must_be_asked_for(env: pytest.MonkeyPatch) -> None:
    for listen in ("0.0.0.0:7443", "[::]:7443", "10.1.2.3:7443", "example.test:7443"):
        env.setenv("MUNIMENT_LISTEN", listen)
        (fault,) = faults()
        assert fault.startswith("MUNIMENT_LISTEN: plaintext beyond loopback is refused")
    assert not load(insecure_listen=True).reflection_enabled
    for listen in ("localhost:1", "[::1]:1", "127.0.0.1:0"):
        assert load(listen=listen).on_loopback


def test_tls_files_belong_together_and_must_exist(tmp_path: Path) -> None:
    present = tmp_path / "x.pem"
    present.write_text("x")
    assert "give both or neither" in faults(tls_cert_file=present)[0]
    assert "MUNIMENT_TLS_CLIENT_CA_FILE: needs" in faults(tls_client_ca_file=present)[0]
    missing = tmp_path / "nope.pem"
    assert faults(tls_cert_file=missing, tls_key_file=present) == (
        "MUNIMENT_TLS_CERT_FILE: there is no such file",
    )
    assert load(listen="0.0.0.0:1", tls_cert_file=present, tls_key_file=present).tls


def test_issuer_audience_and_keys_are_required_together(tmp_path: Path) -> None:
    keys = tmp_path / "jwks.json"
    keys.write_text("{}")
    assert [each.split(":")[0] for each in faults(oidc_issuer="https://i.test")] == [
        "MUNIMENT_OIDC_AUDIENCE",
        "MUNIMENT_OIDC_JWKS_URL, MUNIMENT_OIDC_JWKS_FILE",
    ]
    assert "MUNIMENT_OIDC_ISSUER" in faults(oidc_audience="muniment", oidc_jwks_file=keys)[0]
    both = {"oidc_jwks_file": keys, "oidc_jwks_url": "https://i.test/jwks"}
    assert "give one of them" in faults(oidc_issuer="https://i.test", oidc_audience="muniment", **both)[0]
    assert load(oidc_issuer="https://i.test", oidc_audience="muniment", oidc_jwks_file=keys).oidc


def test_other_contradictions(tmp_path: Path) -> None:
    assert "give one of them" in faults(master_key=SECRET, master_key_file=tmp_path)[0]
    assert "MUNIMENT_POOL_MIN_SIZE" in faults(pool_min_size=20)[0]
    assert "MUNIMENT_DEADLINE_WRITE: must not be above MUNIMENT_DEADLINE_CEILING_WRITE" in faults(
        deadline_write=61
    )


def test_secrets_show_nowhere(env: pytest.MonkeyPatch) -> None:
    for field in ("database_url", "app_database_url", "maintenance_database_url", "key_store_url"):
        env.setenv(variable(field), f"postgresql://u:{SECRET}@h/d")
    env.setenv("MUNIMENT_MASTER_KEY", SECRET)
    settings = load()
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)
    assert SECRET not in str(settings.model_dump())
    assert SECRET not in settings.model_dump_json()
    assert settings.database_url is not None
    assert SECRET in settings.database_url.get_secret_value()


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().listen = "x"


def test_the_language_model_is_named_whole_and_reached_safely(
    env: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = tmp_path / "llm.key"
    key.write_text(f"{SECRET}\n")
    settings = load(llm_url="https://models.example/v1", llm_model="m", llm_api_key_file=key)
    model = chat_model(settings)
    assert model is not None
    assert (model.endpoint.key, model.endpoint.timeout) == (SECRET, 20.0)
    assert SECRET not in repr(settings)
    assert SECRET not in repr(model.endpoint)
    assert chat_model(load()) is None
    load(llm_url="http://127.0.0.1:8000/v1", llm_model="m")
    assert len(faults(llm_url="https://models.example/v1")) == 1
    assert len(faults(llm_url="http://models.example/v1", llm_model="m")) == 1
    assert len(faults(llm_url="https://user:pw@models.example/v1", llm_model="m")) == 1
    given = {"llm_url": "https://models.example/v1", "llm_model": "m"}
    assert len(faults(**given, llm_api_key=SECRET, llm_api_key_file=key)) == 1
    assert len(faults(**given, llm_api_key_file=tmp_path / "none")) == 1
    with pytest.raises(ConfigError) as caught:
        chat_model(load(**given, llm_api_key=f"{SECRET}\nx"))
    assert SECRET not in str(caught.value)
