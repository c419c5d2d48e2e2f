"""Pictures as PNG, without a window."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from triplecheck.kg._atomic import write_bytes
from triplecheck.kg.errors import extra

_DOTS_PER_INCH = 150
_INCHES = (8.5, 4.0)
_MARKERS = "osD^v<>PX*phdH"


@contextlib.contextmanager
def picture(path: Path, size: tuple[float, float], **said: str) -> Iterator[Any]:
    """A figure of matplotlib to draw on; it is written when the block ends.

    Args:
        size: width and height in inches.
        said: texts that are kept in the file.

    Raises:
        MissingExtraError: matplotlib is not installed (extra `plots`).
    """
    with extra("plots", "A figure"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=_DOTS_PER_INCH, format="png", metadata={"Software": None} | said)
    write_bytes(path, drawn.getvalue())


def draw_series(path: Path, title: str, x: str, y: str, figures: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """Draw shares of several series, each in its own colour; the file keeps the figures as JSON (`Description`).

    Args:
        x: what the first figure of each name is, for points, on a logarithmic axis; empty for bars, which have no x.
        y: what the last figure is, from 0 to 1.
        figures: by series and name.
    """
    names = list(dict.fromkeys(name for of in figures.values() for name in of))
    with picture(path, _INCHES, Description=json.dumps(figures)) as drawn:
        axes = drawn.add_subplot(title=title, ylabel=y, ylim=(0, 1))
        for place, (series, of) in enumerate(figures.items()):
            if x:
                for name, (right, up) in of.items():
                    axes.plot(right, up, _MARKERS[names.index(name) % len(_MARKERS)], color=f"C{place}", clip_on=False)
                axes.plot([], [], "s", color=f"C{place}", label=series)
            else:
                width = 0.8 / len(figures)
                places = [names.index(name) + (place - (len(figures) - 1) / 2) * width for name in of]
                axes.bar(places, [up for (up,) in of.values()], width, label=series)
        if x:
            for marker, name in zip(_MARKERS, names, strict=False):
                axes.plot([], [], marker, color="grey", label=name)
            first = [point[0] for of in figures.values() for point in of.values()]
            if 0 in first:  # which has no logarithm: the axis is linear below its least figure
                axes.set_xscale("symlog", subs=[2, 5], linthresh=min((one for one in first if one), default=1))
            else:
                axes.set_xscale("log", subs=[2, 5])
            axes.set_xlabel(x)
            axes.xaxis.set_major_formatter("{x:,g}")
            axes.xaxis.set_minor_formatter("{x:,g}")
        else:
            axes.set_xticks(range(len(names)), names)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
