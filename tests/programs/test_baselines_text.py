"""The baselines without triples: what each retrieves or generates, and what it answers from."""

from __future__ import annotations

from typing import Any

import pytest
from dspy.lm15 import Request
from hypothesis import given
from hypothesis import strategies as st
from model_stand_ins import scripted_model
from program_parts import EX, ask, fields, ids, kinds, play, recall, steps
from text_parts import QUESTION, asked, knows, section, step_of, talk

from triplecheck.kg import KnowledgeBase, UserError, normalize
from triplecheck.lms import session
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.baselines.closed_book import IO, ChainOfThought, SelfConsistency, majority
from triplecheck.programs.baselines.with_references import (
    SKR,
    BlendFilter,
    ChainOfKnowledge,
    KnowledgeCard,
    RAGChainOfThought,
    RAGDirect,
    Recite,
)
from triplecheck.programs.steps import Checked, Consulted, Scored, Stopped, Wrote

ALL: list[type[Program]] = [RAGDirect, RAGChainOfThought, Recite, SKR, KnowledgeCard, ChainOfKnowledge, BlendFilter]
BY_TRIPLES = fields(evidence="Heiden | student of | Hindemith", explanation="so it is", answer="German")


@pytest.mark.parametrize("kind", ALL)
class TestEach:
    def test_it_answers_in_text_that_no_triple_supports(self, kind: type[Program], plain: Sources) -> None:
        result, _ = talk(resolve_program(kind.name)(plain), {"evidence explanation answer": BY_TRIPLES})
        assert (result.answer, result.grounded, result.evidence) == ("German", False, [])
        assert [found["id"] for found in result.answers] == [EX + "german"]

    def test_grounded_only_calls_no_model(self, kind: type[Program], plain: Sources) -> None:
        result, engine = talk(kind(plain, grounded_only=True))
        assert (result.reason, engine.requests) == ("not_grounded", [])

    def test_it_runs_without_a_language_model(self, kind: type[Program], plain: Sources) -> None:
        with session("extractive"):
            result = kind(plain)(question="Who did Bernhard Heiden study with?")
        if kind in (RAGDirect, RAGChainOfThought, SKR, BlendFilter):
            assert "Hindemith" in result.answer
        else:
            assert (result.abstained, result.reason) == (True, "unknown")


def test_retrieval_answers_from_the_passages_found(plain: Sources) -> None:
    for kind, step in ((RAGDirect, "answer"), (RAGChainOfThought, "reasoning answer")):
        result, engine = talk(kind(plain, references=2))
        (request,) = engine.requests
        assert step_of(request) == step
        assert len(section(request, "references").splitlines()) == 2
        assert "studied with Paul Hindemith" in section(request, "references")
        assert [s.origin for s in steps(result, Consulted)] == ["corpus", "corpus"]


def test_dense_search_needs_vectors(plain: Sources) -> None:
    with pytest.raises(UserError, match="no vectors"):
        RAGDirect(plain, corpus="dense")


class TestRecite:
    def test_it_answers_from_its_own_passage(self, plain: Sources) -> None:
        _, engine = talk(Recite(plain), {"passage": fields(passage="Hindemith was German.")})
        assert [step_of(request) for request in engine.requests] == ["passage", "reasoning answer"]
        assert section(engine.requests[1], "references") == "[1] Hindemith was German."

    def test_it_answers_without_a_passage_if_none_is_written(self, plain: Sources) -> None:
        result, _ = talk(Recite(plain), {"passage": fields(passage="none")})
        assert result.answer == "Swiss"


class TestSKR:
    def test_it_does_not_retrieve_if_the_model_knows_the_answer(self, plain: Sources) -> None:
        result, engine = talk(SKR(plain), {"known": fields(known="True")})
        assert result.answer == "Swiss" and len(engine.requests) == 2
        assert steps(result, Consulted) == []

    def test_it_retrieves_if_the_model_does_not_know_the_answer(self, plain: Sources) -> None:
        result, _ = talk(SKR(plain))
        assert result.answer == "German" and steps(result, Consulted)

    def test_an_unclear_reply_counts_as_not_knowing(self, plain: Sources) -> None:
        result, _ = talk(SKR(plain), {"known": "well"})
        assert result.answer == "German"
        assert any(step.what == "self-knowledge" for step in steps(result, Checked))


class TestKnowledgeCard:
    def test_each_model_writes_a_passage_and_irrelevant_ones_are_dropped(self, plain: Sources) -> None:
        written = iter(["one", "two", "three"])
        replies = {"passage": lambda _: fields(passage=next(written)), "useful": fields(useful="2")}
        result, engine = talk(KnowledgeCard(plain), replies, writers=3)
        assert len(asked(engine, "passage")) == 3
        kept = [step.text for step in steps(result, Consulted) if step.verdict == "kept"]
        (request,) = asked(engine, "reasoning answer")
        assert len(kept) == 1 and section(request, "references") == f"[1] {kept[0]}"


def test_chain_of_knowledge_takes_one_call(plain: Sources) -> None:
    result, engine = talk(ChainOfKnowledge(plain), {"evidence explanation answer": BY_TRIPLES})
    assert (result.answer, len(engine.requests)) == ("German", 1)


class TestBlendFilter:
    def test_it_searches_with_the_question_with_a_first_answer_and_with_a_passage(self, plain: Sources) -> None:
        replies = {
            "passage": fields(passage="Something about basketball."),
            "reasoning answer": fields(reasoning="Frankfurt is where it was", answer="German"),
        }
        result, engine = talk(BlendFilter(plain, references=1), replies)
        titles = [step.text.split(":")[0] for step in steps(result, Consulted)]
        assert titles[0] == "Bernhard Heiden" and len(set(titles)) == len(titles)
        assert all(section(request, "question") == QUESTION for request in asked(engine, "useful"))

    def test_irrelevant_passages_are_dropped(self, plain: Sources) -> None:
        result, engine = talk(
            BlendFilter(plain), {"useful": fields(useful="none"), "reasoning answers": knows("Swiss")}
        )
        assert result.answer == "Swiss"
        assert {step.verdict for step in steps(result, Consulted)} == {"irrelevant"}
        assert len(asked(engine, "reasoning answers")) == 1


# --- closed-book baselines, which ask a model and retrieve nothing
TAUGHT = "Who taught Bernhard Heiden?"
CLOSED_BOOK: list[type[Program]] = [IO, ChainOfThought, SelfConsistency]


class TestOneCall:
    def test_io_asks_for_the_answer_alone(self, sources: Sources) -> None:
        result, engine = play(IO(sources), TAUGHT, fields(answers="Paul Hindemith"))
        assert (result.answer, ids(result)) == ("Paul Hindemith", ["hindemith"])
        assert "reasoning" not in engine.prompts[0]
        assert result.usage.calls == 1

    def test_chain_of_thought_reasons_before_the_answer(self, sources: Sources) -> None:
        result, _ = play(ChainOfThought(sources), TAUGHT, recall("Paul Hindemith"))
        (wrote,) = steps(result, Wrote)
        assert list(wrote.outputs) == ["reasoning", "answers"]
        assert (result.answer, ids(result)) == ("Paul Hindemith", ["hindemith"])

    def test_an_answer_from_memory_is_never_grounded(self, sources: Sources) -> None:
        result, _ = play(IO(sources), TAUGHT, fields(answers="Paul Hindemith"))
        assert (result.grounded, result.evidence, result.abstained) == (False, [], False)

    def test_an_empty_answer_is_an_abstention(self, sources: Sources) -> None:
        result, _ = play(IO(sources), TAUGHT, fields(answers="none"))
        assert (result.abstained, result.reason) == (True, "unknown")


class TestNames:
    def test_an_alias_names_an_entity(self, sources: Sources) -> None:
        result, _ = play(IO(sources), "Who studied with Hindemith?", fields(answers="Luke Fuchs"))
        assert (result.answer, ids(result)) == ("Luke Fuchs", ["lukas"])

    def test_a_similar_name_names_no_entity(self, sources: Sources) -> None:
        result, _ = play(IO(sources), TAUGHT, fields(answers="Hindemith"))
        assert (result.answer, ids(result)) == ("Hindemith", [])
        assert [step.passed for step in steps(result, Checked)] == [False]

    def test_a_literal_is_not_an_entity(self, sources: Sources) -> None:
        result, _ = play(IO(sources), "How many people live in Hanau?", fields(answers="96492"))
        assert (result.answer, ids(result)) == ("96492", [])

    def test_a_later_answer_does_not_take_the_place_of_the_first(self, sources: Sources) -> None:
        result, _ = play(IO(sources), TAUGHT, fields(answers="Somebody Else\nPaul Hindemith"))
        assert (result.answer, ids(result)) == ("Somebody Else, Paul Hindemith", [])

    def test_each_entity_is_listed_once(self, sources: Sources) -> None:
        result, _ = play(IO(sources), TAUGHT, fields(answers="Paul Hindemith\npaul hindemith\nLukas Foss"))
        assert ids(result) == ["hindemith", "lukas"]


class TestGroundedOnly:
    @pytest.mark.parametrize("program", CLOSED_BOOK)
    def test_no_model_is_called(self, program: type[Program], sources: Sources) -> None:
        result, _ = play(program(sources, grounded_only=True), TAUGHT)
        assert (result.abstained, result.reason, result.usage.calls) == (True, "not_grounded", 0)
        assert kinds(result) == ["stopped"]


class TestSelfConsistency:
    def test_the_majority_answer_wins(self, sources: Sources) -> None:
        replies = [recall("Lukas Foss"), recall("Paul Hindemith"), recall("paul hindemith.")]
        result, _ = play(SelfConsistency(sources, samples=3), TAUGHT, *replies)
        assert ids(result) == ["hindemith"]
        assert result.confidence == pytest.approx(2 / 3)
        (votes,) = steps(result, Scored)
        assert sorted(share for _, share in votes.scores) == pytest.approx([1 / 3, 2 / 3])

    def test_an_empty_answer_has_no_vote(self, sources: Sources) -> None:
        replies = [recall(), recall("Paul Hindemith"), recall()]
        result, _ = play(SelfConsistency(sources, samples=3), TAUGHT, *replies)
        assert ids(result) == ["hindemith"]
        assert result.confidence == pytest.approx(1 / 3)

    def test_an_unreadable_reply_loses_only_its_own_vote(self, sources: Sources) -> None:
        def reply(request: Request) -> str:
            return recall("Paul Hindemith") if request.config.seed == 1 else "?"

        with scripted_model([reply] * 5) as engine, session(engine.name):
            result = SelfConsistency(sources, samples=3)(question=TAUGHT)
        assert ids(result) == ["hindemith"]
        assert [step.reason for step in steps(result, Stopped)] == ["unreadable_reply"] * 2

    def test_samples_are_separate_calls_and_reproducible_by_seed(self, sources: Sources) -> None:
        def seeds(seed: int) -> list[int | None]:
            with scripted_model([recall("Paul Hindemith")] * 3) as engine, session(engine.name):
                SelfConsistency(sources, samples=3, temperature=0.9, seed=seed)(question=TAUGHT)
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
    result = ask(resolve_program(program.name)(Sources.of(bundled)), TAUGHT)
    assert (result.abstained, result.reason, result.answers) == (True, "unknown", [])
