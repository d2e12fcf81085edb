"""How a server is reached from its own machine: the address to dial, and the name it proves to have."""

import ipaddress
from collections.abc import Sequence

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to


def dialled(host: str) -> str:
    """The host to connect to where a server listens on `host`: its loopback for all addresses at once."""
    return _EVERYWHERE.get(host, host)


def address(host: str, port: int) -> str:
    """Host and port as a gRPC target."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a client takes the host for its own machine, and so for one to speak plaintext with."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_of(certificate: bytes) -> Sequence[str]:
    """Names that the first certificate of a PEM text is good for, those of hosts first; never empty.

    Raises ValueError for what is no certificate.
    """
    from cryptography import x509

    parsed = x509.load_pem_x509_certificate(certificate)
    try:
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        common = parsed.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return [str(common[0].value) if common else "localhost"]
    found = [name.replace("*.", "any.") for name in names.get_values_for_type(x509.DNSName)]
    found += [str(each) for each in names.get_values_for_type(x509.IPAddress)]
    return found or ["localhost"]
