"""What is written, what is asked, and what a search through everything would find.

A memory has fourteen words of a vocabulary drawn by Zipf's law, and a vector about one of fifty topics:
its cosine to the topic's own vector is drawn from the range in which the model's scores tell memories
apart. A topic's vector is the model's embedding of a sentence, so that a query in words finds memories
by meaning, too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from muniment_server.embedding.base import Embedder
from muniment_server.retrieval.analysis import Analyzer
from muniment_server.retrieval.bm25 import K1, B, idf

RARE = "rare"
_RARE_SHARE = 0.02
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aeiou"]


def made_up(number: int, syllables: int) -> str:
    """A word that no language has: no stop word, and no number for the analyser to take apart."""
    parts = []
    for _ in range(syllables):
        number, part = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[part])
    return "".join(parts) + "x"


_WORDS = [made_up(number * 67, 3) for number in range(4000)]


def distinct_words(random: np.random.Generator, count: int) -> list[str]:
    """Words of the vocabulary, the frequent ones more often; repeated ones would be taken for stuffing."""
    found: dict[str, None] = {}
    while len(found) < count:
        ranks = np.minimum(random.zipf(1.3, size=count), len(_WORDS)) - 1
        found.update(dict.fromkeys(_WORDS[rank] for rank in ranks))
    return list(found)[:count]


_PEOPLE = ("Ada", "Bogdan", "Chidi", "Dilnoza", "Eira", "Farid", "Gudrun", "Hoshi", "Ines", "Jomo")
_MATTERS = (
    "prefers the night train to the mountains",
    "is allergic to walnuts and shellfish",
    "signs the invoices of the northern office",
    "plays the cello in an orchestra",
    "parks the blue bicycle behind the library",
)
SENTENCES = tuple(f"{person} {matter}" for person in _PEOPLE for matter in _MATTERS)
_NEAR = 5e-5
"""Relevances as close as this count as equal: the database sums halves in single precision."""
_NEAR_EMBEDDED = 4e-3
"""The same where the server embedded the query: engines do not repeat a vector to the last bit."""


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


@dataclass
class Topics:
    """The vectors that memories and queries lie around, one row for each of SENTENCES."""

    vectors: np.ndarray
    low: float
    high: float

    @classmethod
    def of(cls, embedder: Embedder) -> "Topics":
        """Embed the sentences."""
        calibration = embedder.model.calibration
        return cls(
            np.array([_unit(embedder.embed_query(text)) for text in SENTENCES]),
            calibration.cosine_low,
            calibration.cosine_high,
        )

    def around(self, topic: int, cosines: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Vectors of the given cosines to a topic's."""
        centre = self.vectors[topic]
        noise = random.normal(size=(len(cosines), len(centre)))
        noise = _unit(noise - np.outer(noise @ centre, centre))
        return np.outer(cosines, centre) + np.sqrt(1 - cosines[:, None] ** 2) * noise


@dataclass(frozen=True)
class Query:
    """Words and a vector of a topic."""

    text: str
    vector: np.ndarray


class Questions:
    """Never the same query twice."""

    def __init__(self, topics: Topics, random: np.random.Generator) -> None:
        self._topics = topics
        self._random = random

    def words(self, count: int) -> list[str]:
        """See `distinct_words`."""
        return distinct_words(self._random, count)

    def given(self) -> Query:
        """Six words of the corpus and a vector near a topic."""
        topic = int(self._random.integers(len(SENTENCES)))
        vector = self._topics.around(topic, np.array([0.98]), self._random)[0]
        return Query(" ".join(self.words(6)), vector)

    def from_text(self) -> str:
        """A sentence about a topic with two words of the corpus."""
        topic = SENTENCES[int(self._random.integers(len(SENTENCES)))]
        return f"{topic} {' '.join(self.words(2))} {made_up(int(self._random.integers(2**30)), 5)}"


@dataclass
class Subject:
    """The memories of one subject as they were written."""

    name: str
    texts: list[str]
    vectors: np.ndarray
    tags: list[list[str]]
    low: float
    high: float
    ids: list[str] = field(default_factory=list)
    refused: int = 0
    _lexical: "Lexical | None" = None

    @classmethod
    def make(
        cls, name: str, size: int, topics: Topics, questions: Questions, random: np.random.Generator
    ) -> "Subject":
        """Draw texts and vectors."""
        span = topics.high - topics.low
        vectors = np.empty((size, topics.vectors.shape[1]), dtype=np.float32)
        for topic in range(len(SENTENCES)):
            rows = np.arange(topic, size, len(SENTENCES))
            cosines = random.uniform(topics.low + 0.1 * span, topics.high - 0.05 * span, size=len(rows))
            if len(rows):
                vectors[rows] = topics.around(topic, cosines, random)
        texts = [
            f"{' '.join(questions.words(14))} {made_up(int(random.integers(2**30)), 5)}" for _ in range(size)
        ]
        tags = [[RARE] if random.random() < _RARE_SHARE else [] for _ in range(size)]
        return cls(name, texts, vectors, tags, topics.low, topics.high)

    def relevances(self, vector: np.ndarray) -> np.ndarray:
        """What the vector leg gives each memory; of vectors as half precision holds them, like the database.

        Below the model's lower bound all are alike: none is nearer than another (embedding/base.py).
        """
        memories = _unit(self.vectors.astype(np.float16).astype(np.float64))
        cosines = memories @ _unit(vector.astype(np.float16).astype(np.float64))
        return np.clip((cosines - self.low) / (self.high - self.low), 0.0, 1.0)

    def lexical(self) -> "Lexical":
        """The lexical index; made when it is asked for."""
        if self._lexical is None:
            self._lexical = Lexical(self.texts)
        return self._lexical

    def recall(self, found: Sequence[str], scores: np.ndarray, eligible: np.ndarray, near: float) -> float:
        """Share of the best ten (by `scores`, among the `eligible`) that was found.

        What is as good as the tenth may stand for it.
        """
        wanted = min(10, int(eligible.sum()))
        if not wanted:
            return 1.0 if not found else 0.0
        least = np.sort(scores[eligible])[-wanted]
        row_of = {memory_id: row for row, memory_id in enumerate(self.ids)}
        rows = {row_of[one] for one in found}
        return sum(bool(eligible[row]) and scores[row] >= least - near for row in rows) / wanted

    def recall_by_vector(self, found: Sequence[str], vector: np.ndarray, embedded: bool = False) -> float:
        """Against the relevance of all memories."""
        everybody = np.ones(len(self.texts), dtype=bool)
        return self.recall(found, self.relevances(vector), everybody, _NEAR_EMBEDDED if embedded else _NEAR)

    def recall_of_rare(self, found: Sequence[str], vector: np.ndarray) -> float:
        """Against the relevance of the memories with the rare tag."""
        return self.recall(found, self.relevances(vector), np.array([bool(one) for one in self.tags]), _NEAR)

    def recall_by_words(self, found: Sequence[str], query: str) -> float:
        """Against BM25 of all memories."""
        scores = self.lexical().scores(query)
        return self.recall(found, scores, scores > 0, 1e-9)


class Lexical:
    """BM25 over every memory of a subject (retrieval/bm25.py), with numpy."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._analyzer = Analyzer()
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths = []
        for row, text in enumerate(texts):
            terms = self._analyzer.analyze(text)
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                rows, counts = self._postings.setdefault(term, ([], []))
                rows.append(row)
                counts.append(count)
        self._ratios = np.array(lengths) / np.mean(lengths)

    def scores(self, query: str) -> np.ndarray:
        """Of every memory; 0 where it has none of the words."""
        scores = np.zeros(len(self._ratios))
        for term in self._analyzer.analyze_query(query):
            if term not in self._postings:
                continue
            rows, counts = (np.array(one) for one in self._postings[term])
            scores[rows] += (
                idf(len(self._ratios), len(rows))
                * counts
                * (K1 + 1)
                / (counts + K1 * (1 - B + B * self._ratios[rows]))
            )
        return scores
