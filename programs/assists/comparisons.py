"""`comparisons`: "Is A older than B?" is computed from the two values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecheck.programs.aggregation import terminal
from triplecheck.programs.assists.doubts import YES_NO
from triplecheck.programs.assists.expected_form import whether
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.conclusion import Conclusion
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked


def compared(assists: Assists, conclusion: Conclusion, written: Sequence[str]) -> Outcome | None:
    """The answer to such a question, yes or no, by the comparative in it; None if it is another question.

    A model often names the other operation, the difference, or no operation.

    Args:
        assists: those in use.
        conclusion: what the model cited.
        written: the answers that the model wrote.
    """
    asked = conclusion.asked
    if "comparisons" not in assists or not asked.asks_whether or asked.compares is None:
        return None
    operands = terminal(conclusion.cited)
    if not conclusion.compares_values() or not {fact.anchor for fact in operands} <= conclusion.reading.topics.keys():
        return None
    kinds = conclusion.kinds_of(operands)
    if len(kinds) != 1:
        return None
    vectors, relation = conclusion.program.sources.relations, operands[0].hop.relation

    def like(text: str) -> float:
        return 0.0 if vectors is None else float(vectors.against(text)[relation])

    found = conclusion.compute(asked.compares.over(kinds.pop(), like).operation, operands)
    found = None if found is None else whether(conclusion, operands, found)
    if found is None or found.answer not in YES_NO:
        return None
    if not written or conclusion.agree(found, written):
        return found
    assists.note(conclusion.trace, "comparisons", "AnswerFromFacts", written, [found.answer])
    said = f"{', '.join(written)} is written, but the cited values say {found.answer}"
    conclusion.trace.add(Checked("answer", False, said))
    return replace(found, doubts=(*found.doubts, said))
