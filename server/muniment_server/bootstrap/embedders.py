"""Which embedder an installation is served with: what its database says, once it says something."""

import logging

from muniment_server.config import Settings
from muniment_server.embedding.base import Embedder, EmbeddingModel
from muniment_server.embedding.factory import AUTO, HTTP, create_embedder
from muniment_server.embedding.options import (
    CalibrationOptions,
    EmbedderOptions,
    HttpOptions,
    OptionError,
    read_key,
)
from muniment_server.storage.admin import InstanceRow

from .errors import BootstrapError

_LOG = logging.getLogger(__name__)


def embedder_options(settings: Settings) -> EmbedderOptions:
    """The options of the settings. Raises OptionError."""
    calibration = CalibrationOptions(
        settings.embedder_cosine_low,
        settings.embedder_cosine_high,
        settings.embedder_vector_weight,
        settings.embedder_min_score,
    )
    http = None
    if settings.embedder_url and settings.embedder_model and settings.embedder_dimension:
        key = settings.embedder_key.get_secret_value() if settings.embedder_key is not None else None
        if settings.embedder_key_file is not None:
            key = read_key(settings.embedder_key_file)
        http = HttpOptions(
            url=settings.embedder_url,
            model=settings.embedder_model,
            dimension=settings.embedder_dimension,
            key=key,
            timeout=settings.embedder_timeout,
            batch=settings.embedder_batch,
            query_prefix=settings.embedder_query_prefix,
            passage_prefix=settings.embedder_passage_prefix,
            max_characters=settings.embedder_max_characters,
            calibration=calibration,
        )
    return EmbedderOptions(http=http, calibration=calibration)


class EmbedderChoice:
    """Loads the embedder of an installation, each one once. Call it with what the database says.

    MUNIMENT_EMBEDDER counts at the first start. Later it may be left out, or name the model in use; a model
    that the installation was changed from is passed over with a warning, so that a restart after a change
    does not depend on who edits which file first. Any other one is a mismatch for the caller to refuse.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, Embedder] = {}
        self._told = False

    def __call__(self, instance: InstanceRow | None) -> EmbeddingModel:
        """The model to serve with. Raises BootstrapError and EmbeddingError."""
        return self.embedder(instance).model

    def embedder(self, instance: InstanceRow | None) -> Embedder:
        """The embedder to serve with. Raises BootstrapError and EmbeddingError."""
        wanted = self._settings.embedder
        if instance is None:
            return self.load(wanted)
        if wanted == AUTO:
            return self.load(instance.setting)
        found = self.load(wanted)
        if (found.model.name, found.model.digest) in instance.earlier and (
            found.model.name,
            found.model.digest,
        ) != (instance.name, instance.digest):
            if not self._told:
                # A start asks several times.
                self._told = True
                _LOG.warning(
                    "MUNIMENT_EMBEDDER is %s, but the installation was changed to %s: serving with that. "
                    "Leave the setting out, or set it to the same.",
                    wanted,
                    instance.setting,
                )
            return self.load(instance.setting)
        return found

    def load(self, setting: str) -> Embedder:
        """The embedder of a setting. Raises BootstrapError for unusable options, and EmbeddingError."""
        found = self._loaded.get(setting)
        if found is None:
            try:
                found = create_embedder(setting, embedder_options(self._settings))
            except OptionError as error:
                source = "MUNIMENT_EMBEDDER_*" if setting == HTTP else f"the embedder {setting}"
                raise BootstrapError(f"{source}: {error}.") from None
            except ValueError as error:
                raise BootstrapError(f"MUNIMENT_EMBEDDER: {error}.") from None
            self._loaded[setting] = found
        return found

    def load_anew(self, setting: str) -> Embedder:
        """As `load`, for a change of model: a file of options may have been edited since."""
        self._loaded.pop(setting, None)
        return self.load(setting)
