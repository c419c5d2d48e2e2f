"""Collects rows for fine-tuning: runs a program over questions and keeps the steps of verified answers.

Source: KERAG (arXiv 2509.04716), its third mechanism.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeGuard

import dspy

from triplecheck.evals import Progress, evaluate
from triplecheck.evals.asking import Asker, Finished, OutOfBudget
from triplecheck.evals.executors import QuestionJob, Result
from triplecheck.evals.executors.threads import spread
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import JsonLines
from triplecheck.kg import Graph, KnowledgeBase, UserError, normalize
from triplecheck.lms import Budget, Roles
from triplecheck.optimize.traces.gold import NAME, GoldEngine, check_computable, gold_engine, uncomputable
from triplecheck.optimize.traces.records import (
    FILE,
    MANIFEST,
    Record,
    Recorder,
    Source,
    StepRecord,
    TraceManifest,
    TraceRow,
    assemble,
    recording,
    trace_row,
)
from triplecheck.programs import Program
from triplecheck.programs.outcome import evidence_edges
from triplecheck.programs.steps import Consulted, TraceEvent
from triplecheck.signatures import AnswerFromFacts, step_of

# Strict verification of answers (KERAG): only steps of verified questions are kept.

Rejection = Literal[
    "no_gold",
    "no_path",
    "error",
    "unreadable",
    "cut",
    "abstained",
    "wrong",
    "incomplete",
    "nothing_cited",
    "cited_not_in_graph",
    "cited_not_retrieved",
]
"""Why the steps of a question are rejected:

`no_gold`: the answer is unknown; `no_path`: no gold path is known (pass `gold`); `error`: the question ended in an
error; `unreadable`: a reply could not be parsed; `cut`: a reply ended at its length limit; `abstained`: although
there is an answer; `wrong`: no answer is correct; `incomplete`: some answers are missing or wrong; `nothing_cited`;
`cited_not_in_graph`; `cited_not_retrieved`: for a cited triple, neither were both ends retrieved, nor does a kept
passage name both.
"""


def rejection(
    graph: Graph,
    question: Question,
    row: Mapping[str, Any],
    prediction: dspy.Prediction | None,
    calls: Sequence[StepRecord],
) -> Rejection | None:
    """Why a question's steps are rejected; None: the answer is correct, complete and supported by retrieved evidence.

    For a question without an answer, abstaining is correct and needs no evidence.

    Args:
        graph: to check citations against.
        question: with its answers.
        row: of its evaluation (`evals.rows`).
        prediction: of the program.
        calls: the steps of the question.
    """
    if row["status"] == "error" or prediction is None:
        return "error"
    if row["status"] == "parse_error":
        return "unreadable"
    if not question.answers_known:
        return "no_gold"
    if any(call.cut for call in calls):
        return "cut"
    if not question.answerable:
        return None if row["crag"] == "accurate" else "wrong"
    if row["status"] == "abstained":
        return "abstained"
    if row["f1"] != 1.0:
        return "incomplete" if row["hit"] else "wrong"
    return _citations(graph, prediction)


def _citations(graph: Graph, prediction: dspy.Prediction) -> Rejection | None:
    edges = evidence_edges(graph, prediction.evidence)
    if not edges:
        return "nothing_cited"
    known = [edge for edge in edges if edge is not None]
    if len(known) < len(edges):
        return "cited_not_in_graph"
    retrieved = frozenset(map(int, getattr(prediction, "retrieved", None) or ()))
    read = [f" {normalize(step.text)} " for step in prediction.steps if _was_read(step)]
    found = all({head, tail} <= retrieved or _named(graph, (head, tail), read) for head, _, tail in known)
    return None if found else "cited_not_retrieved"


def _was_read(step: TraceEvent) -> TypeGuard[Consulted]:
    return isinstance(step, Consulted) and step.verdict == "kept"


def _named(graph: Graph, ends: Sequence[int], passages: Sequence[str]) -> bool:
    """Whether a passage names both ends of an edge."""
    names = [f" {normalize(label)} " for label in graph.labels(list(ends))]
    return any(all(name in passage for name in names) for passage in passages)


VERIFIED: Source = "verified"
GOLD: Source = "gold"
"""The two passes over the questions: with the models of the session, and with gold replies."""
CAP = 12
"""Maximum rows per question."""
DEV_SHARE = 0.1
"""Share of the questions whose rows are held out."""
DISTRACTORS = 2
"""Wrong paths and facts kept besides the right ones in the pass `gold`."""


def collect(
    program: Program,
    questions: Iterable[Question],
    out: Path | str,
    *,
    roles: Roles | str | None = None,
    knowledge_base: KnowledgeBase | None = None,
    passes: Sequence[str] | None = None,
    workers: int = 1,
    timeout: float | None = None,
    budget: Budget | None = None,
    cap: int = CAP,
    dev_share: float = DEV_SHARE,
    distractors: int = DISTRACTORS,
    progress: Callable[[str, Progress], None] | None = None,
) -> TraceManifest:
    """Run a program over questions and write the rows of its verified steps.

    Each pass is an evaluation in its own directory below `out`, with `records.jsonl` beside its rows. If interrupted,
    the same call resumes it. At the end `traces.jsonl` and `manifest.json` are written from all passes: one reply per
    prompt, at most `cap` rows per question.

    Args:
        program: to run; from several threads if `workers` is above 1.
        questions: with their answers.
        out: directory to write to.
        roles: the models of the roles in the pass `verified`; None: as in `lms.session`.
        knowledge_base: as for `evals.evaluate`.
        passes: `verified`, `gold` or both; None: both if gold replies to all steps can be computed, else `verified`.
        workers: questions to run in parallel.
        timeout: maximum seconds per question.
        budget: of the pass `verified`.
        cap: maximum rows per question; of more, the first ones and the last are kept.
        dev_share: share of the questions held out, from 0 to 1.
        distractors: number of wrong paths and facts that the pass `gold` keeps besides the right ones, so that later
            steps see irrelevant input; the rows hold the right replies.
        progress: called with the pass and its progress, after each question.

    Raises:
        UserError: an invalid argument, a program whose gold replies cannot be computed (pass `gold`), or `out`
            holds something else.
    """
    asked, out = list(questions), Path(out)
    if passes is None:
        passes = (VERIFIED,) if uncomputable(program) else (VERIFIED, GOLD)
    _check(passes, cap, dev_share, distractors)
    if GOLD in passes:
        check_computable(program)
    _check_place(out)
    folders: dict[str, Path] = {}
    stopped: dict[str, str] = {}
    with gold_engine(program, asked, distractors) as (gold_name, engine):
        for name in dict.fromkeys(passes):
            is_gold = name == GOLD
            # Gold replies depend on the questions: another set of questions has another directory.
            folders[name] = out / (gold_name if is_gold else name)
            with JsonLines(folders[name] / FILE) as records:
                summary = evaluate(
                    program,
                    asked,
                    folders[name] / "evaluation",
                    roles=gold_name if is_gold else roles,
                    knowledge_base=knowledge_base,
                    workers=workers,
                    timeout=timeout,
                    budget=None if is_gold else budget,
                    progress=None if progress is None else partial(progress, name),
                    executor=_Recording(records, _Collector(program, GOLD if is_gold else VERIFIED, engine)),
                )
            if summary.stopped is not None:
                stopped[name] = summary.stopped
    return assemble(out, program.name, asked, folders, cap=cap, dev_share=dev_share, stopped=stopped)


def _check_place(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; traces are written into a directory")
    inside = [inner.name for inner in out.iterdir()] if out.is_dir() else []
    if inside and not any(name in (VERIFIED, MANIFEST) or name.startswith(f"{NAME}-") for name in inside):
        raise UserError(f"{out}: is not empty and holds no traces; choose another directory")


def _check(passes: Sequence[str], cap: int, dev_share: float, distractors: int) -> None:
    unknown = sorted(set(passes) - {VERIFIED, GOLD})
    if unknown or not passes:
        raise UserError(f"no pass {', '.join(unknown) or 'is given'}; there are: {VERIFIED}, {GOLD}")
    if cap < 1:
        raise UserError(f"a cap of {cap} rows per question leaves none: give 1 or more")
    if distractors < 0:
        raise UserError(f"distractors cannot be {distractors}: give 0 or more")
    if not 0 <= dev_share <= 1:
        raise UserError(f"the held-out share is {dev_share}: give a number from 0 to 1")


@dataclass(frozen=True)
class _Recording:
    """An executor on threads of this process that writes the record of a question before its row."""

    records: JsonLines
    collector: _Collector
    name: str = "threads"

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """See `evals.executors.Executor`."""
        asker = Asker(job.program, job.knowledge_base, job.timeout, job.judge)

        def ask(question: Question) -> tuple[Question, Finished | OutOfBudget, Recorder]:
            with recording() as recorder:
                return question, asker(question, job.keys[question.id]), recorder

        for question, result, recorder in spread(ask, questions, workers, stop):
            if isinstance(result, Finished):
                self.records.append(self.collector.record(question, result.row, recorder).to_json())
            yield result


@dataclass(frozen=True)
class _Collector:
    """Makes the record of a question."""

    program: Program
    source: Source
    engine: GoldEngine

    def record(self, question: Question, row: Mapping[str, Any], recorder: Recorder) -> Record:
        """Verify the question and make its rows."""
        calls = tuple(recorder.calls)
        rejected = rejection(self.program.graph, question, row, recorder.prediction, calls)
        if rejected is not None and self.source == GOLD and not self.engine.has_paths(question):
            rejected = "no_path"
        model = None if self.source == VERIFIED else GOLD
        left_out: Counter[str] = Counter()
        rows: list[TraceRow] = []
        source: Source = self.source
        if rejected is not None:
            source, model = "base", GOLD
            calls = self._base(question, calls) if self.source == VERIFIED else ()
        elif self.source == GOLD:
            right = tuple(self._right(calls))
            left_out["beyond_prompt"] = len(calls) - len(right)
            calls = right
        for call in calls:
            try:
                rows.append(trace_row(call, question, self.program.name, source, model))
            except UserError:
                left_out["not_read_back"] += 1
        return Record(question.id, row["key"], rejected, tuple(rows), left_out)

    def _base(self, question: Question, calls: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
        """The answering steps of a rejected question, with gold replies.

        Only steps whose prompt contains the answer: otherwise the model would learn to invent answers.
        """
        found = []
        for call in calls:
            if step_of(call.signature) is AnswerFromFacts and question.answerable:
                right = self.engine.reply_to(call)
                if right is not None and (right.outputs["answers"] or right.outputs["operation"] != "none"):
                    found.append(replace(call, outputs=dict(right.outputs)))
        return tuple(found)

    def _right(self, calls: Sequence[StepRecord]) -> Iterator[StepRecord]:
        """The calls with gold replies, where these follow from the prompts."""
        for call in calls:
            right = self.engine.reply_to(call)
            if right is not None and right.taught:
                yield replace(call, outputs=dict(right.outputs))
