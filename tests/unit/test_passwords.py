"""Verifiers of database passwords, as PostgreSQL stores them."""

import pytest

from muniment_server.bootstrap.passwords import scram_verifier, verifies


def test_a_verifier_verifies_its_password_and_no_other() -> None:
    verifier = scram_verifier("c0ffee")
    assert verifies(verifier, "c0ffee")
    assert not verifies(verifier, "c0ffe")
    assert verifier != scram_verifier("c0ffee")


@pytest.mark.parametrize(
    "stored",
    ["", "md5aa", "SCRAM-SHA-256$4096:AA==", "SCRAM-SHA-256$x:AA==$AA==:AA==", "a$b$c", "SCRAM$1:=$=:="],
)
def test_other_forms_verify_nothing(stored: str) -> None:
    assert not verifies(stored, "c0ffee")
