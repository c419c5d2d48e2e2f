"""Two runs are compared on what both scored, and everything that is left out is counted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from eval_parts import OneHop, run, sources

from triplecheck.evals import Question
from triplecheck.evals.compare import compare, read_run
from triplecheck.evals.metrics.statistics import mcnemar, randomisation
from triplecheck.kg import KnowledgeBase, ReadError, UserError

EASY = [Question(f"easy{i}", "capital of Q142", ("Q90",)) for i in range(8)]
HARD = [Question(f"hard{i}", "wrong capital of Q142", ("Q90",)) for i in range(8)]


def wrong(question: Question) -> Question:
    return replace(question, question=f"wrong {question.question}")


@pytest.fixture
def runs(knowledge_base: KnowledgeBase, tmp_path: Path) -> tuple[Path, Path]:
    """Run A has 8 of 16 correct answers; run B has the same and 6 more. Only the replies differ."""
    a, b = tmp_path / "a", tmp_path / "b"
    extra = [Question("only a", "capital of Q142", ("Q90",)), Question("crashed", "crash capital of Q142", ("Q90",))]
    run(knowledge_base, [*EASY, *HARD, *extra], a)
    run(knowledge_base, [*EASY, *HARD, extra[1]], b, OneHop(sources(knowledge_base), order="last"))
    file = b / "rows.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for row in rows:
        if row["id"] in {f"hard{i}" for i in range(6)}:
            row |= {"hits_at_1": 1.0, "f1": 0.5, "crag": "accurate"}
        if row["id"] == "easy7":
            row["gold"] = ["Q64"]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return a, b


def test_what_differs_is_measured_on_what_is_shared(runs: tuple[Path, Path]) -> None:
    found = compare(*runs)
    # Of 16 the eighth easy one has another gold answer in B: 15 are left, 7 right in A and 13 in B.
    assert (found.shared, found.changed, found.errors, found.only_a, found.only_b) == (16, 1, 1, 1, 0)
    hits, f1, accuracy = found.metrics
    assert (hits.name, hits.n, hits.better, hits.worse) == ("hits_at_1", 15, 6, 0)
    assert (hits.a, hits.b, hits.difference) == pytest.approx((7 / 15, 13 / 15, 6 / 15))
    assert hits.low < hits.difference < hits.high
    assert hits.p_mcnemar == mcnemar([0] * 6, [1] * 6) == 2 / 64
    assert hits.p_randomisation == randomisation([0] * 6 + [1] * 9, [1] * 15) < 0.05
    assert f1.p_mcnemar is None and f1.difference == pytest.approx(3 / 15)
    assert accuracy.difference == hits.difference
    assert found.configuration == ('switches.order was "first" and is now "last"',)
    assert json.loads(json.dumps(found.to_json()))["metrics"][0]["n"] == 15


def test_a_run_does_not_differ_from_itself(runs: tuple[Path, Path]) -> None:
    found = compare(runs[0], runs[0])
    assert found.configuration == ()
    for metric in found.metrics:
        assert (metric.difference, metric.low, metric.high) == (0, 0, 0)
        assert metric.p_bootstrap == metric.p_randomisation == 1


def test_what_cannot_be_compared_is_refused(
    runs: tuple[Path, Path], knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="holds no evaluation"):
        compare(runs[0], tmp_path / "none")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text("{}", "utf-8")
    with pytest.raises(UserError, match="cannot be read"):
        compare(runs[0], tmp_path / "other")
    run(knowledge_base, [Question("else", "capital of Q142", ("Q90",))], tmp_path / "else")
    with pytest.raises(UserError, match="share no scored question"):
        compare(runs[0], tmp_path / "else")
    (runs[1] / "rows.jsonl").unlink()
    with pytest.raises(ReadError):
        read_run(runs[1])
