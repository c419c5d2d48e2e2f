"""Arrays in files."""

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from triplecheck.kg._arrays import load_array


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
