"""Writes a graph for ONNX Runtime, which reads it as Protocol Buffers: the few messages that it takes."""

import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32] | npt.NDArray[np.uint8]

_TYPES = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2}
_IR_VERSION, _OPSET = 9, 17
_CONTRIBUTED = "com.microsoft"
"""Where ONNX Runtime has operators of its own."""


class Graph:
    """Nodes and constants in the order in which they were added; names are the caller's."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[tuple[bytes, memoryview]] = []

    def constant(self, name: str, values: Array) -> str:
        """Add a constant; its name. The values may not change any more."""
        dims = b"".join(_number(1, size) for size in values.shape)
        kind = _number(2, _TYPES[values.dtype])
        about = dims + kind + _bytes(8, name.encode()) + _header(9, values.nbytes)
        self._constants.append((about, np.ascontiguousarray(values).reshape(-1).view(np.uint8).data))
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str,
        *,
        contributed: bool = True,
        **attributes: float,
    ) -> str:
        """Add a node with one output; its name. contributed: an operator that is not of the standard."""
        self._nodes.append(
            b"".join(_bytes(1, one.encode()) for one in inputs)
            + _bytes(2, output.encode())
            + _bytes(4, operator.encode())
            + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
            + (_bytes(7, _CONTRIBUTED.encode()) if contributed else b"")
        )
        return output

    def model(self, given: str, result: str, width: int) -> bytes:
        """The model: rows of so many numbers are given, and as many come out, in a batch of one."""
        # Put together once: the constants are most of it, and each copy of them would stay in the process.
        graph: list[bytes | memoryview] = [_all(1, self._nodes), _bytes(2, b"encoder")]
        for about, values in self._constants:
            graph += (_header(5, len(about) + len(values)), about, values)
        graph += (_bytes(11, _rows(given, width)), _bytes(12, _rows(result, width)))
        versions = (("", _OPSET), (_CONTRIBUTED, 1))
        opsets = [_bytes(1, name.encode()) + _number(2, version) for name, version in versions]
        size = sum(map(len, graph))
        return b"".join([_number(1, _IR_VERSION), _header(7, size), *graph, _all(8, opsets)])


def _rows(name: str, width: int) -> bytes:
    dims = (_number(1, 1), _bytes(2, b"tokens"), _number(1, width))
    tensor = _number(1, _TYPES[np.dtype(np.float32)]) + _bytes(2, _all(1, dims))
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name.encode()) + _number(3, value) + _number(20, 2)
    return _bytes(1, name.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)


def _all(field: int, messages: Iterable[bytes]) -> bytes:
    return b"".join(_bytes(field, message) for message in messages)


def _bytes(field: int, value: bytes) -> bytes:
    return _header(field, len(value)) + value


def _header(field: int, size: int) -> bytes:
    return _varint(field << 3 | 2) + _varint(size)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
