"""What can go wrong with an embedder. No message ever holds any of the text."""


class EmbeddingError(Exception):
    """Base of all errors of this package."""


class EmbedderNotInstalled(EmbeddingError):
    """The configured embedder's package is missing; the message names what to install."""


class EmbedderUnavailable(EmbeddingError):
    """The embedder failed, is not ready yet, or is stopped. The same call may succeed later."""


class EmbedderSlow(EmbedderUnavailable):
    """The embedder did not answer in time, which says nothing of a text."""


class QueryLate(EmbedderSlow):
    """There is no vector of a query within the time that its caller has."""


class TextFailed(EmbedderUnavailable):
    """The embedder failed at this text, asked for by itself. Others may do better."""


class TextRefused(EmbeddingError):
    """The embedder works and does not take this text, or one in this batch."""


class EmbedderOverloaded(EmbeddingError):
    """More texts are waiting than the queue holds. Retry later; nothing of the call was queued."""


class UnreadableText(EmbeddingError, ValueError):
    """A text that no embedder is given: it contains a NUL or half of a surrogate pair."""
