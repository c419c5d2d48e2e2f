"""A program that processes can open by name, and that kills the one that it is in."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, ClassVar

from eval_parts import Asking

from triplecheck.programs import Outcome
from triplecheck.programs.steps import Trace


class Deadly(Asking):
    """`killonce` kills the process the first time, `kill` each time."""

    name: ClassVar[str] = "deadly"

    def __init__(self, sources: Any, *, folder: str, asks: bool = False, **switches: Any) -> None:
        super().__init__(sources, **switches)
        self.folder = folder
        self.asks = asks

    def run(self, question: str, trace: Trace) -> Outcome:
        with (Path(self.folder) / "asked").open("a") as asked:
            asked.write(f"{os.getpid()} {question}\n")
        words, once = question.split(), Path(self.folder) / "killed"
        first = "killonce" in words and not once.exists()
        if first:
            once.touch()
        if first or "kill" in words:
            time.sleep(0.2)  # so that others are under way beside it
            os.kill(os.getpid(), signal.SIGKILL)
        if self.asks:
            return super().run(question, trace)
        return super(Asking, self).run(question, trace)
