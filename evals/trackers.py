"""Observers of a running evaluation: a progress callback, MLflow, or a custom tracker."""

from __future__ import annotations

import json
import logging
import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from triplecheck.evals.asking import Finished
from triplecheck.evals.summary import Summary
from triplecheck.kg.errors import extra

# Progress of an evaluation.

_LATEST = 64
"""Number of latest rows that the pace is computed from: enough to average over slow and fast questions, few enough to
follow a model that slows down."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A running evaluation, after one more row."""

    done: int
    """Number of questions with a row, including kept rows."""
    total: int
    kept: int
    """Number of rows kept from an earlier run."""
    hits_at_1: float | None
    """Mean so far over scored answerable questions; None before the first."""
    errors: int
    """Number of error rows; they are not scored."""
    seconds: float
    """Seconds since this run started."""
    eta: float | None
    """Estimated remaining seconds at the pace of the latest rows; None before the first new row."""


class Tally:
    """Computes the `Progress` of a run."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._kept = self._errors = self._scored = 0
        self._hits = 0.0
        self._began = time.perf_counter()
        self._latest = deque([self._began], maxlen=_LATEST + 1)

    def add(self, row: Mapping[str, Any], *, kept: bool = False) -> None:
        """Count a row."""
        self._done += 1
        self._kept += kept
        if not kept:
            self._latest.append(time.perf_counter())
        self._errors += row["status"] == "error"
        if row.get("hits_at_1") is not None:
            self._scored += 1
            self._hits += row["hits_at_1"]

    def progress(self) -> Progress:
        """Return the current progress."""
        now = time.perf_counter()
        new = len(self._latest) - 1
        return Progress(
            done=self._done,
            total=self._total,
            kept=self._kept,
            hits_at_1=self._hits / self._scored if self._scored else None,
            errors=self._errors,
            seconds=now - self._began,
            eta=(now - self._latest[0]) / new * (self._total - self._done) if new else None,
        )


# Trackers: observers of a running evaluation.


class Tracker(Protocol):
    """Observes a run. The methods are called in this order from one thread. An exception becomes a warning."""

    def begin(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        """The run starts, or is resumed, in a directory."""
        ...

    def row(self, result: Finished, progress: Progress) -> None:
        """A row is written."""
        ...

    def end(self, summary: Summary) -> None:
        """`summary.json` is written."""
        ...

    def close(self) -> None:
        """The run is over, with or without an exception."""
        ...


class Trackers:
    """Notifies several trackers. A tracker that raises causes one warning and is then dropped. A context manager.

    Args:
        trackers: the trackers to notify.
    """

    def __init__(self, trackers: Sequence[Tracker]) -> None:
        self._working = list(trackers)

    def begin(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        """Notify all trackers; see `Tracker`."""
        self._tell(lambda tracker: tracker.begin(directory, configuration))

    def row(self, result: Finished, progress: Progress) -> None:
        """Notify all trackers; see `Tracker`."""
        self._tell(lambda tracker: tracker.row(result, progress))

    def end(self, summary: Summary) -> None:
        """Notify all trackers; see `Tracker`."""
        self._tell(lambda tracker: tracker.end(summary))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tell(lambda tracker: tracker.close())

    def _tell(self, tell: Callable[[Tracker], None]) -> None:
        for tracker in list(self._working):
            try:
                tell(tracker)
            except Exception as error:  # noqa: BLE001 - a tracker's failure must not stop the run
                self._working.remove(tracker)
                warnings.warn(
                    f"{type(tracker).__name__} failed and is dropped for the rest of this run: {error}", stacklevel=3
                )


# MLflow: configuration, running score, summary, rows, and one trace per question.

_RUNNING = 100
"""The running score is logged once per this many rows, since each log is a request to the server."""
_NANO = 1_000_000_000


class MlflowRuns:
    """Logs each run of an evaluation to MLflow. A resumed run continues its MLflow run.

    Parameters: the configuration, flattened. Metrics: the running score (step = rows done) and the numbers of the
    summary. Artifacts: `summary.json` and `rows.jsonl`. Each question has a trace with its answer and one span per
    step, from the end of the step before it to its own end. mlflow-skinny is enough.

    Args:
        uri: URI of the tracking server; None: a file store in `mlruns` in the run's directory.
        experiment: name of the experiment.

    Raises:
        UserError: MLflow is not installed.
    """

    def __init__(self, uri: str | None = None, experiment: str = "triplecheck") -> None:
        with extra("mlflow", "Tracking in MLflow"):
            import mlflow
        self._mlflow = mlflow
        self._uri = uri
        self._experiment = experiment
        self._directory = Path()
        self._client: Any = None
        self._experiment_id = self._run_id = ""
        self._status = "FAILED"

    def begin(self, directory: Path, configuration: Mapping[str, Any]) -> None:
        """Find or create the MLflow run."""
        uri = self._uri or (directory.resolve() / "mlruns").as_uri()
        if uri.startswith("file:"):
            # MLflow's file store is in maintenance mode and must be allowed explicitly.
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        # Fail at once if the server is unreachable, instead of after minutes of retries.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        logging.getLogger("mlflow.tracing.export.async_export_queue").setLevel(logging.WARNING)
        self._directory = directory
        self._mlflow.set_tracking_uri(uri)
        self._client = self._mlflow.MlflowClient(tracking_uri=uri)
        found = self._client.get_experiment_by_name(self._experiment)
        self._experiment_id = found.experiment_id if found else self._client.create_experiment(self._experiment)
        self._run_id = self._run(dict(_flat(configuration)))

    def row(self, result: Finished, progress: Progress) -> None:
        """Log the trace of a question, and at intervals the running score."""
        self._trace(result)
        if progress.done % _RUNNING == 0 or progress.done == progress.total:
            running = {"running_hits_at_1": progress.hits_at_1, "running_errors": progress.errors}
            for name, value in running.items():
                if value is not None:
                    self._client.log_metric(self._run_id, name, value, step=progress.done)

    def end(self, summary: Summary) -> None:
        """Log the summary and the files."""
        for name, value in _flat(summary.to_json()):
            if isinstance(value, int | float) and not isinstance(value, bool) and not name.startswith("configuration"):
                self._client.log_metric(self._run_id, _metric(name), float(value))
        for file in ("summary.json", "rows.jsonl"):
            if (self._directory / file).is_file():
                self._client.log_artifact(self._run_id, str(self._directory / file))
        self._status = "KILLED" if summary.stopped else "FINISHED"

    def close(self) -> None:
        """Flush pending requests and end the MLflow run."""
        if self._run_id:
            self._mlflow.flush_trace_async_logging()
            self._client.set_terminated(self._run_id, self._status)

    def _run(self, params: Mapping[str, Any]) -> str:
        """Return the id of this directory's MLflow run in the store, or of a new run."""
        key = f"{self._directory.resolve()}"
        there = self._client.search_runs(
            [self._experiment_id], f"tags.`triplecheck.directory` = '{key.replace(chr(39), '')}'", max_results=1
        )
        if there:
            self._client.update_run(there[0].info.run_id, status="RUNNING")
            return str(there[0].info.run_id)
        tags = {"triplecheck.directory": key.replace("'", "")}
        run_id = str(self._client.create_run(self._experiment_id, tags=tags, run_name=self._directory.name).info.run_id)
        for name, value in params.items():
            self._client.log_param(run_id, _metric(name), value if isinstance(value, str) else json.dumps(value))
        return run_id

    def _trace(self, result: Finished) -> None:
        row = result.row
        began = int(result.began * _NANO)
        root = self._client.start_trace(
            row.get("program") or "question",
            inputs={"question": row["question"]},
            attributes={"id": row["id"], "status": row["status"], **(row["usage"] or {})},
            tags={"triplecheck.id": str(row["id"]), "triplecheck.status": row["status"]},
            experiment_id=self._experiment_id,
            start_time_ns=began,
        )
        for step, start, end in _spans(row["steps"], result.times):
            outputs = {name: value for name, value in step.items() if name != "kind"}
            span = self._client.start_span(
                step["kind"],
                trace_id=root.trace_id,
                parent_id=root.span_id,
                start_time_ns=began + int(start * _NANO),
            )
            self._client.end_span(root.trace_id, span.span_id, outputs=outputs, end_time_ns=began + int(end * _NANO))
        self._client.end_trace(
            root.trace_id,
            outputs={"answer": row["answer"], "error": row["error"]},
            status="ERROR" if row["status"] == "error" else "OK",
            end_time_ns=began + int(row["seconds"] * _NANO),
        )


def _spans(steps: list[dict[str, Any]], times: tuple[float, ...]) -> Iterator[tuple[dict[str, Any], float, float]]:
    """Yield each step with its start (the end of the step before it) and its end."""
    ends = sorted(times)
    for step, end in zip(steps, times, strict=True):
        yield step, max((other for other in ends if other < end), default=0.0), end


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _metric(name: str) -> str:
    """Replace the characters that MLflow does not allow in a name."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in name)[:250]
