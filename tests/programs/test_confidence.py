"""The confidence of an answer from its proof, and abstention below a threshold."""

from __future__ import annotations

import pytest
from program_parts import ask

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.programs import KERAG, Outcome, Sources
from triplecheck.programs.base import make_program
from triplecheck.programs.outcome import proof_confidence
from triplecheck.programs.steps import Expanded, Stopped, TraceEvent

MONGOLIA = "What is the capital of Mongolia?"


@pytest.fixture(scope="module")
def capital(bundled: KnowledgeBase) -> Outcome:
    result = ask(KERAG(Sources.of(bundled), hops=1), MONGOLIA)
    (row,) = result.evidence
    graph = bundled.graph
    edge = graph.find(row["head"]), graph.find_relation(row["relation"]), graph.find(row["tail"])
    assert None not in edge
    return Outcome("Ulaanbaatar", (), (edge,), grounded=True)  # type: ignore[arg-type]


def sure(base: KnowledgeBase, question: str, found: Outcome, paths: int = 1, *, words: bool = False) -> float:
    steps: list[TraceEvent] = [Expanded(1, "a path", 1, 1)] * paths
    confidence = proof_confidence(base.graph, None if words else base.encoder, question, found, steps)
    assert confidence is not None and 0 <= confidence <= 1
    return confidence


@pytest.mark.parametrize("words", [True, False], ids=["by words", "by the encoder"])
def test_a_proof_similar_to_the_question_gives_more_confidence(
    bundled: KnowledgeBase, capital: Outcome, words: bool
) -> None:
    assert sure(bundled, MONGOLIA, capital, words=words) > sure(bundled, "Who wrote Faust?", capital, words=words)


def test_many_followed_paths_give_less_confidence(bundled: KnowledgeBase, capital: Outcome) -> None:
    once = sure(bundled, MONGOLIA, capital)
    assert sure(bundled, MONGOLIA, capital, 0) == once
    assert sure(bundled, MONGOLIA, capital, 4) == pytest.approx(once / 2)


def test_a_partial_proof_halves_the_confidence(bundled: KnowledgeBase, capital: Outcome) -> None:
    part = Outcome(capital.answer, (), capital.evidence, grounded=False)
    assert sure(bundled, MONGOLIA, part) == pytest.approx(sure(bundled, MONGOLIA, capital) / 2)


def test_without_a_proof_the_confidence_is_unknown(bundled: KnowledgeBase) -> None:
    assert proof_confidence(bundled.graph, bundled.encoder, MONGOLIA, Outcome("Ulaanbaatar"), []) is None


def test_a_program_abstains_below_its_threshold_and_says_so(bundled: KnowledgeBase) -> None:
    sources = Sources.of(bundled)
    free = ask(KERAG(sources, hops=1), MONGOLIA)
    assert free.confidence is not None
    given = ask(make_program(KERAG, sources, {"hops": 1, "abstain_below": free.confidence}), MONGOLIA)
    assert (given.answer, given.abstained) == (free.answer, False), "at the threshold it answers"
    strict = ask(make_program(KERAG, sources, {"hops": 1, "abstain_below": free.confidence + 0.01}), MONGOLIA)
    assert (strict.answer, strict.evidence, strict.reason) == ("", [], "low_confidence")
    assert strict.confidence == free.confidence and strict.retrieved == free.retrieved
    assert isinstance(strict.steps[-1], Stopped) and "fitted" in strict.steps[-1].detail


@pytest.mark.parametrize("below", [-0.1, "often", True, float("nan")])
def test_an_invalid_confidence_is_rejected(below: object, bundled: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="abstain_below cannot be"):
        make_program(KERAG, Sources.of(bundled), {"abstain_below": below})
    assert make_program(KERAG, Sources.of(bundled), {"abstain_below": "none"}).abstain_below is None
