"""`triplecheck kb match`: patterns over a knowledge base, with the proof of each answer."""

from __future__ import annotations

import json

import pytest
from cli_support import Run, ok, refused

PUPILS = "?pupil 'student of' 'Paul Hindemith'"


def test_answers_are_shown_with_their_triples(run: Run, kb: object) -> None:
    result = ok(run("kb", "match", kb, f"{PUPILS}; ?pupil 'born in' ?town"))
    assert "Bernhard Heiden → student of → Paul Hindemith; Bernhard Heiden → born in → Frankfurt" in result.stdout
    assert "Arnold Cooke" not in result.stdout
    assert "1 of 1" in result.stdout


def test_json_tells_sizes_by_round_and_answers(run: Run, kb: object) -> None:
    result = run("kb", "match", kb, f"{PUPILS}; ?pupil 'born in' ?town", "--answer", "?town", "--json")
    found = json.loads(result.stdout)
    assert (found["variable"], found["count"], found["exact"]) == ("town", 1, True)
    assert found["answers"][0]["label"] == "Frankfurt"
    assert found["rounds"][-1] == {"pupil": 1, "'Paul Hindemith'": 1, "town": 1}


def test_nothing_says_which_pattern_left_nothing_and_relaxation_helps(run: Run, kb: object) -> None:
    patterns = f"{PUPILS}; ?pupil 'born in' Hanau"
    result = ok(run("kb", "match", kb, patterns))
    assert "left nothing" in result.stdout
    relaxed = run("kb", "match", kb, patterns, "--relax")
    assert "without: " in relaxed.stdout


def test_an_unknown_relation_is_a_warning(run: Run, kb: object) -> None:
    result = ok(run("kb", "match", kb, "?pupil 'stdent of' 'Paul Hindemith'"))
    assert "is it 'student of'?" in result.stderr
    assert "Arnold Cooke" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["?a b"], "2 parts"),
        ([PUPILS, "--answer", "?nobody"], "?pupil"),
        (["?x 'student of' 'Zzyzx Qqq'"], "nothing in the graph is named"),
    ],
)
def test_mistakes_are_explained(run: Run, kb: object, words: list[str], said: str) -> None:
    refused(run("kb", "match", kb, *words), said)
