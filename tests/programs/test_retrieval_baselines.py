"""BM25, VSS, Multi-VSS and VSS with a reranker."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from program_parts import ask, fields, items, kinds, play, steps
from skb_parts import debian, numbered

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.skb.search import ENCODED_AT_ONCE
from triplecheck.programs import Program, Sources
from triplecheck.programs.baselines.ranking import BM25, VSS, MultiVSS, VSSReranker
from triplecheck.programs.steps import Scored, Truncated

ALL: list[type[Program]] = [BM25, VSS, MultiVSS, VSSReranker]
QUESTION = "Which terminal multiplexer offers vim or Emacs key layouts?"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return debian(tmp_path_factory.mktemp("debian"), "all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def packages(kb: KnowledgeBase) -> Sources:
    return Sources.of(kb)


def ids(sources: Sources, ranking: tuple[int, ...]) -> list[str]:
    return [sources.graph.node_id(node) for node in ranking]


@pytest.mark.parametrize("program", ALL)
def test_each_ranks_and_answers_with_the_first_node(program: type[Program], packages: Sources) -> None:
    result = ask(program(packages), QUESTION)
    assert ids(packages, result.ranking)[0] == result.answers[0]["id"] == "tmux"
    assert not result.abstained
    assert not result.grounded
    assert result.evidence == []


@pytest.mark.parametrize("program", [BM25, VSS, MultiVSS])
def test_rankings_by_similarity_call_no_model(program: type[Program], packages: Sources) -> None:
    assert ask(program(packages), QUESTION).usage.calls == 0


@pytest.mark.parametrize(("program", "search"), [(VSS, "dense"), (MultiVSS, "multi"), (VSSReranker, "dense")])
def test_vectors_are_made_at_first_use_or_before_with_progress(
    program: type[Program], search: str, tmp_path: Path
) -> None:
    told: list[tuple[str, int, int | None]] = []
    asked, prepared = (numbered(tmp_path / name, ENCODED_AT_ONCE + 2) for name in ("asked", "prepared"))
    result = ask(program(asked), "Which number is it?")
    assert len(result.ranking) == ENCODED_AT_ONCE + 2
    assert getattr(asked.node_search, search).complete
    program(prepared).prepare(lambda what, done, total: told.append((what, done, total)))
    assert getattr(prepared.node_search, search).complete
    assert told[-1] == ("encoding documents", ENCODED_AT_ONCE + 2, ENCODED_AT_ONCE + 2)


def test_a_question_that_shares_no_word_with_any_document_is_not_answered(packages: Sources) -> None:
    result = ask(BM25(packages), "Zebras?")
    assert result.abstained
    assert result.reason == "no_candidates"


def test_only_candidate_types_are_ranked(packages: Sources) -> None:
    result = ask(VSS(packages, candidate_types=("package",), limit=2), QUESTION)
    assert len(result.ranking) == 2
    assert all(packages.graph.types(node) == ("Package",) for node in result.ranking)


def test_an_unknown_candidate_type_is_refused(packages: Sources) -> None:
    with pytest.raises(UserError, match="no type 'gadget'"):
        ask(BM25(packages, candidate_types=("gadget",)), QUESTION)


def test_grounded_only_abstains_and_keeps_the_ranking(packages: Sources) -> None:
    result = ask(BM25(packages, grounded_only=True), QUESTION)
    assert result.reason == "not_grounded"
    assert result.ranking


def test_a_graph_without_a_knowledge_base_is_rejected(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="bm25 ranks documents"):
        ask(BM25(Sources(kb.graph, kb.linker)), QUESTION)


def test_the_trace_shows_the_scores(packages: Sources) -> None:
    (scored,) = steps(ask(BM25(packages), QUESTION), Scored)
    assert scored.scores[0][0] == "tmux"


def test_a_copied_program_shares_its_sources(packages: Sources) -> None:
    program = VSSReranker(packages)
    assert copy.deepcopy(program).searches is program.searches


# --- reranking -----------------------------------------------------------------------------------
def verdicts(*wanted: str):  # type: ignore[no-untyped-def]
    """Scores 1 for candidates that begin with one of these names, else 0."""

    def reply(request):  # type: ignore[no-untyped-def]
        lines = items(request, "candidates")
        scores = (f"{n}: {1.0 if line.startswith(wanted) else 0.0} so" for n, line in enumerate(lines, 1))
        return fields(verdicts="\n".join(scores))

    return reply


def test_the_model_reranks_the_head_of_the_ranking(packages: Sources) -> None:
    before = ids(packages, ask(VSS(packages), QUESTION).ranking)
    result, _ = play(VSSReranker(packages, k_max=3, batches=1), QUESTION, verdicts(before[2]))
    after = ids(packages, result.ranking)
    assert after == [before[2], before[0], before[1], *before[3:]]


def test_a_list_is_scored_in_batches(packages: Sources) -> None:
    result, _ = play(VSSReranker(packages, k_max=4, batches=2), QUESTION, verdicts("tmux"), verdicts("tmux"))
    assert ids(packages, result.ranking)[0] == "tmux"


def test_without_reranking_the_order_is_from_vss(packages: Sources) -> None:
    result, _ = play(VSSReranker(packages, rerank="none"), QUESTION)
    assert result.ranking == ask(VSS(packages), QUESTION).ranking


def test_long_documents_are_truncated_and_this_is_recorded(packages: Sources) -> None:
    result = ask(VSSReranker(packages, characters=40), QUESTION)
    assert any("texts of candidates" in step.what for step in steps(result, Truncated))
    assert "scored" in kinds(result)
