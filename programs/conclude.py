"""From facts to a checked outcome: the model answers, and each answer is found in the facts or computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from triplecheck.kg import normalize
from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.programs.aggregation import terminal
from triplecheck.programs.assists.plans import query_step
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.conclusion import Conclusion, Reading
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.options import AnsweringOptions, ProgramOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Stopped, Trace, Wrote
from triplecheck.signatures.notation import split_edge

_TEMPERATURE = 0.7  # of samples


class AnsweringProgram(Program):
    """A program whose model answers from facts; `answer_from_facts` concludes from the reply."""

    Options: ClassVar[type[ProgramOptions]] = AnsweringOptions
    options: AnsweringOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.write_query = query_step(self.assists)


def answer_from_facts(program: AnsweringProgram, step: RolePredict, reading: Reading, trace: Trace) -> Outcome:
    """Ask for an answer from facts, check it against them, and compute what it asks to be computed.

    Args:
        program: its graph is checked against, and its options say which answers are given.
        step: made by `assists.doubts.answering_step`.
        reading: what the model reads.
        trace: records the reply, and what was computed and checked.
    """
    samples = program.options.samples
    if samples == 1:
        return _answered(program, step, reading, trace)
    branches = [trace.branch() for _ in range(samples)]
    found: list[Outcome | None] = []
    unread: ModelReplyError | None = None
    for number, branch in enumerate(branches):
        # The first sample is the answer as it would be alone; a rollout id makes each other a call of its own.
        config = {"temperature": _TEMPERATURE, "rollout_id": number} if number else {}
        try:
            found.append(_answered(program, step, reading, branch, config))
        except ModelReplyError as error:
            branch.add(Stopped("unreadable_reply", str(error)))
            found.append(None)
            unread = error
    if unread is not None and not any(found):
        raise unread
    return _most_frequent(found, branches, trace)


def _answered(
    program: AnsweringProgram,
    step: RolePredict,
    reading: Reading,
    trace: Trace,
    config: Mapping[str, Any] | None = None,
) -> Outcome:
    """One answer, checked."""
    shown = {"question": reading.question, "topics": list(reading.shown), "facts": list(reading.lines)}
    reply = program.ask(trace, step, **shown, config=dict(config or {}))
    cited = [reading.facts[n - 1] for n in valid_numbers("fact", reply.cited, len(reading.lines), trace)]
    written = [name for answer in reply.answers if (name := split_edge(answer.strip())[0])]
    return _concluded(Conclusion(program, reading, cited, trace), reply.operation, written)


def _concluded(conclusion: Conclusion, operation: str, written: Sequence[str]) -> Outcome:
    """The outcome of an operation over the cited facts (`none` for nothing) and of the written answers."""
    if operation != "none" and (found := conclusion.compute(operation, terminal(conclusion.cited))) is not None:
        return found
    if not written:
        conclusion.trace.add(Stopped("not_in_facts", "the model found no answer in the retrieved facts"))
        return Outcome(abstained="not_in_facts")
    return conclusion.look_up(written)


def _most_frequent(found: Sequence[Outcome | None], branches: Sequence[Trace], trace: Trace) -> Outcome:
    """The outcome with the answer of most samples, the first of these; the trace gets its steps last."""
    keys = [None if one is None else (one.answers or normalize(one.answer)) for one in found]
    votes = Counter(key for key in keys if key is not None)
    key, most = votes.most_common(1)[0]
    at = keys.index(key)
    for number, branch in enumerate(branches):
        trace.steps += [step for step in branch.steps if number != at and isinstance(step, Wrote | Stopped)]
    trace.steps += branches[at].steps
    chosen = found[at]
    assert chosen is not None
    said = f"{most} of {len(found)} samples say {chosen.answer or 'nothing'!r}"
    agreed = 2 * most > len(found)
    trace.add(Checked("agreement", agreed, said))
    return (
        chosen if agreed or chosen.abstained is not None else replace(chosen, doubts=(*chosen.doubts, f"only {said}"))
    )
