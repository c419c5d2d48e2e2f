"""Baselines that explore: Think-on-Graph and Plan-on-Graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from dspy.lm15 import Request
from program_parts import (
    EX,
    ask,
    conclude_with,
    fields,
    ids,
    items,
    kinds,
    numbers,
    play,
    recall,
    steps,
    topics,
)

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.programs import Program, Sources, replay
from triplecheck.programs.baselines.exploring import ExploringLimits
from triplecheck.programs.baselines.pog import PoG
from triplecheck.programs.baselines.tog import ToG
from triplecheck.programs.steps import Checked, Scored, Stopped, Truncated, Wrote

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
tog, pog = partial(ToG, assist="-plans"), partial(PoG, assist="-plans")


def follow(*wanted: str, scores: Sequence[float] = ()) -> Callable[[Request], str]:
    """Chooses the relations of paths that contain one of these texts, with the score of that text."""
    return lambda request: _choice("relations", items(request, "paths"), wanted, scores)


def go_to(*wanted: str, scores: Sequence[float] = ()) -> Callable[[Request], str]:
    """Chooses the entities that contain one of these texts, with the score of that text."""
    return lambda request: _choice("entities", items(request, "reached"), wanted, scores)


def _choice(what: str, lines: Sequence[str], wanted: Sequence[str], scores: Sequence[float]) -> str:
    score_of = dict(zip(wanted, scores or [1.0] * len(wanted), strict=True))
    chosen = {n: score_of[w] for n, line in enumerate(lines, 1) for w in reversed(wanted) if w in line}
    return fields(**{what: "\n".join(f"{n}: {score}" for n, score in chosen.items()) or "none"})


def sufficient(verdict: bool) -> str:
    return fields(sufficient=str(verdict))


def goals(*names: str) -> str:
    return fields(goals="\n".join(names))


def findings(*found: str) -> str:
    return fields(findings="\n".join(found))


def go_back(*wanted: str) -> Callable[[Request], str]:
    """Goes back to the paths that contain one of these texts."""
    return lambda request: fields(revisit=numbers(items(request, "paths"), wanted))


TWO_HOPS = (
    topics("Bernhard Heiden"),
    follow("student of"),
    sufficient(False),
    follow("nationality"),
    sufficient(True),
    conclude_with("German", cite=["student of", "nationality"]),
)


def test_it_explores_until_the_facts_suffice(sources: Sources) -> None:
    result, engine = play(tog(sources), TEACHER, *TWO_HOPS)
    assert (result.answer, ids(result), result.grounded) == ("German", ["german"], True)
    assert [(row["head_label"], row["tail_label"]) for row in result.evidence] == [
        ("Bernhard Heiden", "Paul Hindemith"),
        ("Paul Hindemith", "German"),
    ]
    assert replay(sources.graph, result.evidence) == []
    assert result.usage.calls == len(TWO_HOPS) == len(engine.requests)


def test_relations_are_scored_for_each_entity_of_the_beam(sources: Sources) -> None:
    _, engine = play(
        *(tog(sources, depth=2), "In which country was Paul Hindemith born?"),
        topics("Paul Hindemith"),
        follow("born in", "nationality"),
        sufficient(False),
        follow("country"),
        follow("nothing"),
        sufficient(True),
        conclude_with("Germany", cite=["born in", "country"]),
    )
    hanau, german = (items(engine.requests[n], "paths") for n in (3, 4))
    assert all(path.startswith("Paul Hindemith → born in ") for path in hanau)
    assert all(path.startswith("Paul Hindemith → nationality ") for path in german)


def test_the_beam_keeps_the_best_routes_of_all(sources: Sources) -> None:
    result, _ = play(
        *(tog(sources, width=1, depth=1), "What did he play?"),
        topics("Paul Hindemith"),
        follow("instrument", "nationality", scores=[0.9, 0.1]),
        go_to("viola", "piano", scores=[0.7, 0.3]),
        sufficient(False),
        recall(),
    )
    (routes,) = [step for step in steps(result, Scored) if step.what == "routes"]
    assert [score for _, score in routes.scores] == pytest.approx([0.9 * 0.7])
    assert {sources.graph.find(EX + name) for name in ("viola", "piano")} <= result.retrieved


def test_scores_multiply_along_a_route(sources: Sources) -> None:
    result, _ = play(
        *(tog(sources, depth=1), "?"),
        topics("Paul Hindemith"),
        follow("instrument", "nationality", scores=[0.25, 0.75]),
        go_to("piano", "viola"),
        sufficient(False),
        recall(),
    )
    (routes,) = [step for step in steps(result, Scored) if step.what == "routes"]
    assert routes.scores[0][0].endswith(": German")
    assert [score for _, score in routes.scores] == pytest.approx([0.75, 0.125, 0.125])


def test_after_the_last_hop_it_answers_from_memory(sources: Sources) -> None:
    result, _ = play(
        tog(sources, depth=1),
        TEACHER,
        topics("Bernhard Heiden"),
        follow("student of"),
        sufficient(False),
        recall("German"),
    )
    assert (result.answer, ids(result), result.grounded, result.evidence) == ("German", ["german"], False, [])
    assert [step.reason for step in steps(result, Stopped)] == ["insufficient"]


def test_tog_abstains_if_grounded_only(sources: Sources) -> None:
    result, _ = play(
        *(tog(sources, depth=1, grounded_only=True), TEACHER),
        topics("Bernhard Heiden"),
        follow("student of"),
        sufficient(False),
    )
    assert (result.abstained, result.reason) == (True, "insufficient")


def test_without_a_topic_it_answers_from_memory(sources: Sources) -> None:
    result, _ = play(tog(sources), "Who is the tallest?", topics(), recall("Nobody"))
    assert (result.answer, result.grounded) == ("Nobody", False)
    assert kinds(result)[:2] == ["wrote", "stopped"]


def test_without_selected_relations_sufficiency_is_not_judged(sources: Sources) -> None:
    result, _ = play(tog(sources), TEACHER, topics("Bernhard Heiden"), follow("nothing"), recall())
    assert [step.reason for step in steps(result, Stopped)] == ["no_facts", "insufficient", "unknown"]


def test_truncation_is_recorded(sources: Sources) -> None:
    result, _ = play(
        *(
            tog(sources, depth=1, limits=ExploringLimits(offered=1, entities=1)),
            "Which instruments did Paul Hindemith play?",
        ),
        topics("Paul Hindemith"),
        follow("instrument"),
        sufficient(False),
        recall(),
    )
    assert {step.what.split(":")[0].split(" of ")[0] for step in steps(result, Truncated)} == {"relations", "entities"}


@pytest.mark.parametrize("options", [{"depth": 0}, {"width": 0}])
def test_tog_rejects_invalid_options(options: dict[str, Any], sources: Sources) -> None:
    with pytest.raises(UserError, match="at least 1"):
        tog(sources, **options)


GERMAN = conclude_with("German", cite=["student of", "nationality"])


def test_it_plans_explores_remembers_and_answers(sources: Sources) -> None:
    result, engine = play(
        *(pog(sources), TEACHER),
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
    assert (result.answer, ids(result), result.grounded) == ("German", ["german"], True)
    assert replay(sources.graph, result.evidence) == []
    assert items(engine.requests[5], "findings") == ["the teacher: Paul Hindemith", "the nationality: unknown"]
    assert result.usage.calls == 10


def test_earlier_facts_are_kept(sources: Sources) -> None:
    _, engine = play(
        *(pog(sources, depth=3), TEACHER),
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
        *(pog(sources), "Who taught Bernhard Heiden?"),
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
    assert ids(result) == ["hindemith"]
    assert all("born in" not in path for path in items(engine.requests[5], "paths"))
    assert [step.what for step in steps(result, Checked) if not step.passed] == ["sufficiency", "reflection"]


def test_without_reflection_it_does_not_backtrack(sources: Sources) -> None:
    result, _ = play(
        *(pog(sources, reflection=False, depth=2), "Who taught Bernhard Heiden?"),
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
        *(pog(sources, depth=1), "What did Paul Hindemith play, and what was his nationality?"),
        topics("Paul Hindemith"),
        goals("the instrument", "the nationality"),
        follow("instrument", "nationality"),
        go_to("viola", "piano"),
        findings("viola, piano", "German"),
        sufficient(True),
        conclude_with("viola", "piano", "German", cite=["instrument", "nationality"]),
    )
    assert set(ids(result)) == {"viola", "piano", "german"}


def test_a_frontier_over_the_limit_is_truncated_and_recorded(sources: Sources) -> None:
    result, _ = play(
        *(pog(sources, frontier=1, depth=2), "?"),
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


def test_pog_abstains_if_grounded_only(sources: Sources) -> None:
    result, _ = play(pog(sources, grounded_only=True), "Who is the tallest?", topics())
    assert (result.abstained, result.reason) == (True, "no_topic")


def test_pog_rejects_invalid_options(sources: Sources) -> None:
    with pytest.raises(UserError, match="frontier"):
        pog(sources, frontier=0)


@pytest.mark.parametrize("program", [ToG, PoG])
def test_it_runs_without_a_language_model(program: type[Program], bundled: KnowledgeBase) -> None:
    result = ask(program(bundled), TEACHER)
    assert (result.answer, result.grounded) == ("German", True)
    assert replay(bundled.graph, result.evidence) == []
    wrote = steps(result, Wrote)
    assert result.usage.calls == len(wrote)
    assert ({"NameSubGoals", "UpdateMemory"} <= {step.signature for step in wrote}) == (program is PoG)
