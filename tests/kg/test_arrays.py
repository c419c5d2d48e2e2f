"""Array helpers against their plain counterparts, and arrays in files."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.kg._arrays import (
    bisect_ranges,
    concat_ranges,
    distinct,
    load_array,
    positions_in_runs,
    smallest_unsigned,
    used,
)

small = st.integers(0, 9)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6))))
def test_concatenated_ranges_are_those_ranges_one_after_another(ranges: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in ranges], np.int64)
    stops = np.array([start + length for start, length in ranges], np.int64)
    assert concat_ranges(starts, stops).tolist() == [i for start, n in ranges for i in range(start, start + n)]


@pytest.mark.parametrize("side", ["left", "right"])
@given(st.lists(st.tuples(st.lists(small, max_size=12), small)))
def test_bisecting_many_slices_is_searching_each(side: str, slices: list[tuple[list[int], int]]) -> None:
    values = np.array([v for part, _ in slices for v in sorted(part)], np.uint8)
    lengths = np.array([len(part) for part, _ in slices], np.int64)
    stops = np.cumsum(lengths)
    starts = stops - lengths
    targets = np.array([target for _, target in slices], np.int64)
    found = bisect_ranges(values, starts, stops, targets, side)
    assert found.tolist() == [
        start + np.searchsorted(values[start:stop], target, side)
        for start, stop, target in zip(starts, stops, targets, strict=True)
    ]


@given(st.lists(small))
def test_distinct_values_are_sorted_and_single(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


@given(st.lists(small))
def test_used_codes_are_flagged(codes: list[int]) -> None:
    assert np.flatnonzero(used(np.array(codes, np.int64), 10)).tolist() == sorted(set(codes))


@given(st.lists(st.integers(1, 4)))
def test_positions_restart_in_each_run(lengths: list[int]) -> None:
    keys = np.repeat(np.arange(len(lengths)), lengths)
    assert positions_in_runs(keys).tolist() == [i for n in lengths for i in range(n)]


@pytest.mark.parametrize(
    ("maximum", "dtype"), [(0, np.uint8), (255, np.uint8), (256, np.uint16), (65536, np.uint32), (2**32, np.uint64)]
)
def test_the_narrowest_type_for_a_number_is_used(maximum: int, dtype: type) -> None:
    assert smallest_unsigned(maximum) == dtype


@pytest.fixture
def threads_change_often() -> Iterator[None]:
    """Other threads run at each of the collector's passes, which come anywhere."""

    def let_others_run(*_: object) -> None:
        time.sleep(1e-5)

    before = gc.get_threshold()
    gc.callbacks.append(let_others_run)
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(let_others_run)


@pytest.mark.usefixtures("threads_change_often")
def test_several_threads_open_files_at_once(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(10))
    sums: list[int] = []

    def read() -> None:
        sums.extend(int(load_array(tmp_path / "a.npy", mmap_mode="r").sum()) for _ in range(200))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [45] * 800
