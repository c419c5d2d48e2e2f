"""The calibration report in markdown: tables and ROC curves, the paper's score compared with the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triplecheck.kg._atomic import write_text
from triplecheck.kg.errors import extra
from triplecheck.kg.knowledge_base import KnowledgeBase
from triplecheck.kg.plausibility.calibration import CORRUPTIONS, UNITS, Roc
from triplecheck.kg.plausibility.scores import METHODS

PAPERS = "relative"
"""The score of Know³-RAG (arXiv 2505.12662, eq. 2), with which the others are compared."""

_EQUAL = 0.005  # AUROC

_HEAD = """# How reliable plausibility scores are

AUROC of true against corrupted tails: the probability that a corrupted triple has a higher (less plausible) score than
a true one. True triples are test triples, used neither for training nor for early stopping. Corrupted triples are the
same with another tail that the graph does not confirm: any entity (random), or another tail of the relation
(consistent: the right type, harder). `triple`: single triples. `sum`, `mean`: answers of one to five triples by the sum
or the mean of their scores, where a corrupted answer has one corrupted triple. 0.5 is chance. `relative` is the score
of Know³-RAG, an absolute difference; `kg/plausibility/scores.py` defines all four.
"""


@dataclass(frozen=True)
class Calibrated:
    """A knowledge base and its curves (`kg.plausibility.calibrate`)."""

    kb: KnowledgeBase
    curves: Sequence[Roc]

    @property
    def name(self) -> str:
        """Name of its directory."""
        return self.kb.path.name


def write_report(found: Sequence[Calibrated], out: Path, command: str) -> Path:
    """Write `report.md`, whose path is returned, and the curves as PNG into a directory, created if missing."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [_HEAD, f"Made by `{command}`.\n", "## The paper's score beside the others\n", _against(found)]
    for one in found:
        parts += [f"## {one.name}\n", _about(one), table(one.curves)]
        for corruption in CORRUPTIONS:
            picture = draw(one.curves, corruption, one.name, out)
            parts.append(f"![{one.name}, {corruption} tails]({picture.name})\n")
    report = out / "report.md"
    write_text(report, "\n".join(parts))
    return report


def table(curves: Sequence[Roc]) -> str:
    """Table of AUROC, one row per score."""
    by_place = {(curve.method, curve.corruption, curve.unit): curve.auroc for curve in curves}
    columns = list(dict.fromkeys((curve.corruption, curve.unit) for curve in curves))
    lines = [" | ".join(["| score", *(f"{corruption}, {unit}" for corruption, unit in columns)]) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for method in METHODS:
        figures = (f"{by_place[method, *column]:.3f}" for column in columns)
        lines.append(" | ".join([f"| `{method}`", *figures]) + " |")
    return "\n".join(lines) + "\n"


def _about(one: Calibrated) -> str:
    counts, embeddings = one.kb.manifest.counts, one.kb.embeddings
    assert embeddings is not None
    options, quality = embeddings.about.options, embeddings.about.quality
    first = next(curve for curve in one.curves if (curve.method, curve.unit) == (PAPERS, "triple"))
    return (
        f"{counts['entities']:,} entities, {counts['relations']:,} relations, {counts['triples']:,} triples; "
        f"{options.model}, {options.dimensions} dimensions, MRR {quality.mrr:.3f}, Hits@10 {quality.hits_at_10:.3f}; "
        f"{first.scored[0]:,} true triples, {first.unscored:,} true or corrupted ones that `{PAPERS}` cannot score.\n"
    )


def _against(found: Sequence[Calibrated]) -> str:
    """Difference of the paper's score to each other score, per unit: on average, and how often."""
    lines = [f"| AUROC of `{PAPERS}` less that of | " + " | ".join(UNITS) + " |", "| --- |" + " ---: |" * len(UNITS)]
    for method in METHODS:
        if method != PAPERS:
            lines.append(f"| `{method}` | " + " | ".join(_lead(found, method, unit) for unit in UNITS) + " |")
    return "\n".join(lines) + "\n"


def _lead(found: Sequence[Calibrated], method: str, unit: str) -> str:
    leads = []
    for one in found:
        by_place = {(curve.method, curve.corruption): curve.auroc for curve in one.curves if curve.unit == unit}
        leads += [by_place[PAPERS, corruption] - by_place[method, corruption] for corruption in CORRUPTIONS]
    worse, better = (sum(sign * lead > _EQUAL for lead in leads) for sign in (-1, 1))
    return f"{sum(leads) / len(leads):+.3f} (worse in {worse}, better in {better} of {len(leads)})"


def draw(curves: Sequence[Roc], corruption: str, name: str, out: Path) -> Path:
    """Draw the curves of one corruption, one panel per unit, into `NAME-CORRUPTION.png` in an existing directory."""
    with extra("plots", "A figure"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(UNITS), 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(UNITS), sharey=True)
    titles = {"triple": "single triples", "sum": "answers by the sum", "mean": "answers by the mean"}
    for panel, unit in zip(panels, UNITS, strict=True):
        panel.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
        for curve in curves:
            if (curve.corruption, curve.unit) == (corruption, unit):
                label = f"{curve.method} {curve.auroc:.3f}"
                panel.plot(curve.false_positives, curve.true_positives, label=label, linewidth=1.5)
        panel.set_title(titles[unit])
        panel.set_xlabel("false positive rate")
        panel.set_aspect("equal")
        panel.legend(loc="lower right", title="AUROC", fontsize=8)
    panels[0].set_ylabel("true positive rate")
    figure.suptitle(f"{name}: true against {corruption} tails")
    path = out / f"{name}-{corruption}.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path
