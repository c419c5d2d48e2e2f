"""What a row says about the ranking, the citations, and the confidence; and their summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from eval_parts import OneHop, run, sources

from triplecheck.evals import Question, summarize
from triplecheck.evals.run_directory import read_rows
from triplecheck.evals.summary import Scores
from triplecheck.kg import KnowledgeBase
from triplecheck.programs import Outcome
from triplecheck.programs.outcome import evidence_edges, evidence_rows
from triplecheck.programs.steps import Trace


class Telling(OneHop):
    """Like `OneHop`; words before the question say what it ranks, cites and how sure it is."""

    name: ClassVar[str] = "telling"

    def run(self, question: str, trace: Trace) -> Outcome:
        found = super().run(question, trace)
        words, *_ = self._parse(question)
        given = dict(word.split("=") for word in words if "=" in word)
        nodes = [self.graph.find(id) for id in given.get("rank", "").split(",") if id]
        if "chain" in words:  # France - borders - Switzerland: says nothing of the answer
            found = Outcome(**{**vars(found), "evidence": (*found.evidence, self._edge("Q183", "borders", "Q39"))})
        if "memory" in words:  # says the same, out of nothing
            found = Outcome(found.answer, found.answers)
        return Outcome(
            **{
                **vars(found),
                "ranking": tuple(node for node in nodes if node is not None),
                "confidence": float(given["sure"]) if "sure" in given else None,
            }
        )

    def _edge(self, head: str, relation: str, tail: str) -> tuple[int, int, int]:
        edge = (self.graph.find(head), self.graph.find_relation(relation), self.graph.find(tail))
        assert None not in edge
        return edge  # type: ignore[return-value]


Asked = Callable[..., tuple[dict[str, dict[str, Any]], Scores]]


@pytest.fixture
def asked(knowledge_base: KnowledgeBase, tmp_path: Path) -> Asked:
    """Asks questions; gives their rows by id, and the scores of all."""

    def ask(*questions: Question) -> tuple[dict[str, dict[str, Any]], Scores]:
        summary = run(knowledge_base, list(questions), tmp_path, Telling(sources(knowledge_base)))
        return {row["id"]: row for row in read_rows(tmp_path)}, summary.scores

    return ask


class TestRanking:
    def test_a_ranking_is_kept_and_scored(self, asked: Asked) -> None:
        rows, scores = asked(
            Question("second", "rank=Q64,Q90,Q39 capital of Q142", ("Q90",)),
            Question("none", "capital of Q142", ("Q90",)),
            Question("two", "rank=Q39,Q64 borders of Q142", ("Q183", "Q39")),
        )
        fields = ("hit_at_1_ranked", "hit_at_5", "recall_at_20", "mrr")
        assert rows["second"]["ranking"] == ["Q64", "Q90", "Q39"]
        assert [rows["second"][name] for name in fields] == [0, 1, 1, 0.5]
        assert [rows["two"][name] for name in fields] == [1, 1, 0.5, 1]
        assert rows["none"]["ranking"] == []
        assert [rows["none"][name] for name in fields] == [None] * 4
        assert [getattr(scores, name) for name in fields] == [0.5, 1, 0.75, 0.75]

    def test_where_nothing_ranks_there_are_no_such_scores(self, asked: Asked) -> None:
        _, scores = asked(Question("a", "capital of Q142", ("Q90",)))
        assert scores.mrr is scores.hit_at_5 is None


class TestOrigin:
    def test_what_the_graph_and_what_the_model_got_right_are_told_apart(self, asked: Asked) -> None:
        _, scores = asked(
            Question("graph", "capital of Q142", ("Q90",)),
            Question("graph, wrong", "capital of Q183", ("Q90",)),
            Question("memory", "memory capital of Q183", ("Q64",)),
            Question("memory, wrong", "wrong capital of Q183", ("Q64",)),
            Question("memory, wrong again", "wrong capital of Q142", ("Q90",)),
            Question("nothing", "abstain capital of Q142", ("Q90",)),
        )
        assert scores.grounded == pytest.approx(2 / 5)
        assert (scores.hits_at_1_grounded, scores.hits_at_1_ungrounded) == (1 / 2, pytest.approx(1 / 3))
        assert scores.right_from_graph == scores.right_from_model == pytest.approx(1 / 6)
        assert scores.hits_at_1 == pytest.approx(2 / 6)

    def test_what_was_proved_is_counted_and_how_much_of_it_is_right(self, asked: Asked) -> None:
        right, wrong = Question("right", "capital of Q142", ("Q90",)), Question("wrong", "capital of Q183", ("Q90",))
        rows, scores = asked(right, wrong, Question("memory", "memory capital of Q183", ("Q64",)))
        assert {id: row["verdict"] for id, row in rows.items() if row["verdict"] == "proved"}.keys() == {
            "right",
            "wrong",
        }
        assert (scores.proved, scores.proved_right) == (pytest.approx(2 / 3), 1 / 2)


class TestCitations:
    def test_a_triple_outside_the_proof_lowers_the_precision(self, asked: Asked) -> None:
        rows, scores = asked(
            Question("proof", "capital of Q142", ("Q90",), ("Q142",)),
            Question("beside", "chain capital of Q142", ("Q90",), ("Q142",)),
            Question("counted", "count borders of Q142", ("2",), ("Q142",)),
            Question("unlinked", "unlinked capital of Q142", ("Q90",), ("Q142",)),
            Question("value", "inhabitants of Q90", ("2100000",), ("Q90",)),
            Question("nothing", "abstain capital of Q142", ("Q90",), ("Q142",)),
        )
        assert {id: row["citation_precision"] for id, row in rows.items()} == {
            **{"proof": 1, "beside": 0.5, "counted": 1, "unlinked": 0, "value": 1, "nothing": None}
        }
        assert scores.citation_precision == pytest.approx(3.5 / 5)
        assert {id: row["anchor_accuracy"] for id, row in rows.items() if row["anchor_accuracy"] != 1} == {
            "unlinked": 0
        }
        assert scores.anchor_accuracy == pytest.approx(5 / 6)

    def test_a_triple_that_is_not_in_the_graph_has_no_edge(self, knowledge_base: KnowledgeBase) -> None:
        graph = knowledge_base.graph
        capital, borders = graph.find_relation("capital"), graph.find_relation("borders")
        france, paris = graph.find("Q142"), graph.find("Q90")
        rows = evidence_rows(graph, [(france, capital, paris), (france, borders, paris)])  # type: ignore[list-item]
        rows.append({"head": "Q0", "relation": "capital", "tail": "Q90"})
        assert evidence_edges(graph, rows) == [(france, capital, paris), None, None]
        assert evidence_edges(graph, []) == []


class TestConfidence:
    def test_it_is_in_the_row_and_in_the_summary(self, asked: Asked) -> None:
        rows, scores = asked(
            Question("right", "sure=0.9 capital of Q142", ("Q90",)),
            Question("wrong", "wrong sure=0.3 capital of Q142", ("Q90",)),
            Question("unsaid", "wrong capital of Q142", ("Q90",)),
        )
        assert {id: row["confidence"] for id, row in rows.items()} == {"right": 0.9, "wrong": 0.3, "unsaid": None}
        assert scores.ece == scores.ece_equal_mass == pytest.approx((0.1 + 0.3) / 2)
        assert scores.aurc == pytest.approx((0 + 0.5) / 2)

    def test_one_that_is_none_is_an_error_of_the_program(self, asked: Asked) -> None:
        rows, _ = asked(Question("a", "sure=1.5 capital of Q142", ("Q90",)))
        assert rows["a"]["error"]["kind"] == "ValueError"


class TestLenient:
    def test_the_lenient_score_counts_an_empty_answer_as_correct(self, asked: Asked) -> None:
        rows, scores = asked(
            Question("none", "abstain capital of Q142", ("Q90",)),
            Question("wrong", "wrong capital of Q142", ("Q90",)),
        )
        assert {id: (row["lenient_match"], row["exact_match"]) for id, row in rows.items()} == {
            **{"none": (1, 0), "wrong": (0, 0)}
        }
        assert (scores.lenient_match, scores.exact_match) == (0.5, 0)


class TestGroups:
    def test_bands_of_popularity_stand_from_head_to_tail(self, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
        asked = [
            Question("a", "capital of Q142", ("Q90",), popularity=50),
            Question("b", "wrong capital of Q142", ("Q90",), popularity=30),
            Question("c", "capital of Q142", ("Q90",), popularity=20),
            Question("d", "capital of Q142", ("Q90",)),
        ]
        summary = run(knowledge_base, asked, tmp_path)
        assert [(band, scores.n, scores.hits_at_1) for band, scores in summary.by_popularity.items()] == [
            ("head", 1, 1),
            ("torso", 1, 0),
            ("tail", 1, 1),
        ]
        assert summary.to_json()["by_popularity"]["torso"]["n"] == 1

    def test_intervals_hold_their_means(self, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
        asked = [Question(f"q{i}", f"{'wrong ' * (i % 2)}capital of Q142", ("Q90",)) for i in range(20)]
        scores = run(knowledge_base, asked, tmp_path).scores
        assert set(scores.intervals) == {"hits_at_1", "f1", "accuracy"}
        low, high = scores.intervals["hits_at_1"]
        assert low < scores.hits_at_1 == 0.5 < high
        assert summarize([]).scores.intervals == {}

    def test_a_hidden_answer_is_in_no_score(self, asked: Asked) -> None:
        rows, scores = asked(
            Question("hidden", "capital of Q142", answers_known=False),
            Question("known", "capital of Q142", ("Q90",)),
        )
        assert rows["hidden"]["crag"] is rows["hidden"]["hits_at_1"] is rows["hidden"]["lost"] is None
        assert (scores.coverage, scores.accuracy, scores.hits_at_1) == (0.5, 1, 1)
