"""What the settings say about the installation: where it lives and which master key it has."""

from pathlib import Path

from pydantic import SecretStr

from muniment_server.config import Settings
from muniment_server.crypto.key_store import KeyStore
from muniment_server.crypto.master import EnvironmentMasterKeys, FileMasterKeys, MasterKeyProvider
from muniment_server.crypto.wrapped_key_store import key_store_at

from .errors import BootstrapError
from .targets import Where


def where(settings: Settings) -> Where:
    """Where the database is."""
    return Where(
        home=settings.home,
        database_url=_text(settings.database_url),
        app_url=_text(settings.app_database_url),
        maintenance_url=_text(settings.maintenance_database_url),
    )


def key_folder(settings: Settings) -> Path:
    """The folder of the embedded key store, beside the data folder and closed to others."""
    folder = settings.home / "keys"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def master_keys(settings: Settings) -> MasterKeyProvider:
    """The provider of the master key. The file of the default is made where nothing was made with one yet.

    With a key store elsewhere nothing here can tell that, so the file is never made then.
    Raises MasterKeyError, and BootstrapError when the file is gone while what it opens is still there.
    """
    if settings.master_key is not None:
        return EnvironmentMasterKeys({"MUNIMENT_MASTER_KEY": settings.master_key.get_secret_value()})
    if settings.master_key_file is not None:
        return FileMasterKeys(settings.master_key_file)
    path = key_folder(settings) / "master.key"
    made = [
        thing
        for thing in (key_folder(settings) / "keystore.sqlite", settings.home / "postgres" / "PG_VERSION")
        if thing.exists()
    ]
    if made and not path.exists():
        raise BootstrapError(
            f"The master key file {path} is gone, but {made[0].parent} was made with it. Put the file back; "
            "a new key would open nothing."
        )
    return FileMasterKeys(path, create=settings.key_store_url is None)


def master_key_file(settings: Settings) -> Path | None:
    """The file of the master keys; None where they stand in the environment."""
    if settings.master_key is not None:
        return None
    return settings.master_key_file or key_folder(settings) / "master.key"


def key_store(settings: Settings, provider: MasterKeyProvider) -> KeyStore:
    """The key store of the settings, unopened."""
    if settings.key_store_url is not None:
        return key_store_at(settings.key_store_url.get_secret_value(), provider)
    return key_store_at(key_folder(settings) / "keystore.sqlite", provider)


def _text(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
