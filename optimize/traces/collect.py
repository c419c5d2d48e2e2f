"""Collects rows for fine-tuning: runs a program over questions and keeps the steps of verified answers.

Source: KERAG (arXiv 2509.04716), its third mechanism. Several samples of a question, of which the verified ones are
kept, are rejection sampling (Yuan et al., arXiv 2308.01825).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

import dspy

from triplecheck.evals import Progress, evaluate
from triplecheck.evals.asking import Asker, Finished, OutOfBudget
from triplecheck.evals.executors.threads import QuestionJob, Result, spread
from triplecheck.evals.questions import Question
from triplecheck.evals.run_directory import JsonLines
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Budget, Roles, session
from triplecheck.optimize.traces.assembly import Pass, Selection, assemble, unverified
from triplecheck.optimize.traces.collector import GOLD, VERIFIED, Judge
from triplecheck.optimize.traces.gold.engine import NAME, check_computable, gold_engine, is_template, uncomputable
from triplecheck.optimize.traces.manifest import TraceManifest, Verification
from triplecheck.optimize.traces.rationalize import FOLDER as RATIONALIZED
from triplecheck.optimize.traces.rationalize import rationalize as explain
from triplecheck.optimize.traces.reading import MANIFEST, graph_of
from triplecheck.optimize.traces.recorder import Recorder, recording
from triplecheck.optimize.traces.records import FILE
from triplecheck.programs import Program

DISTRACTORS = 2
"""Wrong paths and facts kept besides the right ones in the pass `gold`."""
TEMPERATURE = 0.7
"""Sampling temperature if there are several samples."""
_SAMPLE = "sample"


def collect(
    program: Program,
    questions: Iterable[Question],
    out: Path | str,
    *,
    roles: Roles | str | None = None,
    knowledge_base: KnowledgeBase | None = None,
    passes: Sequence[str] | None = None,
    samples: int = 1,
    temperature: float | None = None,
    verify: Verification = "gold",
    agree: int | None = None,
    rationalize: bool = False,
    steps: Sequence[str] = (),
    workers: int = 1,
    timeout: float | None = None,
    budget: Budget | None = None,
    cap: int = 12,
    dev_share: float = 0.1,
    least_share: float = 0.1,
    distractors: int = DISTRACTORS,
    rejected: Path | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> TraceManifest:
    """Run a program over questions and write the rows of its verified steps.

    Each pass is an evaluation in its own directory below `out`, with `records.jsonl` beside its rows. If interrupted,
    the same call resumes it. At the end `traces.jsonl` and `manifest.json` are written from all passes, at most `cap`
    rows per question; of replies to the same prompt those whose reasonings differ.

    Args:
        program: to run; from several threads if `workers` is above 1.
        roles: the models of the roles in the pass `verified`; None: as in `lms.session`.
        passes: `verified`, `gold` or both; None: `verified` if a language model has a role, whose reasoning is not
            mixed with templates; else both if gold replies to all steps can be computed.
        samples: how often each question is asked in the pass `verified`.
        temperature: of the samples; None: that of the models, or `TEMPERATURE` if there are several samples.
        verify: how answers are verified: against the known ones, or by the agreement of the samples and the graph.
        agree: samples that must prove the same answer; None: more than half of them.
        rationalize: let the model explain the known answer of a question that no sample answers correctly and with
            reasoning, from the facts that it read.
        steps: names of the signatures whose rows are written; empty: all. The passes are the same.
        workers: questions to run in parallel.
        timeout: maximum seconds per question.
        cap: maximum rows per question; of more, the first ones and the last are kept.
        dev_share: share of the questions held out, from 0 to 1.
        least_share: least share of each kind of question (`kinds.BALANCED`) in the rows of a step, if there is a row of
            it: rows of rare kinds count several times (`TraceRow.times`); 0: all count once. Of rows that select
            nothing a fifth of a step's rows is kept (`kinds.selecting`).
        distractors: number of wrong paths and facts that the pass `gold` keeps besides the right ones, so that later
            steps see irrelevant input; the rows hold the right replies.
        rejected: a file for the steps that are left out, each with the reason (`manifest.LEFT_OUT`).
        progress: called with the pass and its progress, after each question.

    Raises:
        UserError: an invalid argument, a program whose gold replies cannot be computed (pass `gold`), or `out`
            holds something else.
    """
    asked, out = list(questions), Path(out)
    how = Selection(verify, agree, tuple(steps), cap, dev_share, least_share)
    _check(how, samples, temperature, distractors)
    if agree is None and verify == "agreement":  # most of all samples, also if a budget ends before the last one
        how = replace(how, agree=samples // 2 + 1)
    _check_steps(program, steps)
    with ExitStack() as stack:
        gold_name, engine = stack.enter_context(gold_engine(program, asked, distractors))
        stack.enter_context(session(roles, budget))
        # Whether a language model takes one of the steps.
        taught = not all(is_template(step.model) for step in program.predictors())
        kinds = _kinds(program, passes, taught=taught)
        _check_kinds(kinds, how, samples, rationalize=rationalize, taught=taught)
        if samples > 1 or temperature is not None:
            _check_sampled(program)
        if GOLD in kinds:
            check_computable(program)
        _check_place(out)
        found: list[Pass] = []
        for one in _planned(out, kinds, samples, temperature, gold_name):
            judge = partial(Judge, program, one.kind, engine, taught)
            with JsonLines(one.folder / FILE) as records:
                summary = evaluate(
                    program,
                    asked,
                    one.folder / "evaluation",
                    roles=gold_name if one.kind == GOLD else None,
                    knowledge_base=knowledge_base,
                    workers=workers,
                    timeout=timeout,
                    settings={"sample": one.sample, "temperature": one.temperature} if one.sample else None,
                    progress=None if progress is None else partial(progress, one.name),
                    executor=_Recording(records, judge, one),
                )
            found.append(replace(one, stopped=summary.stopped))
            if summary.stopped is not None and one.sampled:
                break
        explained = None
        if rationalize:
            wrong = unverified(asked, found, how)
            explained = explain(program, wrong, out / RATIONALIZED, workers)
    return assemble(out, program.name, asked, found, how, explained, rejected, graph_of(program.sources.knowledge_base))


def _kinds(program: Program, passes: Sequence[str] | None, *, taught: bool) -> list[str]:
    if passes is None:
        return [VERIFIED] if taught or uncomputable(program) else [VERIFIED, GOLD]
    unknown = sorted(set(passes) - {VERIFIED, GOLD})
    if unknown or not passes:
        raise UserError(f"no pass {', '.join(unknown) or 'is given'}; there are: {VERIFIED}, {GOLD}")
    return list(dict.fromkeys(passes))


def _check_kinds(kinds: Sequence[str], how: Selection, samples: int, *, rationalize: bool, taught: bool) -> None:
    if taught and len(kinds) > 1:
        raise UserError(
            f"the pass {GOLD} writes templates, which are not mixed with the reasoning of a language model: "
            "collect it into a directory of its own"
        )
    if how.verify == "agreement":
        if samples < 2 or GOLD in kinds:
            raise UserError("agreement needs at least 2 samples of each question, and no gold replies")
        if rationalize:
            raise UserError("without known answers there is nothing to rationalize: leave it out")
    if rationalize and not taught:
        raise UserError("a language model must explain the known answers: give one, or do not rationalize")
    if samples > 1 and not taught:
        raise UserError("the rule-based baseline always replies the same: give a language model, or 1 sample")


def _check_sampled(program: Program) -> None:
    own = [step.signature.__name__ for step in program.predictors() if step.lm is not None]
    if own:
        raise UserError(f"{own[0]} has a model of its own, which is not sampled: name it as a role instead")


def _check_place(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; traces are written into a directory")
    inside = [inner.name for inner in out.iterdir()] if out.is_dir() else []
    own = (f"{NAME}-", f"{_SAMPLE}-")
    if inside and not any(name in (VERIFIED, MANIFEST) or name.startswith(own) for name in inside):
        raise UserError(f"{out}: is not empty and holds no traces; choose another directory")


def _check(how: Selection, samples: int, temperature: float | None, distractors: int) -> None:
    if how.verify not in get_args(Verification):
        raise UserError(f"no verification {how.verify!r}; there are: {', '.join(get_args(Verification))}")
    if samples < 1:
        raise UserError(f"{samples} samples per question: give 1 or more")
    if temperature is not None and not 0 <= temperature <= 2:
        raise UserError(f"the temperature is {temperature}: give a number from 0 to 2")
    if samples > 1 and temperature == 0:
        raise UserError("at temperature 0 all samples are the same: give a higher one")
    if how.agree is not None and not 2 <= how.agree <= samples:
        raise UserError(f"{how.agree} of {samples} samples cannot agree: give a number from 2 to the number of samples")
    if how.cap < 1:
        raise UserError(f"a cap of {how.cap} rows per question leaves none: give 1 or more")
    if distractors < 0:
        raise UserError(f"distractors cannot be {distractors}: give 0 or more")
    if not 0 <= how.least_share <= 0.1:
        raise UserError(f"the least share of a kind is {how.least_share}: give a number from 0 to 0.1")
    if not 0 <= how.dev_share <= 1:
        raise UserError(f"the held-out share is {how.dev_share}: give a number from 0 to 1")


def _check_steps(program: Program, steps: Sequence[str]) -> None:
    there = sorted({step.signature.__name__ for step in program.predictors()})
    unknown = sorted(set(steps) - set(there))
    if unknown:
        raise UserError(f"{program.name} has no step {', '.join(unknown)}; there are: {', '.join(there)}")


def _planned(
    out: Path, kinds: Sequence[str], samples: int, temperature: float | None, gold_name: str
) -> Iterator[Pass]:
    for kind in kinds:
        if kind == GOLD:
            # Gold replies depend on the questions: another set of questions has another directory.
            yield Pass(GOLD, out / gold_name, GOLD)
        elif samples == 1 and temperature is None:
            yield Pass(VERIFIED, out / VERIFIED)
        else:
            degree = TEMPERATURE if temperature is None else temperature
            for sample in range(1, samples + 1):
                folder = out / f"{_SAMPLE}-{sample}-t{degree:g}"
                yield Pass(f"{_SAMPLE} {sample}", folder, VERIFIED, sample, degree)


@dataclass(frozen=True)
class _Recording:
    """An executor on threads of this process that writes the record of a question before its row."""

    records: JsonLines
    judge: Callable[[Question, Recorder], Judge]
    of: Pass

    def run(
        self, job: QuestionJob, questions: Sequence[Question], workers: int, stop: threading.Event
    ) -> Iterator[Result]:
        """See `evals.executors.threads.Executor`."""
        asker = Asker(job.program, job.knowledge_base, job.timeout)

        def ask(question: Question) -> tuple[Question, Finished | OutOfBudget, Recorder]:
            sampled = {"rollout_id": self.of.sample, "temperature": self.of.temperature}
            varied = {"lm": dspy.settings.lm.copy(**sampled)} if self.of.sample else {}
            with dspy.context(**varied), recording() as recorder:
                return question, asker(question, job.keys[question.id]), recorder

        for question, result, recorder in spread(ask, questions, workers, stop):
            if isinstance(result, Finished):
                self.records.append(asdict(self.judge(question, recorder).record(result.row)))
            yield result
