"""The Pareto front of accuracy and cost, and the candidate that is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg import UserError
from triplecheck.optimize.candidates import CandidateProgram, Candidates, choose, pareto_front


def candidate(key: str, score: float, calls: float, size: int = 100) -> CandidateProgram:
    return CandidateProgram(key, 10, score, calls, size)


def test_among_equal_calls_the_shorter_prompt_is_cheaper() -> None:
    long, short = candidate("long", 0.5, 3, 9_000), candidate("short", 0.5, 3, 200)
    assert pareto_front([long, short]) == [short]
    assert choose([long, short]) == short


def test_a_change_without_a_gain_is_not_chosen() -> None:
    written, shorter = candidate("written", 0.5, 3, 900), candidate("shorter", 0.5, 3, 200)
    assert choose([written, shorter], "written") == written
    cheaper, better = candidate("cheaper", 0.5, 2), candidate("better", 0.6, 5)
    assert choose([written, cheaper], "written") == cheaper
    assert choose([written, better], "written") == better


@pytest.mark.parametrize(
    ("own", "others", "won", "lost", "clear"),
    [
        ([1, 1, 0, 1], [1, 0, 1, 0], 2, 1, False),
        ([1.0] * 12, [0.5] * 12, 12, 0, True),
        ([1, 0], [1, 0], 0, 0, False),
    ],
)
def test_what_is_won_and_lost_against_the_program_as_written(
    tmp_path: Path, own: list[float], others: list[float], won: int, lost: int, clear: bool
) -> None:
    candidates = Candidates(tmp_path)
    for key, scores in (("chosen", own), ("written", others)):
        for number, score in enumerate(scores):
            candidates.score(key, str(number), score, 3)
    gain = candidates.gain("chosen", "written", [str(number) for number in range(len(own))])
    assert (gain.won, gain.lost, gain.scored, gain.is_clear) == (won, lost, len(own), clear)
    assert gain.to_json()["p"] == pytest.approx(gain.p, abs=1e-6)


def test_no_candidates_are_an_error() -> None:
    with pytest.raises(UserError, match="larger budget"):
        choose([])


ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12)


@given(rows=ROWS)
def test_the_front_has_exactly_the_candidates_that_are_not_dominated(rows: list[tuple[int, int, int]]) -> None:
    given_ = [candidate(str(n), score / 5, calls, size) for n, (score, calls, size) in enumerate(rows)]
    front = pareto_front(given_)

    def worth(one: CandidateProgram) -> tuple[float, tuple[float, int]]:
        return one.score, (one.calls, one.size)

    for one in given_:
        beaten = any(
            other.score >= one.score and worth(other)[1] <= worth(one)[1] and worth(other) != worth(one)
            for other in given_
        )
        assert (worth(one) in map(worth, front)) is not beaten
    assert choose(given_).score == max(one.score for one in given_)
