"""Trackers of a run: MLflow on a local file store, and a tracker that fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from eval_parts import OneHop, run, sources

from triplecheck.evals import Progress, Question, Summary
from triplecheck.evals.asking import Finished
from triplecheck.evals.trackers import MlflowRuns
from triplecheck.kg import KnowledgeBase

ASKED = [
    Question("capital", "capital of Q142", ("Paris",), ("France",)),
    Question("wrong", "wrong capital of Q142", ("Q90",), ("Q142",)),
    Question("crashed", "crash capital of Q142", ("Q90",), ("Q142",)),
]


class Broken:
    """Works until its second row."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        self.told.append("begin")

    def row(self, result: Finished, progress: Progress) -> None:
        self.told.append(result.row["id"])
        if progress.done == 2:
            raise ConnectionError("the server is gone")

    def end(self, summary: Summary) -> None:
        self.told.append("end")

    def close(self) -> None:
        self.told.append("close")


def test_a_tracker_that_breaks_costs_no_row_and_is_warned_of_once(
    knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    broken, other = Broken(), Broken()
    other.row = lambda result, progress: None  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="Broken failed .* the server is gone") as warned:
        summary = run(knowledge_base, ASKED, tmp_path / "out", trackers=[broken, other])
    assert len([w for w in warned if "Broken" in str(w.message)]) == 1
    assert broken.told == ["begin", "capital", "wrong"]
    assert other.told == ["begin", "end", "close"]
    assert summary.scores.n == len((tmp_path / "out" / "rows.jsonl").read_bytes().splitlines()) == 3


def test_mlflow_keeps_the_run_and_a_trace_of_each_question(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    out = tmp_path / "out"
    summary = run(knowledge_base, ASKED[:2], out, trackers=[MlflowRuns()])
    run(knowledge_base, ASKED, out, trackers=[MlflowRuns()])

    client = mlflow.MlflowClient(tracking_uri=(out / "mlruns").as_uri())
    experiment = client.get_experiment_by_name("triplecheck")
    (kept,) = client.search_runs([experiment.experiment_id])  # taken up, not made again
    assert kept.info.status == "FINISHED"
    assert kept.data.params["program"] == "onehop"
    assert kept.data.params["switches.order"] == "first"
    assert kept.data.params["roles.default"] == "silent"
    assert kept.data.metrics["hits_at_1"] == summary.scores.hits_at_1 == 0.5
    assert kept.data.metrics["coverage"] == pytest.approx(2 / 3)
    running = client.get_metric_history(kept.info.run_id, "running_hits_at_1")
    assert [(point.step, point.value) for point in running] == [(2, 0.5), (3, 0.5)]
    artifacts = {artifact.path for artifact in client.list_artifacts(kept.info.run_id)}
    assert artifacts == {"rows.jsonl", "summary.json"}

    traces = {t.info.tags["triplecheck.id"]: t for t in client.search_traces(locations=[experiment.experiment_id])}
    assert traces.keys() == {"capital", "wrong", "crashed"}, "a kept row is not traced again"
    rows = {row["id"]: row for row in map(json.loads, (out / "rows.jsonl").read_text().splitlines())}
    for id, trace in traces.items():
        root, *spans = trace.data.spans
        assert [span.name for span in spans] == [step["kind"] for step in rows[id]["steps"]]
        assert all(root.start_time_ns <= span.start_time_ns <= span.end_time_ns for span in spans)
        assert all(span.parent_id == root.span_id for span in spans)
    assert traces["capital"].data.spans[0].outputs["answer"] == "Paris"
    assert str(traces["crashed"].info.state).endswith("ERROR")


def test_an_mlflow_server_that_is_not_there_loses_nothing(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    with pytest.warns(UserWarning, match="MlflowRuns failed"):
        summary = run(knowledge_base, ASKED, tmp_path / "out", trackers=[MlflowRuns("http://127.0.0.1:9")])
    assert summary.scores.status == {"error": 1, "ok": 2}


def test_events_keep_their_time(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    results: list[Finished] = []
    keeping = Broken()
    keeping.row = lambda result, progress: results.append(result)  # type: ignore[method-assign]
    run(knowledge_base, ASKED, tmp_path / "out", OneHop(sources(knowledge_base), pause=0.02), trackers=[keeping])
    for result in results:
        assert len(result.times) == len(result.row["steps"])
        assert list(result.times) == sorted(result.times)
        assert result.times[-1] <= result.row["seconds"]
    assert results[0].times[-1] - results[0].times[0] >= 0.02
