"""Curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triplecheck.kg.plausibility.calibration import UNITS, Roc


def draw(curves: Sequence[Roc], corruption: str, name: str, out: Path) -> Path:
    """Draw the curves of one kind of corruption, a panel for each unit, as a PNG.

    Args:
        curves: of any kind; those of others are left out.
        corruption: which.
        name: of the knowledge base, for the title.
        out: an existing directory.

    Returns:
        The file, `NAME-CORRUPTION.png`.
    """
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
        panel.set_xlabel("corrupted taken for true")
        panel.set_aspect("equal")
        panel.legend(loc="lower right", title="AUROC", fontsize=8)
    panels[0].set_ylabel("true taken for true")
    figure.suptitle(f"{name}: true against {corruption} tails")
    path = out / f"{name}-{corruption}.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path
