"""Synthetic questions with plans, and the metric that goes by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from program_parts import build_rows
from typer.testing import CliRunner

from triplecheck import signatures
from triplecheck.app.main import app
from triplecheck.evals import Question, read_questions
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.plans import PlanNames, read_plan, run_plan
from triplecheck.lms import session
from triplecheck.optimize.metrics import Case, StepCall, StepScore, step_metric, whole
from triplecheck.optimize.synth import PLAN_KINDS, synthesise_plans
from triplecheck.optimize.traces.gold.engine import gold_engine
from triplecheck.optimize.traces.gold.exploration import write_query
from triplecheck.optimize.traces.gold.known import GoldReply, KnownGold
from triplecheck.programs import KERAG, Sources

LAMPS = {
    "Old Head": ("Kerry Trust", "Sligo", "21", "1853", "12 km"),
    "Black Rock": ("Kerry Trust", "Galway", "35", "1864", "30 km"),
    "Hook": ("Wexford Fund", "Galway", "35", "1172", "25 km"),
    "Fastnet": ("Wexford Fund", "Sligo", "54", "1904", "50 km"),
    "Loop": ("Clare Club", "Dover", "23", "1854", "36 km"),
}
ROWS = [
    *((lamp, "type", "lighthouse") for lamp in LAMPS),
    *((lamp, "maintained by", of[0]) for lamp, of in LAMPS.items()),
    *((lamp, "nearest town", of[1]) for lamp, of in LAMPS.items()),
    *((lamp, "height in metres", of[2]) for lamp, of in LAMPS.items()),
    *((lamp, "built in", of[3]) for lamp, of in LAMPS.items()),
    *((lamp, "range", of[4]) for lamp, of in LAMPS.items()),
    *((fund, "type", "charity") for fund in ("Kerry Trust", "Wexford Fund", "Clare Club", "Cork Circle")),
    *((town, "type", "town") for town in ("Sligo", "Galway", "Dover")),
    ("Sligo", "country", "Ireland"),
    ("Galway", "country", "Ireland"),
    ("Dover", "country", "England"),
    ("Hook", "shines on", "Red Reef"),
    ("Hook", "shines on", "Tall Stack"),
    ("Fastnet", "shines on", "Tall Stack"),
    ("Kerry Trust", "patron", "Mary Byrne"),
    ("Wexford Fund", "patron", "Tom Walsh"),
]
"""A graph whose questions can be answered by hand."""
BY_HAND = {
    "Which lighthouses do not have Galway as nearest town?": {"Old Head", "Fastnet", "Loop"},
    "Which lighthouses shine on both Red Reef and Tall Stack?": {"Hook"},
    "Which lighthouses have Galway or Dover as nearest town?": {"Black Rock", "Hook", "Loop"},
    "Which lighthouses have a height of at least 35 metres?": {"Black Rock", "Hook", "Fastnet"},
    "Which lighthouses are taller than 23 metres?": {"Black Rock", "Hook", "Fastnet"},
    "Which lighthouses were built before 1864?": {"Old Head", "Hook", "Loop"},
    "Which lighthouses have a range between 12 km and 30 km?": {"Old Head", "Black Rock", "Hook"},
    "Which lighthouses were built between 1853 and 1864?": {"Old Head", "Black Rock", "Loop"},
    "Which lighthouse is the tallest?": {"Fastnet"},
    "Which lighthouse was built last?": {"Fastnet"},
    "Which lighthouse is the second tallest?": {"Black Rock", "Hook"},
    "Which charity were the fewest lighthouses maintained by?": {"Clare Club"},
    "How many lighthouses have Sligo as nearest town?": {"2"},
    "What is the total height in metres of the lighthouses?": {"168"},
    "What is the average height in metres of the lighthouses?": {"33.6"},
    "By how much is the range of Fastnet higher than that of Old Head?": {"38 km"},
    "Is Galway the nearest town of Hook?": {"yes"},
    "Was Hook maintained by Kerry Trust?": {"no"},
    "Is Fastnet taller than Hook?": {"yes"},
    "How many lighthouses were maintained by Cork Circle?": {"0"},
    "Is there a lighthouse that was maintained by Cork Circle?": {"no"},
    "Which lighthouses have a nearest town that has England as country?": {"Loop"},
    "What is the country of the nearest town of Hook?": {"Ireland"},
    "What is the patron of Galway?": set(),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_rows(ROWS, tmp_path_factory.mktemp("lighthouses"))


@pytest.fixture(scope="module")
def made(base: KnowledgeBase) -> Mapping[str, Question]:
    found = synthesise_plans(base, 25, seed=1).questions
    assert len({question.question for question in found}) == len({question.id for question in found}) == len(found)
    return {question.question: question for question in found}


# --- questions -----------------------------------------------------------------------------------
def test_every_kind_is_made_and_a_larger_number_starts_with_the_smaller(base: KnowledgeBase) -> None:
    few, more = (synthesise_plans(base, each, seed=2) for each in (1, 2))
    assert [question.kind for question in few.questions] == list(PLAN_KINDS)
    assert more.questions[: len(PLAN_KINDS)] == few.questions
    assert few.exhausted == ()


def test_answers_are_those_that_a_person_computes(made: Mapping[str, Question]) -> None:
    assert {text: set(made[text].answer_labels) for text in BY_HAND} == BY_HAND
    assert made["What is the patron of Galway?"].plan == "none"


def test_plans_are_queries_that_give_the_answers(base: KnowledgeBase, made: Mapping[str, Question]) -> None:
    names = PlanNames(base.graph, base.linker)
    for question in made.values():
        assert question.plan is not None
        if question.plan == "none":
            assert question.kind == "unknown" and not question.answers
            continue
        answers = run_plan(base.graph, read_plan(question.plan, names)).with_ties()
        if answers.boolean is not None:
            assert question.answers == ("yes" if answers.boolean else "no",)
        else:
            assert question.answer_labels == tuple(dict.fromkeys(row[0] for row in answers.texts())), question
        count = sum(lamp in question.answer_labels for lamp in LAMPS)
        assert count < len(LAMPS), "never all of a class"


def test_test_questions_are_avoided_and_kinds_checked(base: KnowledgeBase, made: Mapping[str, Question]) -> None:
    tallest = made["Which lighthouse is the tallest?"]
    again = synthesise_plans(base, 25, seed=1, kinds=["extreme"], avoid=[tallest]).questions
    assert tallest.question not in {question.question for question in again}
    assert {question.kind for question in again} == {"extreme"}
    with pytest.raises(UserError, match="no kind riddle; there are: negation"):
        synthesise_plans(base, 1, kinds=["riddle"])
    with pytest.raises(UserError, match="give 1 or more"):
        synthesise_plans(base, 0)


def test_a_graph_without_classes_gives_what_needs_none(tmp_path: Path) -> None:
    rows = [(a, b, c) for a, b, c in ROWS if b != "type"]
    found = synthesise_plans(build_rows(rows, tmp_path), 3)
    kinds = {question.kind for question in found.questions}
    assert {"negation", "zero", "unknown"} <= set(found.exhausted)
    assert {"extreme", "difference", "yesno", "count", "path"} <= kinds
    assert not any(" a <" in str(question.plan) for question in found.questions)


def test_the_command_writes_questions_with_plans(base: KnowledgeBase, tmp_path: Path) -> None:
    out = tmp_path / "plans.jsonl"
    arguments = ["synthesize", str(base.path), str(out), "--plans", "--limit", "20"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    read = read_questions(out)
    assert 16 <= len(read) <= 20 and all(question.plan for question in read)
    row = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert {"id", "question", "kind", "answers", "answer_labels", "topic", "plan"} <= set(row)
    wrong = CliRunner().invoke(app, [*arguments, "--phrasings", "2"])
    assert wrong.exit_code != 0


# --- the metric ----------------------------------------------------------------------------------
def score(base: KnowledgeBase, plan: str | None, query: str) -> StepScore | None:
    extra: dict[str, Any] = {} if plan is None else {"plan": plan}
    case = Case(Question("q", "Which?", ("?",), extra=extra), Sources.of(base))
    metric = step_metric(signatures.WriteQuery)
    assert metric is not None
    return metric(StepCall({}, {"query": query}), case)


GOLD = "SELECT ?x { ?x a <lighthouse> ; <nearest town> <Galway> ; <height in metres> ?n . FILTER(?n > 23) }"


@pytest.mark.parametrize(
    ("plan", "query", "expected", "said"),
    [
        (GOLD, GOLD, 1.0, "correct answers"),
        (GOLD, "SELECT ?y { ?y <nearest town> <Galway> }", 1.0, "correct answers"),
        (GOLD, "SELECT ?y { ?y a <lighthouse> ; <nearest town> <Sligo> }", 0.125, "lacks: ?x <nearest town> <Galway>"),
        (GOLD, "SELECT ?y { ?y a <lighthouse> ; <height in metres> ?h . FILTER(?h > 23) }", 0.375, "answers are"),
        (GOLD, "ASK { <Hook> <height in metres> 7 }", 0.0, "should not"),
        (GOLD, "SELECT ?y { ?y <moored at> <Galway> }", 0.0, "no relation 'moored at' in the graph"),
        (GOLD, "The ones near Galway.", 0.0, "cannot be read"),
        (GOLD, "none", 0.0, "needs a query, such as SELECT"),
        ("none", "None.", 1.0, "no query is correct"),
        ("none", GOLD, 0.0, "must be none"),
        ("ASK { <Hook> <nearest town> <Galway> }", "ASK { <Hook> <nearest town> <Galway> }", 1.0, "correct"),
        (
            "SELECT (SUM(?n) AS ?t) { <Hook> <height in metres> ?n }",
            "SELECT ?n { <Hook> <height in metres> ?n }",
            1.0,
            "",
        ),
    ],
)
def test_a_query_is_compared_with_the_plan(
    base: KnowledgeBase, plan: str, query: str, expected: float, said: str
) -> None:
    found = score(base, plan, query)
    assert found is not None
    assert found.score == pytest.approx(expected) and said in found.feedback, found


def test_without_a_plan_there_is_no_score(base: KnowledgeBase) -> None:
    assert score(base, None, GOLD) is None
    assert score(base, "SELECT ?x { ?x <of another graph> ?y }", GOLD) is None


def test_the_gold_teacher_replies_with_the_plan(base: KnowledgeBase) -> None:
    def reply(query: str | None) -> GoldReply | None:
        known = KnownGold(base.graph, "Which?", (), query=query)
        return write_query(known, None)  # type: ignore[arg-type]

    assert reply(GOLD) == GoldReply({"query": GOLD})
    assert reply("none") == GoldReply({"query": "none"})
    assert reply(None) is None


def test_the_gold_teacher_answers_by_the_query_also_what_is_about_a_class(
    base: KnowledgeBase, made: Mapping[str, Question]
) -> None:
    program = KERAG(Sources.of(base), assist="plans")
    texts = (
        "Which lighthouses shine on both Red Reef and Tall Stack?",
        "Which lighthouses are taller than 23 metres?",
        "Which lighthouse is the second tallest?",
        "What is the average height in metres of the lighthouses?",
        "By how much is the range of Fastnet higher than that of Old Head?",
        "Is there a lighthouse that was maintained by Cork Circle?",
    )
    with gold_engine(program, [made[text] for text in texts]) as (name, _), session(name):
        scores = {text: whole(Case(made[text], program.sources), program(question=text)).score for text in texts}
    assert scores == dict.fromkeys(texts, 1.0)
