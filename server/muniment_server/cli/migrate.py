"""`muniment migrate`: bring the database up to date without serving."""

import asyncio

from .output import Json, note, print_json


def migrate(as_json: Json = False) -> None:
    """Make or update roles and schema in the database of MUNIMENT_DATABASE_URL, or the embedded one.

    Safe beside running servers, and harmless when there is nothing to do.
    """
    from muniment_server import bootstrap, config
    from muniment_server.crypto.credential_seal import StoreSeals
    from muniment_server.telemetry.logs import configure_logging

    settings = config.load()
    configure_logging("WARNING", as_json=settings.log_format == "json")
    provider = bootstrap.master_keys(settings)
    secrets = asyncio.run(bootstrap.derive_role_secrets(provider))
    store = bootstrap.key_store(settings, provider)
    with asyncio.Runner() as runner:
        # API keys and tenants of an earlier version are sealed by what the key store holds.
        runner.run(store.open())
        try:
            applied, instance = bootstrap.migrate_blocking(
                bootstrap.where(settings),
                secrets,
                bootstrap.EmbedderChoice(settings),
                StoreSeals(store, runner.run),
            )
        finally:
            runner.run(store.close())
    if as_json:
        print_json(
            {
                "applied": [f"{migration.version:04d}_{migration.name}" for migration in applied],
                "instance": instance,
            }
        )
        return
    for migration in applied:
        print(f"{migration.version:04d}_{migration.name}")
    note(f"Applied {len(applied)} migration(s)." if applied else "The schema is up to date.")
