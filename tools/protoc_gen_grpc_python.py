"""A buf plug-in that writes the Python gRPC stubs.

buf knows protoc's built-in `python` and `pyi` generators, but `grpc_python` exists only inside
grpcio-tools. This reads a CodeGeneratorRequest from standard input, hands its descriptors to the
pinned grpcio-tools and returns the files in a CodeGeneratorResponse on standard output.
"""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler import plugin_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc


def main() -> int:
    request = plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    response = plugin_pb2.CodeGeneratorResponse(
        supported_features=plugin_pb2.CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL
    )
    # protoc writes an empty stub module for every file; only files with a service are wanted.
    with_services = {file.name for file in request.proto_file if file.service}
    wanted = [name for name in request.file_to_generate if name in with_services]
    if wanted:
        with tempfile.TemporaryDirectory() as folder:
            descriptors = Path(folder, "descriptors.binpb")
            descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
            output = Path(folder, "out")
            output.mkdir()
            arguments = ["protoc", f"--descriptor_set_in={descriptors}", f"--grpc_python_out={output}"]
            if protoc.main([*arguments, *wanted]) != 0:
                response.error = "grpc_python failed"
            for path in sorted(output.rglob("*.py")):
                response.file.add(name=path.relative_to(output).as_posix(), content=path.read_text("utf-8"))
    sys.stdout.buffer.write(response.SerializeToString())
    return 0


if __name__ == "__main__":
    sys.exit(main())
