"""`settled`: where the written and the computed answer differ, the model sees both and decides (`SettleAnswer`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecheck.lms import RolePredict
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.conclusion import Conclusion
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Stopped
from triplecheck.programs.subgraph import Fact
from triplecheck.signatures import SettleAnswer


def settling_step(assists: Assists) -> RolePredict | None:
    """The step that decides between two answers, if it is asked."""
    return RolePredict(SettleAnswer, role="answer") if "settled" in assists else None


def settled(
    assists: Assists,
    conclusion: Conclusion,
    step: RolePredict | None,
    operation: str,
    operands: Sequence[Fact],
    computed: Outcome,
    written: Sequence[str],
    over_cited: Outcome | None = None,
) -> Outcome:
    """One of two different answers; the computed one without a step.

    Args:
        assists: those in use.
        conclusion: what the model cited.
        step: of `settling_step`.
        operation: what was computed.
        operands: what it was computed from.
        computed: the result.
        written: the answers that the model wrote.
        over_cited: the result over the cited facts alone, where the operands are more than these.
    """
    said = ", ".join(written) or (over_cited or computed).answer
    conclusion.trace.add(Checked("answer", False, f"{said} is written, but {operation} is {computed.answer}"))
    over = "the cited facts" if over_cited is None else "all facts on their path"
    doubt = f"the model wrote {said}, and {operation} over {over} is {computed.answer}"
    if step is None:
        return replace(computed, doubts=(*computed.doubts, doubt))
    reading, shown = conclusion.reading, {*conclusion.cited, *operands}
    reply = step(
        question=reading.question,
        facts=[line for fact, line in zip(reading.facts, reading.lines, strict=False) if fact in shown],
        written=said,
        operation=operation,
        computed=computed.answer,
    )
    conclusion.program.wrote(conclusion.trace, step, reply)
    if reply.right == "computed":
        return computed
    assists.note(conclusion.trace, "settled", "AnswerFromFacts", [computed.answer], [said])
    if reply.right == "written":
        found = conclusion.look_up(written) if written else Outcome()
        # A result that has triples is worth more than a preferred answer without any.
        return replace(found if found.grounded else over_cited or computed, doubts=(*found.doubts, doubt))
    conclusion.trace.add(Stopped("contradictory", doubt))
    return Outcome(abstained="contradictory")
