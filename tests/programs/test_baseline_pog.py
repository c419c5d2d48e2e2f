"""Plan-on-Graph."""

from __future__ import annotations

from typing import Any

import pytest
from baseline_parts import findings, follow, go_back, go_to, goals, recall, sufficient
from program_parts import EX, ask, conclude_with, items, play, steps, topics

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.programs import Sources, replay, resolve_program
from triplecheck.programs.baselines.pog import PoG
from triplecheck.programs.steps import Checked, Stopped, Truncated

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
GERMAN = conclude_with("German", cite=["student of", "nationality"])


def ids(result: Any) -> list[str]:
    return [answer["id"] for answer in result.answers]


def test_it_plans_explores_remembers_and_answers(sources: Sources) -> None:
    result, engine = play(
        *(PoG(sources, assist="-plans"), TEACHER),
        topics("Bernhard Heiden"),
        goals("the teacher", "the nationality"),
        follow("student of"),
        findings("Paul Hindemith", "unknown"),
        sufficient(False),
        go_back(),
        follow("nationality"),
        findings("unknown", "German"),
        sufficient(True),
        GERMAN,
    )
    assert (result.answer, ids(result), result.grounded) == ("German", [EX + "german"], True)
    assert replay(sources.graph, result.evidence) == []
    assert items(engine.requests[5], "findings") == ["the teacher: Paul Hindemith", "the nationality: unknown"]
    assert result.usage.calls == 10


def test_earlier_facts_are_kept(sources: Sources) -> None:
    _, engine = play(
        *(PoG(sources, assist="-plans", depth=3), TEACHER),
        topics("Bernhard Heiden"),
        goals("the teacher", "the nationality"),
        follow("student of"),
        findings("Paul Hindemith", "unknown"),
        sufficient(False),
        go_back(),
        follow("→ nationality"),
        findings("unknown"),
        sufficient(False),
        go_back(),
        follow("nothing"),
        conclude_with("", cite=[]),
        recall(),
    )
    assert items(engine.requests[9], "findings")[0] == "the teacher: Paul Hindemith"


def test_it_backtracks_to_a_pruned_relation(sources: Sources) -> None:
    result, engine = play(
        *(PoG(sources, assist="-plans"), "Who taught Bernhard Heiden?"),
        topics("Bernhard Heiden"),
        goals("the teacher"),
        follow("born in"),
        findings("unknown"),
        sufficient(False),
        go_back("student of"),
        follow("nothing"),
        findings("Paul Hindemith"),
        sufficient(True),
        conclude_with("Paul Hindemith", cite=["student of"]),
    )
    assert ids(result) == [EX + "hindemith"]
    assert all("born in" not in path for path in items(engine.requests[5], "paths"))
    assert [step.what for step in steps(result, Checked) if not step.passed] == ["sufficiency", "reflection"]


def test_without_reflection_it_does_not_backtrack(sources: Sources) -> None:
    result, _ = play(
        *(PoG(sources, assist="-plans", reflection=False, depth=2), "Who taught Bernhard Heiden?"),
        topics("Bernhard Heiden"),
        goals("the teacher"),
        follow("born in"),
        findings("unknown"),
        sufficient(False),
        follow("nothing"),
        conclude_with("", cite=[]),
        recall("Paul Hindemith"),
    )
    assert (result.answer, result.grounded) == ("Paul Hindemith", False)
    assert [step.reason for step in steps(result, Stopped)] == ["no_facts", "not_in_facts", "insufficient"]


def test_the_model_decides_how_many_relations_and_entities_are_followed(sources: Sources) -> None:
    result, _ = play(
        *(PoG(sources, assist="-plans", depth=1), "What did Paul Hindemith play, and what was his nationality?"),
        topics("Paul Hindemith"),
        goals("the instrument", "the nationality"),
        follow("instrument", "nationality"),
        go_to("viola", "piano"),
        findings("viola, piano", "German"),
        sufficient(True),
        conclude_with("viola", "piano", "German", cite=["instrument", "nationality"]),
    )
    assert set(ids(result)) == {EX + "viola", EX + "piano", EX + "german"}


def test_a_frontier_over_the_limit_is_truncated_and_recorded(sources: Sources) -> None:
    result, _ = play(
        *(PoG(sources, assist="-plans", frontier=1, depth=2), "?"),
        topics("Paul Hindemith"),
        goals("it"),
        follow("instrument"),
        go_to("viola", "piano", scores=[0.2, 0.8]),
        findings("unknown"),
        sufficient(False),
        go_back(),
        follow("nothing"),
        conclude_with("", cite=[]),
        recall(),
    )
    assert ("entities explored", 1, 2) in [(s.what, s.kept, s.total) for s in steps(result, Truncated)]


def test_grounded_only_abstains(sources: Sources) -> None:
    result, _ = play(PoG(sources, assist="-plans", grounded_only=True), "Who is the tallest?", topics())
    assert (result.abstained, result.reason) == (True, "no_topic")


def test_invalid_options_are_rejected(sources: Sources) -> None:
    with pytest.raises(UserError, match="frontier"):
        PoG(sources, assist="-plans", frontier=0)


def test_it_runs_without_a_language_model(bundled: KnowledgeBase) -> None:
    result = ask(resolve_program("pog")(Sources.of(bundled)), TEACHER)
    assert (result.answer, result.grounded) == ("German", True)
    assert replay(bundled.graph, result.evidence) == []
    assert {"NameSubGoals", "UpdateMemory"} <= {s.signature for s in result.steps if s.kind == "wrote"}
