"""The text baselines: what each retrieves or generates, and what it answers from."""

from __future__ import annotations

import pytest
from program_parts import EX, fields, steps
from text_parts import QUESTION, asked, knows, section, step_of, talk

from triplecheck.kg import UserError
from triplecheck.lms import session
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.baselines.with_references import (
    SKR,
    BlendFilter,
    ChainOfKnowledge,
    KnowledgeCard,
    RAGChainOfThought,
    RAGDirect,
    Recite,
)
from triplecheck.programs.steps import Checked, Consulted

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
