"""`muniment health`: whether a server is ready, for probes of containers and service managers."""

import ssl
from typing import TYPE_CHECKING, Annotated

import typer

from . import reach
from .output import CommandError
from .remote import CaFile, Tls, channel_to

if TYPE_CHECKING:
    import grpc

    from muniment_server.config import Settings


def health(
    target: Annotated[
        str | None,
        typer.Option(help="Address and port to ask.", show_default="where MUNIMENT_LISTEN says"),
    ] = None,
    service: Annotated[
        str, typer.Option(help="'liveness', or a service's full name.", show_default="readiness of all")
    ] = "",
    tls: Tls = False,
    ca_file: CaFile = None,
    timeout: Annotated[float, typer.Option(min=0.1, max=60, help="Seconds to wait.")] = 3.0,
) -> None:
    """Ask a server for its health. Exit code 0 when it is SERVING, otherwise 1.

    With --tls or --ca-file it connects as any client. Otherwise it speaks TLS where MUNIMENT_TLS_CERT_FILE is
    set, trusting the certificate that the server shows: this asks whether the server is well, not who it is.
    Shows the server's own certificate where MUNIMENT_TLS_CLIENT_CA_FILE asks clients for one.
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from muniment_server import config

    settings = config.load()
    address = target or own_address(settings)
    secure = tls or ca_file is not None
    with channel_to(address, tls, ca_file) if secure else _channel(settings, address, timeout) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=service), timeout=timeout
            )
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            if code is grpc.StatusCode.NOT_FOUND:
                raise CommandError(f"{address} knows no service {service!r}.") from None
            hint = "" if secure or settings.tls else " If it serves TLS: --tls or --ca-file."
            raise CommandError(f"{address} does not answer ({code.name}).{hint}") from None
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise CommandError(f"{address} is {name}.")
    print(name)


def own_address(settings: "Settings") -> str:
    """Where a server with these settings can be reached from its own machine. Raises CommandError."""
    if settings.port == 0:
        raise CommandError("MUNIMENT_LISTEN chooses any free port; name the one in use with --target.")
    return reach.address(reach.dialled(settings.host), settings.port)


def _channel(settings: "Settings", address: str, timeout: float) -> "grpc.Channel":
    import grpc

    if settings.tls_cert_file is None or settings.tls_key_file is None:
        return grpc.insecure_channel(address)
    host, _, port = address.rpartition(":")
    try:
        # Taken as the trust anchor, with the name that stands in it: any certificate is well enough.
        shown = ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=timeout)
        own = (settings.tls_key_file.read_bytes(), settings.tls_cert_file.read_bytes())
    except (OSError, ValueError):
        raise CommandError(f"{address} does not answer (TLS).") from None
    pair = own if settings.tls_client_ca_file is not None else (None, None)
    name = reach.names_of(shown.encode())[0]
    credentials = grpc.ssl_channel_credentials(shown.encode(), pair[0], pair[1])
    return grpc.secure_channel(address, credentials, (("grpc.ssl_target_name_override", name),))
