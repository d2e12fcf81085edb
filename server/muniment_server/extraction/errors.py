"""What can go wrong with a language model. No message ever holds a word of what it was given or answered."""


class LlmError(Exception):
    """Base. The rules do the work instead."""


class LlmUnavailable(LlmError):
    """It cannot be reached, answers with an error, or refuses."""


class LlmTimeout(LlmError):
    """It did not answer in time."""


class LlmInvalidAnswer(LlmError):
    """It answered something else than it was asked for."""
