"""Cascades: the first proved answer stands; else the surest of all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from model_stand_ins import costly_rules, scripted_model
from program_parts import conclude_with, fields, keep, kinds, steps, topics

import triplecheck
from triplecheck.evals.configuration import describe
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, BudgetExceededError, ModelReplyError, Roles, session
from triplecheck.programs import KERAG, Cascade, Outcome, Sources
from triplecheck.programs.base import Program, make_program
from triplecheck.programs.cascade import CascadeOptions
from triplecheck.programs.registry import program_names, resolve_program
from triplecheck.programs.steps import Answered, Asked, Chosen, Trace, in_words

QUESTION = "Who was the teacher of Bernhard Heiden?"
NOT_PROVED = "Who was the teacher of Bernhard Heiden before 1900?"


class Told(Program):
    """Answers with a verdict and a confidence that it is told."""

    name = "told"

    def __init__(self, sources: Any, found: Outcome) -> None:
        super().__init__(sources)
        self.found, self.asked = found, 0

    def run(self, question: str, trace: Trace) -> Outcome:
        self.asked += 1
        return self.found

    def sure_enough(self, question: str, found: Outcome, trace: Trace) -> Outcome:
        return found


def supported(answer: str, confidence: float | None) -> Outcome:
    return Outcome(answer, verdict="supported", confidence=confidence)


PROVED, ABSTAINED = Outcome("proved", verdict="proved", confidence=0.7), Outcome(abstained="nothing_found")


class TestChoice:
    @pytest.mark.parametrize(
        ("outcomes", "answer", "asked"),
        [
            ([PROVED, supported("other", 0.99)], "proved", 1),
            ([supported("other", 0.99), PROVED], "proved", 2),
            ([supported("a", 0.4), supported("b", 0.6), supported("c", 0.5)], "b", 3),
            ([supported("a", 0.5), supported("b", 0.5)], "a", 2),
            ([supported("a", None), supported("b", 0.1)], "b", 2),
            ([ABSTAINED, replace(supported("a", None), verdict="unsupported")], "a", 2),
            ([replace(ABSTAINED, confidence=0.45), supported("a", 0.1)], "a", 2),
            ([ABSTAINED, replace(ABSTAINED, abstained="low_confidence")], "", 2),
        ],
    )
    def test_the_first_proved_answer_stands_else_the_surest(
        self, sources: Sources, outcomes: list[Outcome], answer: str, asked: int
    ) -> None:
        members = [Told(sources, outcome) for outcome in outcomes]
        result = Cascade(members)(question=QUESTION)
        assert (result.answer, sum(member.asked for member in members)) == (answer, asked)
        assert result.abstained == (answer == "")
        (chosen,) = steps(result, Chosen)
        assert (chosen.answer, chosen.asked, len(steps(result, Asked))) == (answer, asked, asked)

    @pytest.mark.parametrize(
        ("outcomes", "sure", "answer", "asked"),
        [
            ([supported("a", 0.8), PROVED], 0.8, "a", 1),
            ([PROVED, supported("b", 0.75)], 0.8, "b", 2),
            ([PROVED, supported("b", 0.6)], 0.8, "proved", 2),
            ([replace(ABSTAINED, confidence=0.9), supported("b", 0.1)], 0.8, "b", 2),
            ([supported("a", None), ABSTAINED], 0.8, "a", 2),
        ],
    )
    def test_with_a_threshold_an_answer_that_is_sure_enough_stands(
        self, sources: Sources, outcomes: list[Outcome], sure: float, answer: str, asked: int
    ) -> None:
        members = [Told(sources, outcome) for outcome in outcomes]
        result = Cascade(members, sure=sure)(question=QUESTION)
        assert (result.answer, sum(member.asked for member in members)) == (answer, asked)
        (chosen,) = steps(result, Chosen)
        assert chosen.reason == ("it is sure enough, 0.80 or more" if asked == 1 else chosen.reason)

    def test_if_all_abstain_the_first_reason_is_given(self, sources: Sources) -> None:
        members = [Told(sources, ABSTAINED), Told(sources, replace(ABSTAINED, abstained="low_confidence"))]
        assert Cascade(members)(question=QUESTION).reason == "nothing_found"

    def test_its_own_threshold_holds_for_the_answer_that_stands(self, sources: Sources) -> None:
        cascade = Cascade([Told(sources, supported("a", 0.4)), Told(sources, supported("b", 0.6))])
        cascade.abstain_below = 0.6
        assert cascade(question=QUESTION).answer == "b"
        cascade.abstain_below = 0.7
        assert cascade(question=QUESTION).reason == "low_confidence"


REPLIES = (
    topics("Bernhard Heiden"),
    fields(reasoning="A look-up.", query="none"),
    keep("student of"),
    conclude_with("Paul Hindemith", cite=["student of"]),
)


class TestModels:
    def test_the_model_is_not_asked_where_the_baseline_proves_its_answer(self, world: KnowledgeBase) -> None:
        kerag = KERAG(world, hops=1)
        with scripted_model([]) as engine, session(engine.name):
            result = Cascade([(kerag, "extractive"), kerag])(question=QUESTION)
        assert (result.answer, result.verdict, result.program) == ("Paul Hindemith", "proved", "cascade")
        assert set(result.usage.by_model) == {"extractive"}
        assert kinds(result)[0] == "asked" and kinds(result)[-1] == "chosen"

    def test_calls_and_steps_of_all_members_are_counted(self, world: KnowledgeBase) -> None:
        kerag = KERAG(world, hops=1)
        with scripted_model(REPLIES) as engine, session(engine.name) as ledger:
            result = Cascade([(kerag, "extractive"), kerag])(question=NOT_PROVED)
            assert engine.left == 0
        assert set(result.usage.by_model) == {"extractive", engine.name}
        assert result.usage.calls == ledger.usage().calls == sum(kind == "wrote" for kind in kinds(result))
        assert [set(one.models.values()) for one in steps(result, Asked)] == [
            {"extractive", engine.name},
            {engine.name},
        ]
        assert len(steps(result, Answered)) == 2
        assert "2. kerag with" in in_words(steps(result, Asked)[1])
        assert "none is proved" in in_words(steps(result, Chosen)[0])

    def test_a_model_is_given_by_name_as_roles_or_as_an_object(self, world: KnowledgeBase) -> None:
        kerag = KERAG(world)
        for models in ("extractive", Roles(answer="extractive"), triplecheck.lms.language_model("extractive")):
            assert Cascade([(kerag, models), kerag]).own_roles[0].model("answer") == "extractive"

    def test_a_spent_budget_has_the_steps_of_all_members(self, world: KnowledgeBase) -> None:
        cascade = Cascade([(KERAG(world, hops=1), "extractive"), KERAG(world, hops=1)])
        free = cascade(question=QUESTION).usage.calls
        with costly_rules(), session("costly", Budget(calls=1)), pytest.raises(BudgetExceededError) as caught:
            cascade(question=NOT_PROVED)
        assert len([step for step in caught.value.progress["steps"] if isinstance(step, Asked)]) == 2
        used = caught.value.progress["usage"]
        assert used.by_model["costly"].calls == 1 and used.by_model["extractive"].calls >= free

    def test_a_reply_that_nobody_can_read_leaves_the_answer_of_the_others(self, sources: Sources) -> None:
        class Unreadable(Told):
            def run(self, question: str, trace: Trace) -> Outcome:
                raise ModelReplyError("not readable")

        result = Cascade([Told(sources, supported("a", 0.2)), Unreadable(sources, PROVED)])(question=QUESTION)
        assert result.answer == "a" and "stopped" in kinds(result)


class TestModule:
    def test_it_is_awaited_streamed_and_listened_to(self, world: KnowledgeBase) -> None:
        cascade = Cascade([(KERAG(world, hops=1), "extractive"), KERAG(world, hops=1)])
        heard: list[str] = []
        result = asyncio.run(cascade.acall(question=QUESTION, on_step=lambda step: heard.append(step.kind)))
        assert heard == kinds(result)

        async def streamed() -> list[str]:
            stream = dspy.streamify(cascade)(question=QUESTION)
            return [part.message async for part in stream if not isinstance(part, dspy.Prediction)]

        said = asyncio.run(streamed())
        assert said[0].startswith("asked: 1. kerag") and said[-1].startswith("chosen: 1 of 1")

    def test_members_that_are_one_program_share_their_prompts(self, world: KnowledgeBase, tmp_path: Path) -> None:
        kerag = KERAG(world)
        shared, apart = Cascade([(kerag, "extractive"), kerag]), Cascade([(kerag, "extractive"), KERAG(world)])
        assert len(shared.predictors()) == len(kerag.predictors()) == len(apart.predictors()) / 2
        shared.predictors()[0].demos = []
        shared.save(tmp_path / "state.json")
        again = Cascade([(KERAG(world), "extractive"), kerag := KERAG(world)])
        with pytest.raises(UserError, match="has no step"):
            again.load(tmp_path / "state.json")
        again = Cascade([(kerag, "extractive"), kerag])
        again.load(tmp_path / "state.json")
        assert again.predictors()[0].demos == [] and again.deepcopy().predictors()[0].demos == []

    def test_a_bundle_has_members_options_and_models(self, world: KnowledgeBase, tmp_path: Path) -> None:
        kerag = KERAG(world, hops=1)
        kerag.abstain_below = 0.25
        cascade = Cascade([(kerag, "extractive"), kerag], sure=0.5)
        cascade.abstain_below = 0.3
        bundle = triplecheck.load_bundle(triplecheck.save_bundle(cascade, tmp_path / "bundle"))
        opened: Any = bundle.program(world)
        assert opened.options == cascade.options and opened.abstain_below == 0.3
        assert opened.programs[0].options == kerag.options and opened.programs[0].abstain_below == 0.25
        assert opened.own_roles == cascade.own_roles and bundle.notes(opened.sources) == []
        assert opened(question=QUESTION).answer == "Paul Hindemith"
        assert bundle.program(world, {"verdict": "likely"}).programs[0].options.verdict == "likely"

    def test_what_it_is_made_of_is_in_the_configuration_of_a_run(self, world: KnowledgeBase) -> None:
        kerag = KERAG(world)
        about = describe(Cascade([(kerag, "extractive"), kerag]), Roles(), world, None)
        assert about["switches"]["members"] == [[0, {"default": "extractive"}], [0, None]]
        assert about["switches"]["programs"][0][0] == "kerag"


class TestErrors:
    def test_it_needs_two_programs(self, world: KnowledgeBase) -> None:
        with pytest.raises(UserError, match="two programs or more, not 1"):
            Cascade([KERAG(world)])
        with pytest.raises(UserError, match="made of programs"):
            Cascade([KERAG(world), "extractive"])  # type: ignore[list-item]
        with pytest.raises(UserError, match="from 0 to 1"):
            Cascade([KERAG(world), KERAG(world)], sure=80)

    def test_they_answer_from_one_graph(self, world: KnowledgeBase, bundled: KnowledgeBase) -> None:
        with pytest.raises(UserError, match="different ones"):
            Cascade([KERAG(world), KERAG(bundled)])
        Cascade([KERAG(world), KERAG(KnowledgeBase.open(world.path))])  # opened twice

    def test_it_cannot_be_made_without_members(self, sources: Sources) -> None:
        assert resolve_program("cascade") is Cascade and "cascade" not in program_names()
        with pytest.raises(UserError, match="--cascade"):
            make_program(Cascade, sources, {})
        assert CascadeOptions().members == ()
