"""The settings of a tenant: bounds, spellings, and that none can make a recall reach further."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from muniment_server.application.policies import policy_bytes
from muniment_server.domain.agent_views import AgentView
from muniment_server.domain.model import MemoryKind, SourceType, TrustLevel
from muniment_server.domain.settings import (
    DEFAULT_SETTINGS,
    SettingInvalid,
    build,
    info,
    parse,
    registry,
)
from muniment_server.storage.policies import PolicyRows


def test_every_setting_says_what_it_means_and_takes_its_own_default() -> None:
    assert len(registry()) > 60
    for name, one in registry().items():
        assert one.name == name
        assert one.description.endswith("."), name
        assert one.allowed, name
        assert parse(name, one.default) == json.loads(one.default)
        settings, unusable = build({name: json.loads(one.default)})
        assert (settings, unusable) == (DEFAULT_SETTINGS, ()), name


def test_no_setting_can_name_anybody() -> None:
    """Numbers and choices only: no text of a caller's own, so no subject, space, agent or tenant."""
    for one in registry().values():
        for text in ('"u1"', '["u1"]', '{"subject": "u1"}', "true", "1e9", "-1", "NaN", '""'):
            with pytest.raises(SettingInvalid):
                one.read(text)


def test_values_are_json_or_bare_words_within_bounds() -> None:
    assert parse("packing.source_share", "1") == 1.0
    assert parse("consent.default", "none") == "none"
    assert parse("consent.default", '"none"') == "none"
    assert parse("review.sources", '["tool", "third_party"]') == ["tool", "third_party"]
    assert parse("ranking.min_score", "null") is None
    for name, text, told in (
        ("packing.source_share", "0", "from 0.1 to 1"),
        ("packing.source_share", "half", "from 0.1 to 1"),
        ("consent.default", "some", "all, necessary, none"),
        ("ranking.knid", "1", "Did you mean ranking.kind?"),
        ("gates.card_number", "reject", "Did you mean gates.card_number.default?"),
        ("x", "1", "muniment settings list"),
    ):
        with pytest.raises(SettingInvalid, match=told.replace("?", r"\?")):
            parse(name, text)


def test_what_is_set_in_part_keeps_the_other_defaults() -> None:
    settings, unusable = build(
        {"gates.stuffing.low": "review", "packing.tail_ratio": 0.5, "of.tomorrow": 1, "ranking.kind": 9}
    )
    assert settings.gates.stuffing.low == "review"
    assert settings.gates.stuffing.medium == DEFAULT_SETTINGS.gates.stuffing.medium == "mark"
    assert settings.packing.tail_ratio == 0.5
    assert settings.ranking == DEFAULT_SETTINGS.ranking
    assert unusable == ("of.tomorrow", "ranking.kind")
    assert info("gates.stuffing.low").default == '"mark"'


def test_words_of_settings_become_kinds_and_sources() -> None:
    settings, _ = build(
        {
            "consent.necessary_kinds": ["rule", "turn"],
            "review.sources": ["tool"],
            "gates.iban.fact": "reject",
            "gates.iban.default": "allow",
        }
    )
    assert settings.consent.kinds() == {MemoryKind.RULE, MemoryKind.TURN}
    assert settings.review.source_types() == {SourceType.TOOL}
    assert settings.gates.iban.by_kind() == {MemoryKind.FACT: "reject"}
    assert settings.gates.iban.default == "allow"


def test_the_bytes_under_the_mac_differ_for_whatever_differs() -> None:
    base = PolicyRows(3, b"", {"a": "1", "b": "2"}, {"x": "v"})
    others = [
        PolicyRows(4, b"", {"a": "1", "b": "2"}, {"x": "v"}),
        PolicyRows(3, b"", {"a": "1"}, {"x": "v"}),
        PolicyRows(3, b"", {"a": "2", "b": "1"}, {"x": "v"}),
        PolicyRows(3, b"", {"a": "1", "b": "2", "x": "0"}, {}),
        PolicyRows(3, b"", {"a": "1", "b": "2"}, {"y": "v"}),
        PolicyRows(3, b"", {"a": "1", "b": "2"}, {"x": "v", "y": "v"}),
    ]
    assert len({policy_bytes(rows) for rows in [base, *others]}) == 7
    same = PolicyRows(3, b"other", {"b": " 2 ", "a": "1"}, {"x": "v"})
    assert policy_bytes(same) == policy_bytes(base), "the database spells JSON its own way"


def test_a_view_comes_back_as_it_went() -> None:
    for view in (
        AgentView(),
        AgentView(
            frozenset({MemoryKind.FACT, MemoryKind.TURN}),
            frozenset({"b", "a"}),
            frozenset({SourceType.TOOL}),
            TrustLevel.LOW,
            frozenset({"空间"}),
        ),
        AgentView(tags=frozenset(), spaces=frozenset()),
    ):
        assert AgentView.from_json(view.to_json()) == view
    for text in ("{}", "[]", '{"kinds": [99]}', "null"):
        with pytest.raises((ValueError, KeyError, TypeError)):
            AgentView.from_json(text)


def test_the_reference_is_up_to_date() -> None:
    tool = Path(__file__).resolve().parents[3] / "tools" / "settings_reference.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
