"""What a directory of traces says about itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any, Literal

from triplecheck.optimize.traces.reading import FORMAT, VERSION
from triplecheck.optimize.traces.records import JudgedStep, TraceRow

Verification = Literal["gold", "agreement"]
"""How answers are verified.

`gold`: against the known answer. `agreement`: without it; most samples of a question give this answer, and in each of
them the graph proves it, by the verdict (self-consistency, Wang et al., arXiv 2203.11171, with the graph as a second
witness).
"""

LEFT_OUT: Mapping[str, str] = {
    "below_metric": "the step's own metric gives less than the full score",
    "assisted": "no metric scores the step, and an assist mended something before the right answer",
    "unproved": "no metric scores the step, which selects something, and the question has no answer that proves it",
    "corrected": "the program corrected the answer, or what was to be computed",
    "cut": "the reply ended at its length limit",
    "fact_not_named": "the reasoning leaves out a fact that it rests on",
    "answer_not_named": "the reasoning leaves out the answer",
    "question_not_named": "nothing is answered, and the reasoning does not tell what is missing",
    "template": "a reply of the rule-based baseline beside those of a language model",
    "beyond_prompt": "a gold reply that does not follow from the prompt",
    "not_read_back": "parsing the reply gives other values",
    "other_step": "not one of the steps asked for",
    "duplicate": "another reply to the same prompt, with much the same reasoning if it has one",
    "over_cap": "over the maximum rows of a question",
    "selects_nothing": "selects nothing, as a fifth of the step's rows do already",
}
"""Why steps are left out. Others are those of their question (`verification.Rejection`)."""
OF_QUESTION = "the answer of the question is rejected for this reason"


@dataclass(frozen=True)
class TraceManifest:
    """The manifest of a directory of fine-tuning data.

    Attributes:
        verified_by: how answers were verified.
        passes: by name: numbers of questions `asked`, `kept` and `rejected` (by reason), `stopped` (why the pass
            stopped early, or null), and the `configuration` that the steps depend on.
        agreement: by agreement of the samples: numbers of questions `asked`, `kept`, and of the kept ones with a known
            answer the `known` and the `right` ones; null if there is one sample.
        by_source, by_signature, by_split: numbers of rows.
        kinds: by step and kind of question: the training `rows`, and their `share` with repetitions.
        left_out: numbers of steps left out, by reason; see `LEFT_OUT`.
        graph: content hash of the graph; null if it is not in a local knowledge base.
        cap: maximum rows per question.
        dev_share: share of the questions held out.
    """

    program: str
    questions: int
    verified_by: str
    passes: Mapping[str, Mapping[str, Any]]
    agreement: Mapping[str, int] | None
    rows: int
    by_source: Mapping[str, int]
    by_signature: Mapping[str, int]
    by_split: Mapping[str, int]
    kinds: Mapping[str, Mapping[str, Mapping[str, float]]]
    left_out: Mapping[str, int]
    scores: Mapping[str, Mapping[str, float | None]]
    graph: str | None
    cap: int
    dev_share: float
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Contents of `manifest.json`."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def card(self) -> str:
        """Contents of `README.md`: where the rows come from, and the scores and kinds of each step."""
        models = sorted(
            {name for one in self.passes.values() for name in (one["configuration"] or {}).get("models", ())}
        )
        asked = ", ".join(f"{name}: {one['kept']} of {one['asked']}" for name, one in self.passes.items())
        lines = [
            f"# Traces of {self.program}",
            "",
            f"{self.rows} rows, written by `triplecheck collect` from {self.questions} questions "
            f"(answered rightly and with proof: {asked}; models: {', '.join(models)}). "
            "Each step is kept by its own metric.",
            "",
            "| step | replies | scored | mean score | full score | rows | kinds (share with repetitions) |",
            "|---|---|---|---|---|---|---|",
        ]
        for step, one in self.scores.items():
            kinds = ", ".join(f"{kind} {own['share']:.0%}" for kind, own in self.kinds.get(step, {}).items())
            mean, full = ("" if one[name] is None else f"{one[name]:.3f}" for name in ("mean", "full"))
            lines.append(f"| {step} | {one['calls']} | {one['scored']} | {mean} | {full} | {one['learnt']} | {kinds} |")
        lines += ["", "| steps left out | why |", "|---|---|"]
        lines += [
            f"| {count} {reason} | {LEFT_OUT.get(reason, OF_QUESTION)} |" for reason, count in self.left_out.items()
        ]
        return "\n".join(lines) + "\n"


def scores_of(steps: Sequence[JudgedStep], rows: Sequence[TraceRow]) -> dict[str, dict[str, float | None]]:
    """By step, over all its replies: `calls`; of these `scored` by its own metric; their `mean` score and the share
    with the `full` score, both None if none is scored; and `learnt`, the number of its rows.
    """
    learnt, found = Counter(row.signature for row in rows), {}
    for name in sorted({step.signature for step in steps}):
        given = [step.score for step in steps if step.signature == name]
        scored = [score for score in given if score is not None]
        found[name] = {
            "calls": len(given),
            "scored": len(scored),
            "mean": round(mean(scored), 4) if scored else None,
            "full": round(mean(score == 1 for score in scored), 4) if scored else None,
            "learnt": learnt[name],
        }
    return found
