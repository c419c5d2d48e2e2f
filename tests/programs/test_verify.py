"""Verifying texts: the verdict of the graph on each statement, and its evidence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from model_stand_ins import scripted_model
from program_parts import WORLD, build_turtle, fields
from text_parts import PUPILS

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.plausibility import GraphJudge, Grounder, Plausibility, TripleVerdict, verdicts
from triplecheck.lms import BudgetExceededError, session
from triplecheck.lms.ledger import Budget
from triplecheck.programs import Sources
from triplecheck.programs.know3rag.reliability import NameLinker
from triplecheck.programs.verify import Verified, Verifier, to_json

STATEMENTS = {
    ("Bernhard Heiden", "student of", "Paul Hindemith"): TripleVerdict.IN_GRAPH,
    ("Paul Hindemith", "student of", "Bernhard Heiden"): TripleVerdict.IN_GRAPH,  # the graph has it the other way round
    ("Paul Hindemith", "born in", "Frankfurt"): TripleVerdict.CONTRADICTED,
    ("Paul Hindemith", "born in", "Germany"): TripleVerdict.PLAUSIBLE,  # Hanau lies there
    ("Paul Hindemith", "instrument", "basketball"): TripleVerdict.UNKNOWN,
    ("Paul Hindemith", "date of birth", "16 November 1895"): TripleVerdict.IN_GRAPH,  # as people write it
    (
        "Paul Hindemith",
        "date of birth",
        "17 November 1895",
    ): TripleVerdict.UNKNOWN,  # of too few is a date of birth known
    ("Paul Hindemith", "not born in", "Frankfurt"): TripleVerdict.UNKNOWN,  # the graph denies nothing
    ("Paul Hindemith", "born in", "1910-08-24"): TripleVerdict.UNKNOWN,  # no place, but no other place either
    ("Nobody Known", "born in", "Hanau"): TripleVerdict.UNKNOWN,
    ("Paul Hindemith", "born in", "Atlantis"): TripleVerdict.UNKNOWN,
    ("Paul Hindemith", "sang with", "Lukas Foss"): TripleVerdict.UNKNOWN,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """Twenty more composers, enough to infer which relations are functional; no vectors, no embeddings."""
    return Sources.of(build_turtle(WORLD + PUPILS, tmp_path_factory.mktemp("plain")))


def judge_of(sources: Sources, **options: Any) -> tuple[Grounder, GraphJudge]:
    base = sources.knowledge_base
    assert base is not None
    ranks = None if base.embeddings is None else Plausibility.of(base, "tail_rank")
    return Grounder(base.graph, NameLinker(base.linker)), GraphJudge(base.graph, ranks, **options)


def read(sources: Sources, text: str, *lines: str) -> Verified:
    """Verify with a model that reads these triples out of the text."""
    with scripted_model([fields(triples="\n".join(lines) or "none")]) as engine, session(engine.name):
        return Verifier(sources)(text=text)


@pytest.mark.parametrize(("statement", "verdict"), STATEMENTS.items(), ids=" ".join)
def test_verdicts(plain: Sources, statement: tuple[str, str, str], verdict: TripleVerdict) -> None:
    grounder, judge = judge_of(plain)
    (grounded,) = grounder.ground([statement])
    judged = judge.judge(grounded)
    assert judged.verdict is verdict, judged.why
    assert judged.why
    graph = plain.graph
    assert all(graph.contains(*edge) for edge in judged.evidence)


def test_a_contradiction_shows_what_the_graph_has_instead(plain: Sources) -> None:
    verified = read(plain, "Paul Hindemith was born in Frankfurt.", "1 | Paul Hindemith | born in | Frankfurt")
    (claim,) = to_json(plain, verified)["claims"]
    assert (claim["verdict"], [row["tail_label"] for row in claim["evidence"]]) == ("contradicted", ["Hanau"])


def test_a_second_value_of_a_functional_relation_is_a_contradiction(
    plain: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "_HEADS", 1)
    grounder, judge = judge_of(plain)
    (grounded,) = grounder.ground([("Paul Hindemith", "date of birth", "17 November 1895")])
    judged = judge.judge(grounded)
    assert judged.verdict is TripleVerdict.CONTRADICTED
    assert [plain.graph.label(tail) for _, _, tail in judged.evidence] == ["1895-11-16"]


def test_functional_relations_are_inferred_from_the_data(plain: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    base = plain.knowledge_base
    assert base is not None
    relation = {base.graph.relation(n).label: n for n in range(base.graph.num_relations)}
    assert GraphJudge(base.graph).is_functional(relation["born in"])
    assert not GraphJudge(base.graph).is_functional(relation["instrument"])  # one of two heads has two
    assert not GraphJudge(base.graph).is_functional(relation["country"])  # two heads tell nothing
    monkeypatch.setattr(verdicts, "_HEADS", 2)
    assert GraphJudge(base.graph).is_functional(relation["country"])
    monkeypatch.setattr(verdicts, "_ONE_TAIL", 0.6)
    assert not GraphJudge(base.graph).is_functional(relation["instrument"])


def test_with_embeddings_unknown_statements_are_ranked(embedded: Sources) -> None:
    for share, verdict in ((1.0, TripleVerdict.PLAUSIBLE), (-1.0, TripleVerdict.IMPLAUSIBLE)):
        grounder, judge = judge_of(embedded, plausible=share)
        judged = judge.judge(grounder.ground([("Lukas Foss", "instrument", "viola")])[0])
        assert judged.verdict is verdict
        assert judged.tail_rank is not None and 0 <= judged.tail_rank <= 1


class TestText:
    def test_each_statement_is_listed_once_in_order(self, plain: Sources) -> None:
        lines = ["1 | Lukas Foss | student of | Paul Hindemith", "1 | Paul Hindemith | nationality | German"]
        verified = read(plain, "Lukas Foss studied with Paul Hindemith, who was German.", *lines, lines[0])
        assert [claim.grounded.text[0] for claim in verified.claims] == ["Lukas Foss", "Paul Hindemith"]
        assert verified.verdicts == {"in the graph": 2}

    def test_paragraphs_are_numbered_and_read_in_one_call(self, plain: Sources) -> None:
        def reply(request: Any) -> str:
            from triplecheck.lms.engines import messages_of

            assert "[1] One.\n[2] Hindemith taught Foss." in messages_of(request)[-1]["content"]
            return fields(triples="2 | Lukas Foss | student of | Paul Hindemith")

        with scripted_model([reply]) as engine, session(engine.name):
            assert len(Verifier(plain)(text="One.\n\nHindemith taught Foss.").claims) == 1

    def test_unreadable_text_is_reported(self, plain: Sources) -> None:
        verified = read(plain, "Any text.", "not a triple")
        assert verified.claims == ()
        assert "not a triple" in verified.trace.steps[0].to_json()["reason"]

    def test_a_spent_budget_is_an_error(self, plain: Sources) -> None:
        with (
            scripted_model(["?", "?"]) as engine,
            session(engine.name, budget=Budget(calls=0)),
            pytest.raises(BudgetExceededError),
        ):
            Verifier(plain)(text="Any text.")

    @pytest.mark.parametrize("text", ["", " \n ", "x" * 200_001])
    def test_empty_and_overlong_texts_are_rejected(self, plain: Sources, text: str) -> None:
        with session("extractive"), pytest.raises(UserError, match="text"):
            Verifier(plain)(text=text)

    def test_an_endpoint_is_rejected(self, plain: Sources) -> None:
        with pytest.raises(UserError, match="endpoint"):
            Verifier(Sources(plain.graph, plain.linker))

    def test_the_extractive_engine_reads_plain_statements(self, plain: Sources) -> None:
        text = "Bernhard Heiden studied with Paul Hindemith. Paul Hindemith was born in Frankfurt."
        with session("extractive"):
            verified = Verifier(plain)(text=text)
        assert str(verified.claims[0].verdict) == "in the graph"


def test_the_bundled_graph_contradicts_a_wrong_birthplace(bundled: KnowledgeBase) -> None:
    sources = Sources.of(bundled)
    with session("extractive"):
        found = to_json(sources, Verifier(sources)(text="Paul Hindemith was born in Paris."))
    assert found["verdicts"] == {"contradicted": 1}
    assert json.loads(json.dumps(found)) == found
