"""`triplecheck eval`: executors and progress."""

from __future__ import annotations

import pytest
from cli_support import Run, refused

from triplecheck.app.console import duration, show_scores
from triplecheck.evals import Progress


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (42.4, "42 s"), (150, "2 min"), (5_000, "83 min"), (7_500, "2 h 05 min")]
)
def test_a_duration_is_short(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_progress_shows_score_errors_and_the_time_left() -> None:
    shown: list[tuple[str, int, int | None]] = []
    tell = show_scores(lambda what, done, total: shown.append((what, done, total)))
    tell(Progress(done=3, total=10, kept=1, hits_at_1=0.5, errors=1, seconds=2.0, eta=140.0))
    tell(Progress(done=0, total=10, kept=0, hits_at_1=None, errors=0, seconds=0.0, eta=None))
    assert shown == [("asking: hits@1 0.500 errors 1 2 min left", 3, 10), ("asking:", 0, 10)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--executor", "spark"], "no executor 'spark'; there are: threads, ray"),
        (["--ray-address", "auto"], "give both"),
    ],
)
def test_a_wrong_executor_is_refused(run: Run, words: list[str], message: str) -> None:
    refused(run("eval", "kerag", *words), message)
