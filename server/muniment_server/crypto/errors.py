"""What can go wrong with keys. Messages never hold key material or plaintext."""


class CryptoError(Exception):
    """Base of every error of this package."""


class MasterKeyError(CryptoError):
    """The master key is absent, malformed, or kept where others can read it."""


class MasterKeyUnknown(MasterKeyError):
    """A value is wrapped by a master key that the provider does not hold."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no master key {key_id} is configured")
        self.key_id = key_id


class UnwrapFailed(MasterKeyError):
    """A wrapped key does not open: another master key, another place, or a changed value."""


class KeyStoreError(CryptoError):
    """The key store refuses: unsafe permissions, or made by a newer version."""


class KeyStoreUnavailable(KeyStoreError):
    """The key store cannot be reached, is locked for too long, or is closed. Worth a retry."""


class MasterKeyRetired(KeyStoreError):
    """Something would be wrapped by a master key that is retired: this process began before a rotation."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"the master key {key_id} is retired; start again with the present one")
        self.key_id = key_id


class ScopeKeyMissing(CryptoError):
    """No key was ever made for this epoch of the scope."""


class ScopeKeyDestroyed(CryptoError):
    """The key of this epoch was destroyed by an erasure; what it encrypted is gone for good."""


class CiphertextInvalid(CryptoError):
    """A ciphertext does not open: changed, moved to another row, or of another key."""


class TokenInvalid(CryptoError):
    """An opaque token was not made here, was changed, or belongs to another context."""
