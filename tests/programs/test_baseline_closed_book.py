"""Closed-book baselines: programs that ask a model and retrieve nothing."""

from __future__ import annotations

from typing import Any

import pytest
from dspy.lm15 import Request
from hypothesis import given
from hypothesis import strategies as st
from model_stand_ins import scripted_model
from program_parts import ask, fields, ids, kinds, play, recall, steps

from triplecheck.kg import KnowledgeBase, UserError, normalize
from triplecheck.lms import session
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.baselines.closed_book import IO, ChainOfThought, SelfConsistency, majority
from triplecheck.programs.steps import Checked, Scored, Stopped, Wrote

QUESTION = "Who taught Bernhard Heiden?"
CLOSED_BOOK: list[type[Program]] = [IO, ChainOfThought, SelfConsistency]


class TestOneCall:
    def test_io_asks_for_the_answer_alone(self, sources: Sources) -> None:
        result, engine = play(IO(sources), QUESTION, fields(answers="Paul Hindemith"))
        assert (result.answer, ids(result)) == ("Paul Hindemith", ["hindemith"])
        assert "reasoning" not in engine.prompts[0]
        assert result.usage.calls == 1

    def test_chain_of_thought_reasons_before_the_answer(self, sources: Sources) -> None:
        result, _ = play(ChainOfThought(sources), QUESTION, recall("Paul Hindemith"))
        (wrote,) = steps(result, Wrote)
        assert list(wrote.outputs) == ["reasoning", "answers"]
        assert (result.answer, ids(result)) == ("Paul Hindemith", ["hindemith"])

    def test_an_answer_from_memory_is_never_grounded(self, sources: Sources) -> None:
        result, _ = play(IO(sources), QUESTION, fields(answers="Paul Hindemith"))
        assert (result.grounded, result.evidence, result.abstained) == (False, [], False)

    def test_an_empty_answer_is_an_abstention(self, sources: Sources) -> None:
        result, _ = play(IO(sources), QUESTION, fields(answers="none"))
        assert (result.abstained, result.reason) == (True, "unknown")


class TestNames:
    def test_an_alias_names_an_entity(self, sources: Sources) -> None:
        result, _ = play(IO(sources), "Who studied with Hindemith?", fields(answers="Luke Fuchs"))
        assert (result.answer, ids(result)) == ("Luke Fuchs", ["lukas"])

    def test_a_similar_name_names_no_entity(self, sources: Sources) -> None:
        result, _ = play(IO(sources), QUESTION, fields(answers="Hindemith"))
        assert (result.answer, ids(result)) == ("Hindemith", [])
        assert [step.passed for step in steps(result, Checked)] == [False]

    def test_a_literal_is_not_an_entity(self, sources: Sources) -> None:
        result, _ = play(IO(sources), "How many people live in Hanau?", fields(answers="96492"))
        assert (result.answer, ids(result)) == ("96492", [])

    def test_a_later_answer_does_not_take_the_place_of_the_first(self, sources: Sources) -> None:
        result, _ = play(IO(sources), QUESTION, fields(answers="Somebody Else\nPaul Hindemith"))
        assert (result.answer, ids(result)) == ("Somebody Else, Paul Hindemith", [])

    def test_each_entity_is_listed_once(self, sources: Sources) -> None:
        result, _ = play(IO(sources), QUESTION, fields(answers="Paul Hindemith\npaul hindemith\nLukas Foss"))
        assert ids(result) == ["hindemith", "lukas"]


class TestGroundedOnly:
    @pytest.mark.parametrize("program", CLOSED_BOOK)
    def test_no_model_is_called(self, program: type[Program], sources: Sources) -> None:
        result, _ = play(program(sources, grounded_only=True), QUESTION)
        assert (result.abstained, result.reason, result.usage.calls) == (True, "not_grounded", 0)
        assert kinds(result) == ["stopped"]


class TestSelfConsistency:
    def test_the_majority_answer_wins(self, sources: Sources) -> None:
        replies = [recall("Lukas Foss"), recall("Paul Hindemith"), recall("paul hindemith.")]
        result, _ = play(SelfConsistency(sources, samples=3), QUESTION, *replies)
        assert ids(result) == ["hindemith"]
        assert result.confidence == pytest.approx(2 / 3)
        (votes,) = steps(result, Scored)
        assert sorted(share for _, share in votes.scores) == pytest.approx([1 / 3, 2 / 3])

    def test_an_empty_answer_has_no_vote(self, sources: Sources) -> None:
        replies = [recall(), recall("Paul Hindemith"), recall()]
        result, _ = play(SelfConsistency(sources, samples=3), QUESTION, *replies)
        assert ids(result) == ["hindemith"]
        assert result.confidence == pytest.approx(1 / 3)

    def test_an_unreadable_reply_loses_only_its_own_vote(self, sources: Sources) -> None:
        def reply(request: Request) -> str:
            return recall("Paul Hindemith") if request.config.seed == 1 else "?"

        with scripted_model([reply] * 5) as engine, session(engine.name):
            result = SelfConsistency(sources, samples=3)(question=QUESTION)
        assert ids(result) == ["hindemith"]
        assert [step.reason for step in steps(result, Stopped)] == ["unreadable_reply"] * 2

    def test_samples_are_separate_calls_and_reproducible_by_seed(self, sources: Sources) -> None:
        def seeds(seed: int) -> list[int | None]:
            with scripted_model([recall("Paul Hindemith")] * 3) as engine, session(engine.name):
                SelfConsistency(sources, samples=3, temperature=0.9, seed=seed)(question=QUESTION)
            assert {request.config.temperature for request in engine.requests} == {0.9}
            return sorted(request.config.seed for request in engine.requests)

        assert len(set(seeds(0))) == 3
        assert seeds(4) == seeds(4)
        assert set(seeds(4)).isdisjoint(seeds(0))

    @pytest.mark.parametrize("options", [{"samples": 0}, {"temperature": 0.0}, {"seed": -1}])
    def test_invalid_options_are_rejected(self, options: dict[str, Any], sources: Sources) -> None:
        with pytest.raises(UserError, match="samples"):
            SelfConsistency(sources, **options)

    @given(st.lists(st.lists(st.sampled_from(["Paris", "paris", "Rome", ""]), max_size=3), max_size=7))
    def test_no_other_set_of_answers_has_more_votes(self, replies: list[list[str]]) -> None:
        answers, votes = majority(replies)
        keys = [frozenset(normalize(a) for a in reply if a) for reply in replies]
        best = max((keys.count(key) for key in keys if key), default=0)
        assert votes == best
        assert not best or keys.count(frozenset(map(normalize, answers))) == best


@pytest.mark.parametrize("program", CLOSED_BOOK)
def test_the_extractive_engine_has_no_knowledge(program: type[Program], bundled: KnowledgeBase) -> None:
    result = ask(resolve_program(program.name)(Sources.of(bundled)), QUESTION)
    assert (result.abstained, result.reason, result.answers) == (True, "unknown", [])
