"""The figures in the documentation are those of the corpora."""

from pathlib import Path

from .figures import table

_HEAD = "| | to find | to leave alone | precision | recall |\n| --- | --- | --- | --- | --- |\n"


def test_the_figures_in_the_documentation_are_those_of_the_corpora() -> None:
    text = (Path(__file__).parents[3] / "docs" / "writing.md").read_text(encoding="utf-8")
    documented = text.partition(_HEAD)[2].partition("\n\n")[0].splitlines()
    measured = table()
    print(*measured, sep="\n")
    assert documented == measured, "put the printed rows into docs/writing.md"
