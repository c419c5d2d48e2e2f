"""The loop of Know³-RAG: when it stops, its references, its filter, and its outcome."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from model_stand_ins import scripted_model
from program_parts import EX, fields, steps
from text_parts import DEFAULTS, QUESTION, StepReply, asked, knows, section, step_of, talk

from triplecheck.evals import Question
from triplecheck.evals.configuration import describe
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.plausibility import Plausibility, separating_threshold
from triplecheck.lms import ModelUnavailableError, Roles, session
from triplecheck.optimize.fit import FitPlan, fit_program, read_space
from triplecheck.programs import Cascade, Know3RAG, Program, Sources, replay
from triplecheck.programs.know3rag.reliability import threshold
from triplecheck.programs.know3rag.replay import Recorded, read_turns, replay_turns
from triplecheck.programs.options import check_options
from triplecheck.programs.steps import Assisted, Checked, Consulted, Trace, Weighed

ABLATIONS = ("retrieve", "kg_query", "raw_query", "filtering", "triple_check", "relevance_check", "adaptive")


def know3rag(sources: Sources, **options: Any) -> Know3RAG:
    """With the parts of the paper that are off by default where there are documents."""
    return Know3RAG(sources, **{"knowledge_models": 1, "relevance_check": True} | options)


def turns(result: Any) -> list[Weighed]:
    return steps(result, Weighed)


def consulted(result: Any, turn: int | None = None) -> list[Consulted]:
    return [step for step in steps(result, Consulted) if turn in (None, step.turn)]


class TestLoop:
    def test_the_first_answer_is_from_memory_and_later_ones_are_from_all_references(self, plain: Sources) -> None:
        _, engine = talk(know3rag(plain))
        answers = [step_of(r) for r in engine.requests if step_of(r) in ("reasoning answers", "reasoning answer")]
        assert answers == ["reasoning answers", "reasoning answer", "reasoning answer"]
        first, second = (section(r, "references") for r in asked(engine, "reasoning answer"))
        assert set(first.splitlines()) <= set(second.splitlines()) and second.startswith(first)

    @pytest.mark.parametrize("most", [0, 1, 2, 3])
    def test_there_are_never_more_than_turns_plus_one_answers(self, plain: Sources, most: int) -> None:
        result, _ = talk(know3rag(plain, turns=most))
        assert [turn.turn for turn in turns(result)] == list(range(most + 1))
        assert [turn.decision for turn in turns(result)] == ["go_on"] * most + ["last_turn"]

    def test_it_stops_as_soon_as_the_score_is_below_the_threshold(self, embedded: Sources) -> None:
        result, engine = talk(know3rag(embedded, theta_0=1000.0))
        (turn,) = turns(result)
        assert turn.decision == "sure" and turn.score is not None and turn.score < turn.threshold
        assert len(engine.requests) == 2

    def test_it_continues_if_the_score_is_not_below_the_threshold(self, embedded: Sources) -> None:
        result, _ = talk(know3rag(embedded, theta_0=0.0))
        assert [turn.decision for turn in turns(result)] == ["go_on", "go_on", "last_turn"]
        assert all(turn.score is not None and turn.threshold == 0.0 for turn in turns(result))

    def test_theta_0_comes_from_the_scale_of_the_embeddings(self, embedded: Sources) -> None:
        program = know3rag(embedded)
        plausibility = Plausibility.of(KnowledgeBase.open(str(embedded.knowledge_base.path)))  # type: ignore[union-attr]
        between = separating_threshold(plausibility)
        measured = program.theta_0(Trace())
        assert between is not None and threshold(measured, 0) == pytest.approx(between)
        result, _ = talk(program)
        (said,) = (step for step in steps(result, Assisted) if step.name == "measured_theta")
        assert (said.before, said.after) == (["1"], [f"{measured:.3g}"])
        for options in ({"preset": "paper"}, {"assist": "-measured_theta"}):
            assert know3rag(embedded, **options).theta_0(Trace()) == 1.0
        assert know3rag(embedded, theta_0=0.5).theta_0(Trace()) == 0.5

    def test_without_embeddings_theta_0_is_that_of_the_paper(self, plain: Sources) -> None:
        assert know3rag(plain).theta_0(Trace()) == 1.0

    def test_a_run_records_the_theta_0_that_it_used(self, embedded: Sources, plain: Sources) -> None:
        def recorded(program: Program) -> Any:
            return describe(program, Roles(), None, None)["thresholds"]

        measured = know3rag(embedded).theta_0(Trace())
        assert recorded(know3rag(embedded)) == {"theta_0": measured}
        assert recorded(Cascade([(know3rag(embedded), "extractive"), know3rag(embedded)])) == {"theta_0": measured}
        assert recorded(know3rag(embedded, theta_0=0.5)) == {"theta_0": 0.5}
        assert recorded(know3rag(plain)) is None, "without scores it has no effect"

    def test_without_the_assist_triples_that_the_text_does_not_state_are_kept(self, embedded: Sources) -> None:
        said = {"triples": fields(triples="Zzyzx | nationality | German")}
        for assist, count in (("all", 0), ("-stated_triples", 1)):
            result, _ = talk(know3rag(embedded, turns=0, assist=assist), said)
            assert len(turns(result)[0].triples) == count
            assert [step.name for step in steps(result, Assisted) if step.name == "stated_triples"] == (
                ["stated_triples"] * (1 - count)
            )

    def test_every_turn_records_triples_with_scores_or_the_reason_for_none(self, embedded: Sources) -> None:
        said = fields(triples="1 | Paul Hindemith | nationality | German\n1 | Nobody Known | nationality | German")
        knew = knows("German", reasoning="Paul Hindemith and Nobody Known were German")
        result, _ = talk(know3rag(embedded, turns=0), {"reasoning answers": knew, "triples": said})
        scored, skipped = turns(result)[0].triples
        assert scored["in_graph"] and scored["score"] >= 0
        assert skipped["skipped"] == "the graph does not know the head" and "score" not in skipped

    def test_without_embeddings_nothing_is_scored_and_this_is_recorded_once(self, plain: Sources) -> None:
        result, _ = talk(know3rag(plain))
        assert [turn.score for turn in turns(result)] == [None, None, None]
        assert {turn.reason for turn in turns(result)} == {"the knowledge base has no embeddings"}
        assert len([s for s in steps(result, Checked) if s.what == "embeddings"]) == 1

    def test_an_answer_without_triples_is_not_reliable(self, embedded: Sources) -> None:
        result, _ = talk(know3rag(embedded, theta_0=1000.0, turns=1), {"triples": fields(triples="none")})
        assert [(turn.score, turn.reason) for turn in turns(result)] == [(None, "there are no triples")] * 2

    def test_without_new_references_no_second_answer_is_written(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain), {"useful triples": fields(useful="none", triples="none")})
        assert len(asked(engine, "reasoning answers")) == 1
        assert [turn.answer for turn in turns(result)] == ["Swiss"] * 3

    def test_triples_are_extracted_with_the_relations_of_the_graph(self, plain: Sources) -> None:
        for paper_calls in (False, True):
            _, engine = talk(know3rag(plain, paper_calls=paper_calls))
            requests = asked(engine, "triples") + asked(engine, "useful triples")
            assert requests and all("nationality" in section(request, "relations") for request in requests)

    def test_an_unreadable_answer_loses_only_its_turn(self, plain: Sources) -> None:
        result, _ = talk(know3rag(plain, turns=1), {"reasoning answers": "?"})
        assert result.answer == "German"
        assert any(step.what == "answer" and not step.passed for step in steps(result, Checked))

    def test_an_empty_reply_keeps_the_previous_answer(self, plain: Sources) -> None:
        result, _ = talk(know3rag(plain, turns=1), {"reasoning answer": fields(reasoning="hm", answer="none")})
        assert result.answer == "Swiss"

    def test_it_abstains_if_no_turn_gives_an_answer(self, plain: Sources) -> None:
        nothing = {"reasoning answers": knows(), "reasoning answer": fields(reasoning="hm", answer="unknown")}
        result, _ = talk(know3rag(plain), nothing)
        assert (result.abstained, result.reason) == (True, "unknown")


class TestReferenceGeneration:
    def test_the_first_query_is_the_question_and_later_ones_are_written(self, plain: Sources) -> None:
        _, engine = talk(know3rag(plain, corpus="none"))
        queries = [section(r, "question") for r in asked(engine, "passage passage_with_entities")]
        assert queries == [QUESTION, "Who was the teacher of Bernhard Heiden?"]
        (asks,) = asked(engine, "next_question")
        assert section(asks, "answer_so_far") == "German"

    @pytest.mark.parametrize("models", [1, 2, 3])
    def test_each_of_n_models_writes_a_passage_for_either_query(self, plain: Sources, models: int) -> None:
        def passage(request: Any) -> str:
            return fields(passage=f"passage {len(seen)} {seen.append(request)}")

        seen: list[Any] = []
        program = know3rag(plain, turns=1, knowledge_models=models, corpus="none", paper_calls=True)
        result, engine = talk(program, {"passage": passage}, writers=models)
        assert len(asked(engine, "passage")) == 2 * models
        origins = sorted(step.origin for step in consulted(result))
        assert origins == sorted(f"knowledge.{n}{how}" for n in range(1, models + 1) for how in ("", " + entities"))

    def test_the_enriched_query_has_the_linked_entity_and_its_neighbours(self, plain: Sources) -> None:
        _, engine = talk(know3rag(plain, turns=1, corpus="none"))
        entities = section(asked(engine, "passage passage_with_entities")[0], "entities")
        assert "Bernhard Heiden" in entities and len(entities.splitlines()) > 1

    def test_without_linked_entities_one_query_is_used(self, plain: Sources) -> None:
        program = know3rag(plain, turns=1, corpus="none", paper_calls=True)
        _, engine = talk(program, question="why is it so?")
        assert [section(r, "entities") for r in asked(engine, "passage")] == ["none"]

    def test_identical_passages_are_kept_once(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain, turns=1, knowledge_models=2, corpus="none", paper_calls=True))
        assert sorted(step.verdict for step in consulted(result)) == ["kept", "repeated", "repeated", "repeated"]
        assert len(section(asked(engine, "reasoning answer")[0], "references").splitlines()) == 1

    def test_an_empty_passage_is_counted_and_dropped(self, plain: Sources) -> None:
        empty = {"passage passage_with_entities": fields(passage="none", passage_with_entities="Hindemith taught.")}
        result, engine = talk(know3rag(plain, turns=1, corpus="none"), empty)
        assert [step.verdict for step in consulted(result)] == ["kept", "empty"]
        assert section(asked(engine, "reasoning answer")[0], "references") == "[1] Hindemith taught."

    def test_the_corpus_is_one_more_source(self, plain: Sources) -> None:
        result, _ = talk(know3rag(plain, turns=1, knowledge_models=0))
        assert {step.origin for step in consulted(result)} == {"corpus", "corpus + entities"}
        assert any("studied with Paul Hindemith" in step.text for step in consulted(result))

    def test_an_unreachable_model_loses_only_its_own_passages(self, plain: Sources) -> None:
        gone: list[Any] = []

        def first_is_gone(request: Any) -> str:
            gone.append(request)
            if len(gone) == 1:
                raise ModelUnavailableError("gone")
            return fields(passage="Heiden studied under Hindemith.")

        program = know3rag(plain, turns=1, corpus="none", paper_calls=True)
        result, _ = talk(program, {"passage": first_is_gone})
        assert [step.verdict for step in consulted(result)] == ["kept"]
        assert any(step.what == "passage" and not step.passed for step in steps(result, Checked))

    def test_by_default_models_write_only_where_there_are_no_documents(self, plain: Sources) -> None:
        with_documents, _ = talk(Know3RAG(plain, turns=1))
        assert {step.origin for step in consulted(with_documents)} == {"corpus", "corpus + entities"}
        without, _ = talk(Know3RAG(plain, turns=1, corpus="none"))
        assert {step.origin for step in consulted(without)} == {"knowledge.1", "knowledge.1 + entities"}

    def test_dense_search_needs_vectors(self, plain: Sources) -> None:
        with pytest.raises(UserError, match="no vectors"):
            know3rag(plain, corpus="dense")


class TestFilter:
    def test_by_default_only_triples_are_checked(self, plain: Sources) -> None:
        result, engine = talk(Know3RAG(plain, turns=1))
        assert {step.relevant for step in consulted(result)} == {None}
        assert not asked(engine, "useful triples") and len(asked(engine, "triples")) == 3

    def test_irrelevant_references_are_dropped(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain, turns=1), {"useful triples": fields(useful="2", triples="none")})
        assert [step.verdict for step in consulted(result)].count("kept") == 1
        assert section(asked(engine, "reasoning answer")[0], "references") == f"[1] On {QUESTION} Hindemith taught."

    def test_relevance_is_judged_against_the_original_question(self, plain: Sources) -> None:
        _, engine = talk(know3rag(plain))
        checks = asked(engine, "useful triples")
        assert [section(r, "question") for r in checks] == [QUESTION] * len(checks) and len(checks) == 2
        assert all("Bernhard Heiden" in section(r, "entities") for r in checks)

    def test_without_relevant_references_the_old_ones_stay_and_the_loop_continues(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain), {"useful triples": fields(useful="none", triples="none")})
        assert len(turns(result)) == 3
        assert asked(engine, "reasoning answer") == []

    @pytest.mark.parametrize("paper_calls", [False, True])
    def test_an_unreadable_check_is_retried_and_then_counts_as_no(self, plain: Sources, paper_calls: bool) -> None:
        program = know3rag(plain, turns=1, corpus="none", paper_calls=paper_calls)
        result, engine = talk(program, {"useful triples": "perhaps", "helps": "perhaps"})
        checks = asked(engine, "useful triples") + asked(engine, "helps")
        assert len(checks) == 2
        assert {step.relevant for step in consulted(result) if step.verdict != "repeated"} == {False}
        assert any(step.what == "references" and not step.passed for step in steps(result, Checked))

    def test_the_best_k_plus_t_new_ones_are_kept(self, plain: Sources) -> None:
        result, _ = talk(know3rag(plain, references=1))
        assert [step.verdict for step in consulted(result, 1)].count("kept") == 2
        assert "surplus" in [step.verdict for step in consulted(result, 1)]

    def test_more_plausible_references_rank_first_and_unscored_ones_last(self, embedded: Sources) -> None:
        lines = "\n".join(
            [
                "1 | Nobody | knows | Nothing",
                "2 | Paul Hindemith | nationality | German",
                "3 | Paul Hindemith | nationality | piano",
            ]
        )
        said = {
            "passage passage_with_entities": fields(
                passage="Nobody knows Nothing.", passage_with_entities="Hindemith was German. He played the piano."
            ),
            "useful triples": fields(useful="1, 2, 3", triples=lines),
        }
        result, engine = talk(know3rag(embedded, turns=1, theta_0=0.0, corpus_passages=1), said)
        kept = [step for step in consulted(result) if step.verdict == "kept"]
        order = sorted(kept, key=lambda step: (step.score is None, step.score))
        assert [step.score is None for step in order] == [False, False, True]
        references = section(asked(engine, "reasoning answer")[0], "references").splitlines()
        assert [line.split("] ", 1)[1] for line in references] == [step.text for step in order]

    def test_a_call_checks_no_more_references_than_the_limit(self, plain: Sources) -> None:
        _, whole = talk(know3rag(plain, turns=1))
        _, parts = talk(know3rag(plain, turns=1, limits={"checked": 2}))
        (every,) = [section(request, "passages").splitlines() for request in asked(whole, "useful triples")]
        some = [section(request, "passages").splitlines() for request in asked(parts, "useful triples")]
        passages = [line.split("] ", 1)[1] for line in every]
        groups = [[line.split("] ", 1)[1] for line in lines] for lines in some]
        groups.sort(key=lambda group: passages.index(group[0]))  # they are asked at the same time
        assert len(passages) > 2 and {len(group) for group in groups[:-1]} == {2}
        assert [text for group in groups for text in group] == passages
        with pytest.raises(UserError, match=r"limits\.checked"):
            know3rag(plain, limits={"checked": 0})

    def test_a_cap_keeps_the_first_references(self, plain: Sources) -> None:
        _, engine = talk(know3rag(plain, cap=2))
        assert {len(section(r, "references").splitlines()) for r in asked(engine, "reasoning answer")} == {2}


class TestSwitches:
    @pytest.mark.parametrize("switch", ABLATIONS)
    def test_each_row_of_the_ablation_runs_from_the_command_line(self, plain: Sources, switch: str) -> None:
        program = know3rag(plain, **check_options(Know3RAG, {switch: "false"}))
        result, _ = talk(program)
        assert result.answer

    def test_no_references(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain, retrieve=False))
        assert (result.answer, len(engine.requests)) == ("Swiss", 2)
        assert turns(result)[-1].decision == "no_references"

    def test_no_kg_query_and_no_raw_query(self, plain: Sources) -> None:
        without_kg, _ = talk(know3rag(plain, turns=1, kg_query=False))
        assert not any("entities" in step.origin for step in consulted(without_kg))
        without_raw, _ = talk(know3rag(plain, turns=1, raw_query=False))
        assert all("entities" in step.origin for step in consulted(without_raw))
        with pytest.raises(UserError, match="nothing to ask"):
            know3rag(plain, kg_query=False, raw_query=False)

    def test_without_the_filter_nothing_is_checked(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain, turns=1, filtering=False))
        assert {step_of(r) for r in engine.requests} == {
            "reasoning answers",
            "triples",
            "passage passage_with_entities",
            "reasoning answer",
        }
        assert {step.relevant for step in consulted(result)} == {None}

    def test_no_triple_check_and_no_relevance_check(self, plain: Sources) -> None:
        _, no_triples = talk(know3rag(plain, turns=1, triple_check=False))
        assert len(asked(no_triples, "useful")) == 1 and len(asked(no_triples, "triples")) == 2
        _, no_relevance = talk(know3rag(plain, turns=1, relevance_check=False))
        assert len(asked(no_relevance, "triples")) == 3 and not asked(no_relevance, "useful triples")

    def test_without_adaptive_retrieval_all_turns_run(self, embedded: Sources) -> None:
        result, _ = talk(know3rag(embedded, theta_0=1000.0, adaptive=False))
        assert [turn.decision for turn in turns(result)] == ["go_on", "go_on", "last_turn"]

    @pytest.mark.parametrize("options", [{"turns": -1}, {"references": 0}, {"theta_0": -1.0}, {"cap": 0}])
    def test_invalid_numbers_are_rejected(self, plain: Sources, options: dict[str, Any]) -> None:
        with pytest.raises(UserError):
            know3rag(plain, **options)

    def test_the_mean_and_other_scores_can_be_selected(self, embedded: Sources) -> None:
        sums, _ = talk(know3rag(embedded, turns=0))
        means, _ = talk(know3rag(embedded, turns=0, aggregate="mean"))
        (of_sum,), (of_mean,) = turns(sums), turns(means)
        assert of_sum.score == pytest.approx(2 * (of_mean.score or 0))
        for scoring in ("raw", "tail_rank"):
            result, _ = talk(know3rag(embedded, turns=0, scoring=scoring))
            assert turns(result)[0].score is not None


class TestOutcome:
    def test_the_evidence_is_the_stated_triples_that_are_in_the_graph(self, plain: Sources) -> None:
        said = "\n".join(
            [
                "1 | Bernhard Heiden | student of | Paul Hindemith",
                "1 | Paul Hindemith | nationality | German",
                "1 | Paul Hindemith | nationality | Swiss",
            ]
        )
        result, _ = talk(know3rag(plain, turns=1), {"triples": fields(triples=said)})
        assert (result.answer, result.grounded) == ("German", True)
        assert [row["tail_label"] for row in result.evidence] == ["Paul Hindemith", "German"]
        assert replay(plain.graph, result.evidence) == []
        assert [found["id"] for found in result.answers] == [EX + "german"]

    def test_facts_that_do_not_connect_question_and_answer_are_no_evidence(self, plain: Sources) -> None:
        said = "1 | Bernhard Sekles | nationality | German"
        result, _ = talk(know3rag(plain, turns=1), {"triples": fields(triples=said)})
        assert (result.grounded, len(result.evidence)) == (False, 1)

    def test_a_fact_stated_in_the_reverse_direction_counts(self, plain: Sources) -> None:
        said = fields(triples="1 | Paul Hindemith | student of | Bernhard Heiden")
        replies = {"triples": said, "reasoning answer": fields(reasoning="so it is", answer="Paul Hindemith")}
        result, _ = talk(know3rag(plain, turns=1), replies, "Who was the teacher of Bernhard Heiden?")
        assert result.grounded
        assert (result.evidence[0]["head_label"], result.evidence[0]["tail_label"]) == (
            "Bernhard Heiden",
            "Paul Hindemith",
        )

    def test_grounded_only_abstains_if_nothing_supports_the_answer(self, plain: Sources) -> None:
        strict = know3rag(plain, turns=1, grounded_only=True)
        grounded, _ = talk(strict)
        assert (grounded.answer, grounded.grounded) == ("German", True)
        result, _ = talk(strict, {"triples": fields(triples="none")})
        assert (result.abstained, result.reason) == (True, "not_grounded")

    def test_an_answer_in_the_graph_is_linked_without_evidence(self, plain: Sources) -> None:
        result, _ = talk(know3rag(plain, turns=1), {"triples": fields(triples="none")})
        assert [found["id"] for found in result.answers] == [EX + "german"]
        assert (result.grounded, result.evidence) == (False, [])

    def test_the_confidence_follows_the_score(self, embedded: Sources, plain: Sources) -> None:
        scored, _ = talk(know3rag(embedded, turns=0))
        assert scored.confidence == pytest.approx(1 / (1 + (turns(scored)[0].score or 0)))
        unscored, _ = talk(know3rag(plain, turns=0))
        assert 0 < unscored.confidence < 1, "that of its proof"


class TestCalls:
    def test_a_question_takes_at_most_twelve_calls_by_default(self, plain: Sources) -> None:
        result, engine = talk(know3rag(plain))
        assert result.usage.calls == len(engine.requests) == 11

    def test_paper_calls_are_one_per_passage_and_check(self, plain: Sources) -> None:
        def passage(request: Any) -> str:
            return fields(passage=f"about {section(request, 'question')} with {section(request, 'entities')}")

        program = know3rag(plain, knowledge_models=3, corpus="none", paper_calls=True)
        _, engine = talk(program, {"passage": passage}, writers=3)
        count = {step: len(asked(engine, step)) for step in ("passage", "helps", "triples")}
        # The three models write the same here: of their six passages two are new in either turn.
        assert count == {"passage": 12, "helps": 4, "triples": 4 + 3}

    def test_calls_of_a_turn_run_in_parallel(self, plain: Sources) -> None:
        written, checked, numbers = threading.Barrier(8, timeout=10), threading.Barrier(8, timeout=10), iter(range(8))

        def passage(_: Any) -> str:
            written.wait()  # only passes when all models have been asked for both passages
            return fields(passage=f"passage {next(numbers)} of Hindemith")

        def helps(_: Any) -> str:
            checked.wait()  # and here when all passages are being checked
            return fields(helps="True")

        program = know3rag(plain, turns=1, knowledge_models=4, corpus="none", paper_calls=True)
        _, engine = talk(program, {"passage": passage, "helps": helps}, writers=4)
        # Two calls for the first answer; eight passages, sixteen checks, and two calls for the second one.
        assert len(engine.requests) == 2 + 8 + 16 + 2


def test_the_extractive_engine_answers_from_the_corpus(plain: Sources) -> None:
    with session("extractive"):
        result = know3rag(plain)(question="Who did Bernhard Heiden study with?")
    assert "Hindemith" in result.answer
    assert {"empty"} == {step.verdict for step in consulted(result) if step.origin.startswith("knowledge")}


def test_two_turns_do_not_keep_a_passage_twice(plain: Sources) -> None:
    same = {
        "passage passage_with_entities": fields(passage="Heiden studied.", passage_with_entities="Hindemith taught.")
    }
    result, engine = talk(know3rag(plain, corpus="none"), same)
    assert [step.verdict for step in consulted(result, 2)] == ["repeated", "repeated"]
    assert len(asked(engine, "useful triples")) == 1


# --- replaying a trace with other values of theta_0 and T gives the same result as a run
TOLD = ("answer", "answers", "evidence", "grounded", "abstained", "reason", "confidence")
REPLIES: dict[str, Mapping[str, StepReply]] = {
    "as ever": {},
    "first answer without triples": {"triples": lambda request: _triples(request)},
    "later answers say nothing": {"reasoning answer": fields(reasoning="hm", answer="none")},
    "never an answer": {"reasoning answers": knows(), "reasoning answer": fields(reasoning="hm", answer="unknown")},
    "no triples": {"triples": fields(triples="none")},
    "unreadable triples": {"triples": "?"},
    "nothing useful": {"useful triples": fields(useful="none", triples="none")},
}


def _triples(request: Any) -> str:
    said = str(request)
    return fields(triples="1 | Paul Hindemith | nationality | German" if "references" in said else "none")


def recorded(sources: Sources, result: Any) -> Recorded:
    """Replay from steps as read back from a row."""
    steps = [json.loads(json.dumps(step.to_json())) for step in result.steps]
    return read_turns(Know3RAG(sources), QUESTION, steps)


@pytest.mark.parametrize("replies", REPLIES.values(), ids=list(REPLIES))
def test_a_replay_equals_a_run(replies: Mapping[str, StepReply], embedded: Sources) -> None:
    all_turns, _ = talk(Know3RAG(embedded, adaptive=False, turns=3, theta_0=7.0), replies)
    trace = recorded(embedded, all_turns)
    ended = set()
    for theta_0 in (0.0, 0.003, 0.01, 0.02, 0.03, 0.1, 1.0, 100.0):
        for turns in (0, 1, 2, 3):
            program = Know3RAG(embedded, theta_0=theta_0, turns=turns)
            replayed, (run, _) = replay_turns(program, trace), talk(program, replies)
            assert {name: replayed[name] for name in TOLD} == {name: run[name] for name in TOLD}
            assert steps(replayed, Weighed) == steps(run, Weighed)
            if "?" not in replies.values():  # what cannot be read is asked for twice
                assert replayed.usage.calls == run.usage.calls
            ended.add(len(steps(run, Weighed)))
    assert len(ended) == 4, "the values make a difference"


def test_a_replay_abstains_like_the_program(embedded: Sources) -> None:
    all_turns, _ = talk(Know3RAG(embedded, adaptive=False))
    program = Know3RAG(embedded, theta_0=1000.0)
    program.abstain_below = 0.999
    replayed, (run, _) = replay_turns(program, recorded(embedded, all_turns)), talk(program)
    assert (replayed.abstained, replayed.reason) == (run.abstained, run.reason) == (True, "low_confidence")


def test_a_trace_that_is_too_short_is_rejected(embedded: Sources) -> None:
    all_turns, _ = talk(Know3RAG(embedded, adaptive=False, turns=1))
    with pytest.raises(ValueError, match="too few turns"):
        replay_turns(Know3RAG(embedded, theta_0=0.0, turns=2), recorded(embedded, all_turns))


def test_fitting_theta_and_turns_needs_one_run(embedded: Sources, tmp_path: Path) -> None:
    asked = [Question(f"q{n}", f"{QUESTION[:-1]}, {n}?", ("German",)) for n in range(8)]
    space = read_space(["theta_0=0.0,0.01,0.1,100.0", "turns=0,1,2"])

    def replies(request: Any) -> str:
        given = DEFAULTS[step_of(request)]
        assert not isinstance(given, Exception)
        return given if isinstance(given, str) else given(request)

    with scripted_model([replies] * 400) as engine:
        plan = FitPlan(Know3RAG, embedded, asked, Roles(engine.name), options={"corpus_passages": 3}, space=space)
        fitted = fit_program(plan, tmp_path / "run")
    tried = fitted.searched.tried
    assert len(tried) > 4 and all(one.replayed for one in tried)
    assert len(list((tmp_path / "run" / "fitting").iterdir())) == 1, "one run for all of them"
    assert len({one.scored.calls for one in tried}) > 1, "those that end earlier take less"
    never = next(one for one in tried if one.setting["turns"] == 0)
    assert never.scored.score == 0 and fitted.searched.chosen.scored.score == 1, "from memory it is wrong"
    options = json.loads((fitted.bundle / "manifest.json").read_text("utf-8"))["options"]
    assert options["corpus_passages"] == 3, "also what the program does not keep under its name"
