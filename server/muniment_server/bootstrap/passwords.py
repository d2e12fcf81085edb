"""Passwords of the database roles: derived from the master key, never stored in clear.

The database gets the SCRAM verifier (RFC 5802 with SHA-256, RFC 7677), so that not even a statement
log of the database server can hold a password.
"""

import base64
import hashlib
import hmac
import os

_ITERATIONS = 4096


def database_password(secret: bytes) -> str:
    """The password that a derived secret stands for: its hexadecimal digits."""
    return secret.hex()


def scram_verifier(password: str, *, salt: bytes | None = None) -> str:
    """What PostgreSQL stores for a password (`SCRAM-SHA-256$<iterations>:<salt>$<stored>:<server>`).

    password: ASCII, so that SASLprep changes nothing.
    """
    salt = os.urandom(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${_ITERATIONS}:{_text(salt)}${_text(stored)}:{_text(server)}"


def verifies(verifier: str, password: str) -> bool:
    """Whether a stored verifier is of this password; False for one of another form."""
    try:
        method, parameters, keys = verifier.split("$")
        iterations, salt = parameters.split(":")
        stored = base64.b64decode(keys.split(":")[0], validate=True)
        salted = hashlib.pbkdf2_hmac(
            "sha256", password.encode("ascii"), base64.b64decode(salt, validate=True), int(iterations)
        )
    except (ValueError, OverflowError):
        return False
    found = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return method == "SCRAM-SHA-256" and hmac.compare_digest(found, stored)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
