"""What is kept of a question: each step is verified by itself.

KERAG (arXiv 2509.04716) keeps the chains of right answers. A program repairs some wrong steps, so a right answer does
not show that each step before it was right; and a wrong answer not that each was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from triplecheck.evals.questions import Question
from triplecheck.kg import UserError, normalize
from triplecheck.lms.kinds import is_no_language_model
from triplecheck.optimize.traces.gold.engine import GoldEngine
from triplecheck.optimize.traces.kinds import kinds_of, row_kinds, selects_nothing
from triplecheck.optimize.traces.reasoning import reasoning_gap
from triplecheck.optimize.traces.recorder import Recorder, StepRecord
from triplecheck.optimize.traces.records import JudgedStep, Record, Source, TraceRow, trace_row
from triplecheck.optimize.traces.verification import corrected, rejection, unproved
from triplecheck.programs import Program
from triplecheck.programs.steps import Assisted
from triplecheck.signatures import AnswerFromFacts, step_of, without_reasoning

if TYPE_CHECKING:
    from triplecheck.optimize.metrics import Case

VERIFIED: Source = "verified"
GOLD: Source = "gold"
"""The two kinds of passes over the questions: with the models of the session, and with gold replies."""


@dataclass(frozen=True)
class Judge:
    """Makes the record of a question, and judges its steps.

    Attributes:
        kind: of the pass.
        taught: whether a language model takes some steps: only its replies are kept then.
    """

    program: Program
    kind: Source
    engine: GoldEngine
    taught: bool
    question: Question
    recorder: Recorder

    def record(self, row: Mapping[str, Any]) -> Record:
        """Verify the question and its steps."""
        question, graph = self.question, self.program.graph
        calls, prediction = tuple(self.recorder.calls), self.recorder.prediction
        rejected = rejection(graph, question, row, prediction, calls)
        if rejected is not None and self.kind == GOLD and not self.engine.has_paths(question):
            rejected = "no_path"
        nodes = sorted(str(answer["id"]) for answer in row.get("answers") or ())
        text = normalize(str(row.get("answer") or ""))
        return Record(
            question.id,
            row["key"],
            rejected,
            unproved(graph, row, prediction, calls),
            tuple(nodes) or ((text,) if text else ()),
            bool(row["f1"] == 1.0) if question.answers_known and row["status"] != "error" else None,
            str(row.get("verdict") or ""),
            tuple(map(self._step, calls)),
            tuple(self._base(calls)) if self.kind == VERIFIED else (),
            any(isinstance(event, Assisted) for event in (() if prediction is None else prediction.steps)),
        )

    @cached_property
    def _case(self) -> Case:
        from triplecheck.optimize.metrics import Case  # the metrics import this package

        return Case(self.question, self.program.sources)

    @cached_property
    def _kinds(self) -> tuple[str, ...]:
        if not self.question.answers_known:
            return ()
        case = self._case
        return kinds_of(case.derivation, answerable=self.question.answerable, topics=len(case.gold.topics))

    def _step(self, call: StepRecord) -> JudgedStep:
        """A step with its row and score, or what is wrong with it whatever the answer is."""
        source, model, problem = self.kind, None, self._problem(call)
        if source == GOLD:
            right = self.engine.reply_to(call)
            if right is None or not right.taught:
                problem = "beyond_prompt"
            else:
                call, model = replace(call, outputs=dict(right.outputs)), GOLD
        elif is_no_language_model(call.model):
            source = "template"
        score, told = self._score(call) if problem not in ("beyond_prompt", "template", "cut") else (None, "")
        row = None
        if problem is None:
            try:
                row = self._row(call, source, model)
            except UserError as error:
                problem, told = "not_read_back", str(error)
        return JudgedStep(call.signature.__name__, model or call.model, call.outputs, row, problem, score, told)

    def _problem(self, call: StepRecord) -> str | None:
        if call.cut:
            return "cut"
        if self.kind == GOLD:
            return None
        if corrected(self.recorder.prediction) and {"cited", "answers"} <= call.outputs.keys():
            return "corrected"
        if is_no_language_model(call.model):
            return "template" if self.taught else None
        return reasoning_gap(call.inputs, call.outputs, self.program.sources.language)

    def _score(self, call: StepRecord) -> tuple[float | None, str]:
        from triplecheck.optimize.metrics import StepCall, step_metric

        metric = step_metric(call.signature) if self.question.answers_known else None
        scored = None if metric is None else metric(StepCall(call.inputs, call.outputs), self._case)
        return (None, "") if scored is None else (scored.score, scored.feedback.strip())

    def _row(self, call: StepRecord, source: Source, model: str | None) -> TraceRow:
        row = trace_row(call, self.question, self.program.name, source, model)
        return replace(row, kinds=row_kinds(self._kinds, call.outputs))

    def _base(self, calls: Sequence[StepRecord]) -> Iterator[TraceRow]:
        """The answering steps with gold replies, without reasoning: the base prompt of KERAG.

        Only steps whose prompt contains the answer: otherwise the model would learn to invent answers.
        """
        for call in calls:
            if step_of(call.signature) is AnswerFromFacts and self.question.answerable and self.question.answers_known:
                right = self.engine.reply_to(call)
                if right is not None and (right.outputs["answers"] or right.outputs["operation"] != "none"):
                    bare = without_reasoning(call.signature)
                    outputs = {name: right.outputs[name] for name in bare.output_fields}
                    yield self._row(replace(call, signature=bare, outputs=outputs), "base", GOLD)


def refusal(step: JudgedStep, whole: str | None, *, assisted: bool, by_metric: bool = True) -> str | None:
    """Why a step is not learnt; None: it is.

    A step is learnt if its own metric gives the full score. One that cannot be scored is learnt if what followed proves
    it: the answer is right, and no assist changed anything on the way, or the reply is computed from the graph. An
    answer needs its own proof in any case. An abstention proves only steps that select nothing.

    Args:
        whole: why the answer of the question is rejected; None: it is right and proved.
        assisted: whether an assist changed something.
        by_metric: whether the score counts; else all is proved by what followed.
    """
    score = step.score if by_metric else None
    if score is not None and score < 1:
        return "below_metric"
    if step.problem is not None:
        return step.problem
    if score == 1 and not _answers(step.outputs):
        return None
    computed = step.row is not None and step.row.source == GOLD
    if whole is not None or score == 1 or computed:
        return whole
    if assisted:
        return "assisted"
    unanswerable = step.row is not None and "unanswerable" in step.row.kinds
    return "unproved" if unanswerable and not selects_nothing(step.outputs) else None


def _answers(outputs: Mapping[str, Any]) -> bool:
    """Whether a reply gives an answer, or what computes one, from facts."""
    if not {"cited", "answers"} <= outputs.keys():
        return False
    return bool(outputs["answers"]) or outputs.get("operation", "none") != "none"
