"""How answers follow from a graph where the data set does not say it, and what is done where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program_parts import EX, node

from triplecheck.evals import Question
from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import session
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.checking import calls_by_step
from triplecheck.optimize.metrics import Case, StepCall, StepScore, step_metric
from triplecheck.optimize.traces.derivations import Asked, Derivation
from triplecheck.optimize.traces.derive import derive
from triplecheck.optimize.traces.gold.engine import gold_engine
from triplecheck.optimize.traces.gold.known import NoRightReplyError
from triplecheck.optimize.traces.queries import right_query
from triplecheck.programs import KERAG, Sources
from triplecheck.signatures import AnswerFromFacts, NameTopics, SelectPaths, WriteQuery


def question(text: str, topics: list[str], *answers: str, computed: bool = False) -> Question:
    ids = answers if computed else tuple(EX + answer for answer in answers)
    return Question(text, text, ids, topic=tuple(EX + topic for topic in topics), computed=computed)


COUNT = question("How many instruments does Paul Hindemith play?", ["hindemith"], "2", computed=True)
SMALLEST = question("Which city in Germany has the smallest population?", ["germany"], "hanau")
BIGGER = question("Which has the larger population, Frankfurt or Hanau?", ["frankfurt", "hanau"], "frankfurt")
SAME = question(
    "Were Bernhard Heiden and Bernhard Sekles born in the same place?", ["heiden", "sekles"], "yes", computed=True
)
NOT_SAME = question(
    "Were Bernhard Heiden and Paul Hindemith born in the same place?", ["heiden", "hindemith"], "no", computed=True
)
BOTH = question("Which German was born in Frankfurt?", ["german", "frankfurt"], "sekles")
FURTHER = question("Where was the teacher of Bernhard Heiden born?", ["heiden"], "hanau")
NOBODY = question("Who taught Silent Hermit?", ["hermit"])
UNKNOWN = question("What did Bernhard Sekles play?", ["sekles"], "viola")
MUCH = question("How many instruments does Paul Hindemith play?", ["hindemith"], "17", computed=True)
UNNAMED = question("Who taught Bernhard Heiden?", [], "hindemith")


def derived(world: KnowledgeBase, asked: Question, hops: int = 2) -> tuple[Asked, Derivation | None]:
    sources = Sources.of(world)
    given = Asked(sources, asked, resolve_gold(asked, world.graph, linker_names(sources.linker)), hops)
    return given, derive(given)


def answer_of_gold(world: KnowledgeBase, asked: Question, **options: Any) -> str:
    program = KERAG(Sources.of(world), **{"assist": "none", **options})
    with gold_engine(program, [asked]) as (name, _), session(name):
        return str(program(question=asked.question).answer)


# --- derivations -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("asked", "operation", "relations"),
    [
        (COUNT, "count", ["instrument"]),
        (SMALLEST, "min", ["country", "population"]),
        (BIGGER, "max", ["population"]),
        (SAME, "same", ["born in"]),
        (NOT_SAME, "same", ["born in"]),
        (BOTH, "none", ["nationality", "born in"]),
        (FURTHER, "none", ["student of", "born in"]),
    ],
    ids=lambda one: one.question if isinstance(one, Question) else "",
)
def test_what_gives_the_answers_and_fits_the_question_is_found(
    world: KnowledgeBase, asked: Question, operation: str, relations: list[str]
) -> None:
    _, found = derived(world, asked)
    assert found is not None and found.operation == operation
    labels = dict.fromkeys(world.graph.relation(hop.relation).label for path in found.paths for hop in path.hops)
    assert set(labels) == set(relations)


@pytest.mark.parametrize("asked", [UNKNOWN, MUCH, NOBODY], ids=lambda one: str(one.answers))
def test_what_does_not_follow_has_no_derivation(world: KnowledgeBase, asked: Question) -> None:
    assert derived(world, asked)[1] is None


def test_topics_that_the_data_set_does_not_name_are_those_from_which_the_answer_follows(world: KnowledgeBase) -> None:
    _, found = derived(world, UNNAMED)
    assert found is not None and found.topics == (node(world.graph, "heiden"),)
    assert answer_of_gold(world, UNNAMED) == "Paul Hindemith"


def test_answers_are_looked_for_as_far_as_the_program_goes(world: KnowledgeBase) -> None:
    assert derived(world, FURTHER, hops=1)[1] is None
    assert answer_of_gold(world, FURTHER, hops=2) == "Hanau"
    with pytest.raises(NoRightReplyError, match="SelectPaths"):
        answer_of_gold(world, FURTHER, hops=1)


# --- queries --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("asked", "query"),
    [
        (COUNT, "SELECT (COUNT(DISTINCT ?x) AS ?n) { <Paul Hindemith> <instrument> ?x }"),
        (SMALLEST, "SELECT ?x { ?x <country> <Germany> . ?x <population> ?v } ORDER BY ASC(?v) LIMIT 1"),
        (BIGGER, "SELECT ?x { VALUES ?x { <Frankfurt> <Hanau> } ?x <population> ?v } ORDER BY DESC(?v) LIMIT 1"),
        (SAME, "ASK { <Bernhard Heiden> <born in> ?v . <Bernhard Sekles> <born in> ?v }"),
        (FURTHER, "none"),
        (NOBODY, "none"),
        (UNKNOWN, None),
    ],
    ids=lambda one: one.question if isinstance(one, Question) else "",
)
def test_a_query_is_written_where_a_look_up_is_not_enough(
    world: KnowledgeBase, asked: Question, query: str | None
) -> None:
    assert right_query(*derived(world, asked)) == query


def test_a_query_goes_where_a_look_up_is_too_far(world: KnowledgeBase) -> None:
    query = right_query(*derived(world, FURTHER, hops=1))
    assert query == "SELECT DISTINCT ?x { <Bernhard Heiden> <student of> ?y01 . ?y01 <born in> ?x }"


ONE = question(
    "Are Bernhard Heiden and Paul Hindemith of one nationality?", ["heiden", "hindemith"], "yes", computed=True
)


# --- replies ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("assist", ["none", "all"])
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (COUNT, "2"),
        (SMALLEST, "Hanau"),
        (BIGGER, "Frankfurt"),
        (SAME, "yes"),
        (NOT_SAME, "no"),
        (BOTH, "Bernhard Sekles"),
        (NOBODY, ""),
    ],
    ids=lambda one: one.question if isinstance(one, Question) else "",
)
def test_right_replies_give_the_answer_with_and_without_assists(
    world: KnowledgeBase, asked: Question, answer: str, assist: str
) -> None:
    assert answer_of_gold(world, asked, assist=assist) == answer


@pytest.mark.parametrize("assist", ["none", "all"])
def test_what_two_share_is_found_by_the_name_of_its_relation(world: KnowledgeBase, assist: str) -> None:
    assert answer_of_gold(world, ONE, assist=assist) == "yes"


def test_the_query_of_the_rules_is_taken_where_it_gives_the_answers(bundled: KnowledgeBase) -> None:
    before = Question("before", "Was Harvard founded before Yale?", ("yes",), topic=("Harvard", "Yale"), computed=True)
    named = Question("named", "How many elements carry the name of Marie Curie?", ("1",), computed=True)
    assert answer_of_gold(bundled, before, assist="all") == "yes"
    program = KERAG(Sources.of(bundled))
    with gold_engine(program, [named]) as (name, _), session(name):
        found = program(question=named.question)
    assert found.answer == "1" and "named after" in found.query, "it is no other count that is 1 by chance"


def test_what_is_not_in_the_graph_has_the_topics_that_the_question_names(world: KnowledgeBase) -> None:
    for text, topics in (("Who taught Silent Hamlet?", []), ("Whom did Silent Hermit teach?", ["Silent Hermit"])):
        asked = question(text, [])
        with gold_engine(KERAG(Sources.of(world)), [asked]) as (_, engine):
            inputs = {"types": "none", "question": text, "known_names": "[1] Silent Hermit (Composer)"}
            found = engine.reply(NameTopics, Prompt(inputs, ("topics", "domain")))
        assert found is not None and found.outputs["topics"] == topics


def test_none_is_never_said_in_place_of_a_reply_that_is_not_known(world: KnowledgeBase, tmp_path: Path) -> None:
    program = KERAG(Sources.of(world), assist="none")
    with gold_engine(program, [UNKNOWN, MUCH]) as (name, _), session(name):
        for asked in (UNKNOWN, MUCH):
            with pytest.raises(NoRightReplyError, match="can be computed from the graph"):
                program(question=asked.question)


def test_what_has_no_right_reply_is_left_out_of_a_check(world: KnowledgeBase) -> None:
    program = KERAG(Sources.of(world), assist="none")
    found, left_out = calls_by_step(program, [UNKNOWN, FURTHER])
    assert left_out == [UNKNOWN]
    questions = {name: {case.question.answers for _, case in calls} for name, calls in found.items()}
    assert questions["NameTopics"] == {UNKNOWN.answers, FURTHER.answers}
    assert questions["SelectPaths"] == questions["AnswerFromFacts"] == {FURTHER.answers}


# --- metrics ---------------------------------------------------------------------------------------
def score(world: KnowledgeBase, step: Any, asked: Question, inputs: dict[str, Any], **outputs: Any) -> StepScore | None:
    metric = step_metric(step)
    assert metric is not None
    return metric(StepCall(inputs, outputs), Case(asked, Sources.of(world)))


def test_no_path_may_be_kept_where_the_facts_at_hand_answer_the_question(world: KnowledgeBase) -> None:
    further = {"paths": ["Bernhard Heiden → student of → instrument", "Bernhard Heiden → student of → born in"]}
    right, wrong = (score(world, SelectPaths, UNNAMED, further, keep=kept) for kept in ([], [1]))
    assert right is not None and wrong is not None and (right.score, wrong.score) == (1, 0)
    assert "at hand already answer" in wrong.feedback


def test_the_operation_must_be_the_right_one(world: KnowledgeBase) -> None:
    facts = {"facts": ["Frankfurt → population → 753056", "Hanau → population → 96492"]}
    for operation, expected in (("max", 1), ("min", 0), ("count", 0)):
        found = score(world, AnswerFromFacts, BIGGER, facts, cited=[1, 2], operation=operation, answers=[])
        assert found is not None and found.score == expected, operation


def test_queries_of_questions_without_a_plan_are_scored_by_their_derivation(world: KnowledgeBase) -> None:
    right = score(world, WriteQuery, COUNT, {}, query="SELECT (COUNT(?y) AS ?n) { <Paul Hindemith> <instrument> ?y }")
    needless = score(world, WriteQuery, FURTHER, {}, query="SELECT ?y { <Bernhard Heiden> <student of> ?y }")
    assert right is not None and right.score == 1
    assert needless is not None and needless.score == 0 and "A look-up is enough" in needless.feedback
    alike = "SELECT ?z { <Bernhard Heiden> <student of> ?y . ?y <born in> ?z }"
    found = score(world, WriteQuery, FURTHER, {}, query=alike)
    assert found is not None and found.score == 1, "a query with the right answers is as good as a look-up"
    assert score(world, WriteQuery, UNKNOWN, {}, query="none") is None
