"""Why a start was refused. Every message is one line that says what to do; none holds a secret."""


class BootstrapError(Exception):
    """The installation cannot be used as it is; starting again without a change fails again."""


class DatabaseUnreachableError(BootstrapError):
    """The database does not answer (yet); the same start may succeed later."""
