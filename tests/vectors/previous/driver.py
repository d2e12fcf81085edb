"""A client of the previous version of the contract, made of nothing but its descriptors.

It speaks the protocol of the drivers, knows only what that version knew, and adds no behaviour of a layer.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

CONTRACT = Path(__file__).parent / "contract.binpb"


class Driver:
    """Clients by name: a channel and the metadata of its calls."""

    def __init__(self) -> None:
        self.pool = descriptor_pool.DescriptorPool()
        files = descriptor_pb2.FileDescriptorSet.FromString(CONTRACT.read_bytes())
        for file in files.file:
            self.pool.Add(file)
        self.clients: dict[str, tuple[grpc.aio.Channel, list[tuple[str, str]]]] = {}

    def message(self, name: str) -> Any:
        """The class of a message."""
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))

    async def answer(self, line: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        try:
            return {"id": line["id"], "ok": True, **await getattr(self, f"op_{line['op']}")(line)}
        except grpc.RpcError as error:
            return {"id": line["id"], "ok": False, "error": told(error)}
        except (json_format.ParseError, DecodeError) as error:
            problem = {"code": "INVALID_ARGUMENT", "local": True, "message": str(error)}
            return {"id": line["id"], "ok": False, "error": problem}
        except Exception as error:  # noqa: BLE001 - told to the runner
            problem = {"code": "DRIVER", "message": f"{type(error).__name__}: {error}"}
            return {"id": line["id"], "ok": False, "error": problem}

    async def op_hello(self, _line: dict[str, Any]) -> dict[str, Any]:
        """Who this is."""
        return {"language": "previous", "version": "0", "protocol": 1}

    async def op_connect(self, line: dict[str, Any]) -> dict[str, Any]:
        """Make a client."""
        metadata = [("authorization", f"Bearer {line['api_key']}"), ("muniment-tenant", line["tenant"])]
        override = line.get("metadata_override", [])
        dropped = {key for key, _ in override}
        metadata = [pair for pair in metadata if pair[0] not in dropped]
        metadata += [(key, value) for key, value in override if value is not None]
        name = line.get("client", "main")
        if name in self.clients:
            await self.clients.pop(name)[0].close()
        self.clients[name] = (grpc.aio.insecure_channel(line["target"]), metadata)
        return {}

    async def op_call(self, line: dict[str, Any]) -> dict[str, Any]:
        """One call, without anything a layer adds."""
        channel, metadata = self.clients[line.get("client", "main")]
        service, _, name = line["method"].partition("/")
        method = self.pool.FindServiceByName(f"muniment.v1.{service}").methods_by_name[name]
        request = self.message(method.input_type.full_name)()
        json_format.ParseDict(line.get("request", {}), request)
        options = {
            "request_serializer": type(request).SerializeToString,
            "response_deserializer": self.message(method.output_type.full_name).FromString,
        }
        path = f"/muniment.v1.{service}/{name}"
        timeout = line.get("timeout_ms", 30_000) / 1000
        if method.server_streaming:
            stream = channel.unary_stream(path, **options)(request, metadata=metadata, timeout=timeout)
            return {"response": [json_format.MessageToDict(each) async for each in stream]}
        call = channel.unary_unary(path, **options)
        if not line.get("all_pages"):
            response = await call(request, metadata=metadata, timeout=timeout)
            return {"response": json_format.MessageToDict(response)}
        items: list[Any] = []
        while True:
            response = await call(request, metadata=metadata, timeout=timeout)
            items += json_format.MessageToDict(response).get(
                response.DESCRIPTOR.fields_by_number[1].json_name, []
            )
            if not response.next_page_token or len(items) >= line.get("take", len(items) + 1):
                return {"response": items[: line.get("take")]}
            request.page_token = response.next_page_token

    async def op_echo(self, line: dict[str, Any]) -> dict[str, Any]:
        """A message there and back."""
        message = self.message(line["message_type"])()
        if "json" in line:
            json_format.ParseDict(line["json"], message)
        else:
            message.ParseFromString(base64.b64decode(line["binary_base64"]))
        binary = base64.b64encode(message.SerializeToString()).decode()
        return {"response": json_format.MessageToDict(message), "binary_base64": binary}


def told(error: Any) -> dict[str, Any]:
    """A failed call as the protocol tells it."""
    made: dict[str, Any] = {
        "code": error.code().name,
        "reason": "",
        "domain": "",
        "metadata": {},
        "violations": [],
        "retry_after_ms": None,
        "local": False,
    }
    trailers = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailers.get("grpc-status-details-bin", b""))
    for packed in status.details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if packed.Unpack(info):
            made |= {"reason": info.reason, "domain": info.domain, "metadata": dict(info.metadata)}
        elif packed.Unpack(bad):
            made["violations"] = [{"field": each.field, "rule": each.reason} for each in bad.field_violations]
    return made


async def main() -> None:
    """Carry out the lines of stdin, one after the other."""
    driver = Driver()
    loop = asyncio.get_running_loop()
    while text := await loop.run_in_executor(None, sys.stdin.readline):
        line = json.loads(text)
        answer = {"id": line["id"], "ok": True} if line["op"] == "close" else await driver.answer(line)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        if line["op"] == "close":
            return


if __name__ == "__main__":
    asyncio.run(main())
