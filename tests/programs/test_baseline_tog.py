"""Think-on-Graph."""

from __future__ import annotations

from typing import Any

import pytest
from baseline_parts import follow, go_to, recall, sufficient
from program_parts import EX, ask, conclude_with, items, kinds, play, steps, topics

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.programs import Sources, replay, resolve_program
from triplecheck.programs.baselines.exploring import ExploringLimits
from triplecheck.programs.baselines.tog import ToG
from triplecheck.programs.steps import Scored, Stopped, Truncated

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
TWO_HOPS = (
    topics("Bernhard Heiden"),
    follow("student of"),
    sufficient(False),
    follow("nationality"),
    sufficient(True),
    conclude_with("German", cite=["student of", "nationality"]),
)


def ids(result: Any) -> list[str]:
    return [answer["id"] for answer in result.answers]


def test_it_explores_until_the_facts_suffice(sources: Sources) -> None:
    result, engine = play(ToG(sources, assist="-plans"), TEACHER, *TWO_HOPS)
    assert (result.answer, ids(result), result.grounded) == ("German", [EX + "german"], True)
    assert [(row["head_label"], row["tail_label"]) for row in result.evidence] == [
        ("Bernhard Heiden", "Paul Hindemith"),
        ("Paul Hindemith", "German"),
    ]
    assert replay(sources.graph, result.evidence) == []
    assert result.usage.calls == len(TWO_HOPS) == len(engine.requests)


def test_relations_are_scored_for_each_entity_of_the_beam(sources: Sources) -> None:
    _, engine = play(
        *(ToG(sources, assist="-plans", depth=2), "In which country was Paul Hindemith born?"),
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
        *(ToG(sources, assist="-plans", width=1, depth=1), "What did he play?"),
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
        *(ToG(sources, assist="-plans", depth=1), "?"),
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
        ToG(sources, assist="-plans", depth=1),
        TEACHER,
        topics("Bernhard Heiden"),
        follow("student of"),
        sufficient(False),
        recall("German"),
    )
    assert (result.answer, ids(result), result.grounded, result.evidence) == ("German", [EX + "german"], False, [])
    assert [step.reason for step in steps(result, Stopped)] == ["insufficient"]


def test_grounded_only_abstains(sources: Sources) -> None:
    result, _ = play(
        *(ToG(sources, assist="-plans", depth=1, grounded_only=True), TEACHER),
        topics("Bernhard Heiden"),
        follow("student of"),
        sufficient(False),
    )
    assert (result.abstained, result.reason) == (True, "insufficient")


def test_without_a_topic_it_answers_from_memory(sources: Sources) -> None:
    result, _ = play(ToG(sources, assist="-plans"), "Who is the tallest?", topics(), recall("Nobody"))
    assert (result.answer, result.grounded) == ("Nobody", False)
    assert kinds(result)[:2] == ["wrote", "stopped"]


def test_without_selected_relations_sufficiency_is_not_judged(sources: Sources) -> None:
    result, _ = play(ToG(sources, assist="-plans"), TEACHER, topics("Bernhard Heiden"), follow("nothing"), recall())
    assert [step.reason for step in steps(result, Stopped)] == ["no_facts", "insufficient", "unknown"]


def test_truncation_is_recorded(sources: Sources) -> None:
    result, _ = play(
        *(
            ToG(sources, assist="-plans", depth=1, limits=ExploringLimits(offered=1, entities=1)),
            "Which instruments did Paul Hindemith play?",
        ),
        topics("Paul Hindemith"),
        follow("instrument"),
        sufficient(False),
        recall(),
    )
    assert {step.what.split(":")[0].split(" of ")[0] for step in steps(result, Truncated)} == {"relations", "entities"}


@pytest.mark.parametrize("options", [{"depth": 0}, {"width": 0}])
def test_invalid_options_are_rejected(options: dict[str, Any], sources: Sources) -> None:
    with pytest.raises(UserError, match="at least 1"):
        ToG(sources, assist="-plans", **options)


def test_it_runs_without_a_language_model(bundled: KnowledgeBase) -> None:
    result = ask(resolve_program("tog")(Sources.of(bundled)), TEACHER)
    assert (result.answer, result.grounded) == ("German", True)
    assert replay(bundled.graph, result.evidence) == []
    assert result.usage.calls == sum(step.kind == "wrote" for step in result.steps)
