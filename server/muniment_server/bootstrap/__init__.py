"""From a settings object to a database that can be served from."""

from .configured import key_folder, key_store, master_key_file, master_keys, where
from .embedders import EmbedderChoice
from .errors import BootstrapError, DatabaseUnreachableError
from .installation import (
    DevKey,
    Installation,
    administration,
    migrate_blocking,
    prepare,
    prepare_blocking,
    settle_logins,
)
from .targets import RoleSecrets, Where, derive_role_secrets

__all__ = [
    "BootstrapError",
    "DatabaseUnreachableError",
    "DevKey",
    "EmbedderChoice",
    "Installation",
    "RoleSecrets",
    "Where",
    "administration",
    "derive_role_secrets",
    "key_folder",
    "key_store",
    "master_key_file",
    "master_keys",
    "migrate_blocking",
    "prepare",
    "prepare_blocking",
    "settle_logins",
    "where",
]
