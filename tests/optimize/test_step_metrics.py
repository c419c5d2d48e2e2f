"""The metric of each step, with feedback in words."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from optimize_parts import kerag, questions
from program_parts import EX, build_turtle

from triplecheck import signatures
from triplecheck.evals import Question
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import session
from triplecheck.optimize.metrics import (
    Case,
    StepCall,
    StepScore,
    feedback,
    feedback_metric,
    proved,
    step_metric,
    whole,
)
from triplecheck.programs import KERAG, Sources
from triplecheck.programs.steps import Computed

ASKED = Question(
    "q",
    "Which language is spoken in the country whose capital is Ulaanbaatar?",
    ("Mongolian",),
    topic=("Ulaanbaatar",),
    hops=2,
)


@pytest.fixture(scope="module")
def case(bundled: KnowledgeBase) -> Case:
    return Case(ASKED, Sources.of(bundled))


def score(signature: Any, case: Case, inputs: dict[str, Any], **outputs: Any) -> StepScore:
    metric = step_metric(signature)
    assert metric is not None
    found = metric(StepCall(inputs, outputs), case)
    assert found is not None
    return found


def test_every_step_of_every_program_has_a_metric_or_none_is_possible() -> None:
    alone = {step.__name__ for step in signatures.STEPS if step_metric(step) is None}
    # Free text that only serves later steps, a query (its answer is scored with the program's), what a model says of
    # itself, what words mean that are in no graph, and a measure that is no step of a program.
    assert alone - {"ParaphraseQuestion"} == {
        "MatchWords",
        "NameSubGoals",
        "UpdateMemory",
        "ScoreEntities",
        "WritePassage",
        "WritePassages",
        "JudgeKnowledge",
    }


def test_topics_are_linked_and_compared(case: Case) -> None:
    right = score(signatures.NameTopics, case, {}, topics=["Ulaanbaatar"], domain="city")
    wrong = score(signatures.NameTopics, case, {}, topics=["Dublin", "zzxxqq"], domain="city")
    assert right.score == 1
    assert wrong.score == 0
    assert "Missing topics of the question: Ulaanbaatar" in wrong.feedback
    assert "'Dublin' (linked to Dublin)" in wrong.feedback
    assert "no entity of the graph has this name: 'zzxxqq'" in wrong.feedback


def kerag_lines(case: Case) -> list[str]:
    program = KERAG(case.sources, hops=1)
    with session("extractive"), dspy.context(trace=[]):
        program(question=ASKED.question)
        return next(inputs["paths"] for step, inputs, _ in dspy.settings.trace if step is program.select_paths)


def test_pruning_is_compared_with_the_paths_to_the_answer(case: Case) -> None:
    lines = kerag_lines(case)
    right = [n for n, line in enumerate(lines, 1) if "← capital" in line or "→ located in" in line]
    all_of_them = list(range(1, len(lines) + 1))
    exact = score(signatures.SelectPaths, case, {"paths": lines}, keep=right)
    generous = score(signatures.SelectPaths, case, {"paths": lines}, keep=[*all_of_them, 99])
    dropped = score(signatures.SelectPaths, case, {"paths": lines}, keep=right[:1])
    nothing = score(signatures.SelectPaths, case, {"paths": lines}, keep=[])
    assert (exact.score, nothing.score) == (1, 0)
    assert dropped.score < generous.score < exact.score, "what is dropped weighs more than what is too much"
    assert f"Dropped a relation that leads to the answer: {lines[right[1] - 1]}" in dropped.feedback
    assert "Kept numbers that are not in the list: 99" in generous.feedback
    others = [line for n, line in enumerate(lines, 1) if n not in right]
    metric = step_metric(signatures.SelectPaths)
    assert metric is not None
    assert metric(StepCall({"paths": others}, {"keep": []}), case) is None, "nothing right was on offer"


def test_paths_that_the_data_set_names_are_meant(bundled: KnowledgeBase) -> None:
    plain = Case(ASKED, Sources.of(bundled))
    assert len(plain.paths) >= 1
    named = Question(
        **{f: getattr(ASKED, f) for f in ("id", "question", "answers", "topic", "hops")},
        gold={"relations": ["capital", "official language"]},
    )
    graph = bundled.graph
    for hops in Case(named, Sources.of(bundled)).paths:
        assert [graph.relation(hop.relation).label for hop in hops] == ["capital", "official language"]


def test_facts_prove_answers(case: Case) -> None:
    facts = ["Mongolia → official language → Mongolian", "Mongolia → currency → tögrög"]
    given = {"facts": facts}

    def answered(facts_given: Any = given, **outputs: Any) -> float:
        reply = {"reasoning": "", "operation": "none", **outputs}
        return score(signatures.AnswerFromFacts, case, facts_given, **reply).score

    assert answered(cited=[1], answers=["Mongolian"]) == 1
    assert answered(cited=[2], answers=["Mongolian"]) == 0.5, "right, and not proved"
    assert answered(cited=[1], answers=["Mongolian", "tögrög"]) == pytest.approx(2 / 3)
    assert answered(cited=[], answers=[]) == 0
    assert answered({"facts": facts[1:]}, cited=[], answers=[]) == 1, "nothing there answers it"
    assert answered({"facts": facts[1:]}, cited=[1], answers=["tögrög"]) == 0


@pytest.fixture(scope="module")
def onegin(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """An opera and a novel of one name; the opera is the answer."""
    named = ":opera a :Opera ; rdfs:label 'Eugene Onegin' . :novel a :Novel ; rdfs:label 'Eugene Onegin' ."
    edges = ":tchaikovsky :composed :opera . :opera :basedOn :novel . :pushkin :wrote :novel ."
    kb = build_turtle(f"{named} {edges} :composed rdfs:label 'composed' .", tmp_path_factory.mktemp("onegin"))
    return Case(Question("o", "What did Tchaikovsky compose?", (EX + "opera",)), Sources.of(kb))


def test_a_written_answer_is_looked_up_in_the_facts(onegin: Case) -> None:
    facts = ["tchaikovsky → composed → Eugene Onegin (Opera)", "pushkin → wrote → Eugene Onegin (Novel)"]

    def answered(*answers: str, cited: int = 1) -> StepScore:
        reply = {"reasoning": "", "operation": "none", "cited": [cited], "answers": list(answers)}
        return score(signatures.AnswerFromFacts, onegin, {"facts": facts}, **reply)

    right = ("Eugene Onegin (Opera)", "eugene onegin (opera)", "Eugene Onegin", "Eugene Onegin (Opera) {year: 1879}")
    assert {answered(text).score for text in right} == {1.0}
    assert answered("Eugene Onegin (Novel)").score == 0
    assert answered("Eugene Onegin", cited=2).score == 0, "the cited fact is about the novel"
    assert answered("Eugene Onegin (Opera)", "Eugene Onegin (Novel)").score == pytest.approx(2 / 3)
    assert "The correct answer is: Eugene Onegin. The reply was" in answered("tchaikovsky").feedback
    nothing = {"reasoning": "", "operation": "none", "cited": [], "answers": []}
    assert score(signatures.AnswerFromFacts, onegin, {"facts": facts[1:]}, **nothing).score == 1, (
        "a namesake is no answer"
    )
    assert score(signatures.AnswerFromFacts, onegin, {"facts": facts}, **nothing).score == 0


def test_a_step_of_several_judgements_is_scored_by_each_that_can_be(case: Case) -> None:
    facts = ["Ulaanbaatar ← capital ← Mongolia", "Ulaanbaatar → population → 1500000"]
    paths = [
        "Ulaanbaatar ← capital → official language (1 × language)",
        "Ulaanbaatar ← capital → currency (1 × currency)",
    ]

    def judged(**given: Any) -> StepScore:
        outputs = {"relevant": [1], "sufficient": False, "follow": [1]} | given
        return score(signatures.JudgeAndGoOn, case, {"facts": facts, "paths": paths}, **outputs)

    assert judged().score == 1
    assert judged(sufficient=True).score == pytest.approx(2 / 3)
    assert judged(follow=[2]).score == pytest.approx(2 / 3)
    assert judged(relevant=[], sufficient=True, follow=[]).score == 0
    assert "The facts do not contain the answer" in judged().feedback
    enough = {"facts": ["Mongolia → official language → Mongolian"], "paths": paths[1:]}
    found = score(signatures.JudgeAndGoOn, case, enough, relevant=[1], sufficient=False, follow=[])
    assert found.score == 0.5, "no path on offer leads on"


def test_a_count_is_counted(bundled: KnowledgeBase) -> None:
    counted = Case(Question("c", "How many?", ("2",), computed=True), Sources.of(bundled))
    facts = {"facts": ["A → has → b | c", "A → is → d"]}
    right = score(signatures.AnswerFromFacts, counted, facts, reasoning="", cited=[1], operation="count", answers=[])
    wrong = score(signatures.AnswerFromFacts, counted, facts, reasoning="", cited=[1, 2], operation="count", answers=[])
    assert (right.score, wrong.score) == (1, 0)


def test_relevance_goes_by_gold_documents_else_by_the_answer(bundled: KnowledgeBase, case: Case) -> None:
    passages = ["Mongolia: Its language is Mongolian.", "Dublin: A city."]
    found = score(signatures.SelectPassages, case, {"passages": passages}, useful=[2])
    assert found.score == 0 and "Not selected, although it helps: Mongolia" in found.feedback
    documented = Case(Question("d", "?", ("Mongolian",), documents=("Dublin",)), Sources.of(bundled))
    assert score(signatures.SelectPassages, documented, {"passages": passages}, useful=[2]) == StepScore(
        1.0, "The selected passages are correct. "
    )
    judged = score(signatures.JudgePassage, case, {"passage": passages[1]}, helps=True)
    assert judged.score == 0


def test_extracted_triples_are_compared_with_those_of_the_graph(case: Case) -> None:
    text = "Ulaanbaatar is located in Mongolia and its capital."
    lines = ["1 | Mongolia | capital | Ulaanbaatar", "1 | Ulaanbaatar | located in | Mongolia"]
    right = score(signatures.ExtractTriples, case, {"texts": [text]}, triples=lines)
    nothing = score(signatures.ExtractTriples, case, {"texts": [text]}, triples=[])
    assert right.score == 1
    assert nothing.score == 0
    assert "the graph contains: Mongolia | capital | Ulaanbaatar" in nothing.feedback


def test_a_query_is_good_if_its_results_contain_the_answer(case: Case) -> None:
    good = score(signatures.NextQuestion, case, {}, next_question="Which language does Mongolia speak?")
    bad = score(signatures.NextQuestion, case, {}, next_question="Where is Dublin?")
    assert good.score == 1
    assert bad.score == 0 and "'Where is Dublin?'" in bad.feedback


def test_patterns_hold_the_relations_and_names_of_the_question(case: Case) -> None:
    lines = ["?c <capital> <Ulaanbaatar>", "?c <official language> ?x"]
    right = score(signatures.TripletsFromQuery, case, {}, triplets=lines, answer="?x")
    wrong = score(signatures.TripletsFromQuery, case, {}, triplets=["nonsense"], answer="?x")
    assert right.score == pytest.approx(0.9) and wrong.score == 0
    assert "no pattern names: Ulaanbaatar" in wrong.feedback and "nonsense" in wrong.feedback


def test_the_whole_is_right_only_if_all_answers_are_and_fit_to_be_shown_only_if_proved(bundled: KnowledgeBase) -> None:
    asked = questions("dev")[0]
    case = Case(asked, Sources.of(bundled))
    with session("extractive"):
        prediction = kerag(bundled)(question=asked.question)
    assert whole(case, prediction).score == 1 and proved(case, prediction)
    prediction.steps = [*prediction.steps, Computed("min", 1, prediction.answer)]
    assert not proved(case, prediction), "the least of one value is right by chance"
    prediction.steps = prediction.steps[:-1]
    prediction.evidence = [dict(prediction.evidence[0], relation="http://nowhere/else")]
    assert not proved(case, prediction), "what it cites is not in the graph"
    unanswerable = Case(Question("u", asked.question), Sources.of(bundled))
    assert whole(unanswerable, prediction).score == 0
    silent = dspy.Prediction(abstained=True, reason="not_in_facts", answer="", answers=[], steps=[])
    assert whole(unanswerable, silent).score == 1
    found = whole(case, silent)
    assert found.score == 0 and "No answer was given (not_in_facts)" in feedback(case, found, silent)


def test_the_public_metric_answers_as_each_optimizer_asks(bundled: KnowledgeBase) -> None:
    metric = feedback_metric(bundled, [{"question": ASKED.question, "answers": ["Mongolian"], "topic": "Ulaanbaatar"}])
    example = dspy.Example(question=ASKED.question).with_inputs("question")
    with session("extractive"):
        right = KERAG(Sources.of(bundled))(question=ASKED.question)
    wrong = dspy.Prediction(answer="Dublin", answers=[], evidence=[], abstained=False, reason="", steps=[])
    assert (metric(example, right), metric(example, wrong)) == (1.0, 0.0)
    assert (metric(example, right, []), metric(example, wrong, [])) == (True, False)
    found = metric(example, wrong, None, "summarize", [])
    assert found.score == 0 and "The correct answer is: Mongolian" in found.feedback
    assert metric(example, None, None, "summarize", []).score == 0
    with pytest.raises(UserError, match="Who is it"):
        metric(dspy.Example(question="Who is it?").with_inputs("question"), right)
    with pytest.raises(UserError, match="has no question"):
        feedback_metric(bundled, [{"answers": ["Mongolian"]}])
