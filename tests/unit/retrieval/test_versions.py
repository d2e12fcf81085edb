"""What earlier versions of the analysis gave stays as it was, since their rows still stand in stores."""

from collections.abc import Mapping

import pytest

from muniment_server.retrieval.analysis import ANALYZER_VERSION
from muniment_server.retrieval.versions import OLDEST_VERSION, VERSIONS, index_terms_of, query_terms


@pytest.mark.parametrize(
    ("version", "text", "speaker", "length", "frequencies"),
    [
        (
            1,
            "Straße und Größe bei Müller, Øystein; Ёлка",
            "Zoë Groß",
            10,
            {"strasse": 1, "und": 1, "grösse": 1, "gross": 1, "bei": 1, "müller": 1, "muller": 1}
            | {"øystein": 1, "oystein": 1, "елка": 1}
            | {"\x1fspeaker:zoë": 1, "\x1fspeaker:zoe": 1, "\x1fspeaker:gross": 1}
            | {"\x1fname:gr": 1, "\x1fsays:name": 1},
        ),
        (
            1,
            "Clara met Dr. O'Neil in Paris, did she?",
            "Will",
            7,
            {"clara": 1, "met": 1, "dr": 1, "oneil": 1, "o": 1, "neil": 1, "pari": 1}
            | {
                "\x1fname:pari": 1,
                "\x1fname:dr": 1,
                "\x1fsays:name": 1,
                "\x1fasks": 1,
                "\x1fspeaker:will": 1,
            },
        ),
        (
            1,
            "臺灣的圖書館",
            None,
            14,
            {"臺": 2, "灣": 2, "圖": 2, "書": 2, "館": 2, "臺灣": 1, "圖書": 1, "書館": 1, "的": 1},
        ),
    ],
)
def test_what_a_version_puts_into_the_index(
    version: int, text: str, speaker: str | None, length: int, frequencies: Mapping[str, int]
) -> None:
    terms = index_terms_of(version, text, speaker)
    assert dict(terms.frequencies) == frequencies
    assert terms.length == length


def test_a_query_has_the_terms_of_every_version_that_may_be_there() -> None:
    both = query_terms("Müllers Straße", 1)
    assert both[: len(query_terms("Müllers Straße"))] == query_terms("Müllers Straße")
    assert set(VERSIONS[1].query("Müllers Straße")) <= set(both)
    assert OLDEST_VERSION == 1 < ANALYZER_VERSION
