"""A program that processes can open by name, and that kills the one that it is in."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from eval_parts import Asking, AskingOptions

from triplecheck.programs import Outcome, ProgramOptions
from triplecheck.programs.steps import Trace


@dataclass(frozen=True)
class DeadlyOptions(AskingOptions):
    folder: str = ""
    asks: bool = False


class Deadly(Asking):
    """`killonce` kills the process the first time, `kill` each time; `wait` waits until there is a file `gone`.

    A process whose own node is gone waits on until it is killed: it may live a moment longer than its node.
    """

    name: ClassVar[str] = "deadly"

    Options: ClassVar[type[ProgramOptions]] = DeadlyOptions
    options: DeadlyOptions

    def run(self, question: str, trace: Trace) -> Outcome:
        with (Path(self.options.folder) / "asked").open("a") as asked:
            asked.write(f"{os.getpid()} {question}\n")
        words, once, node = question.split(), Path(self.options.folder) / "killed", os.getppid()
        first = "killonce" in words and not once.exists()
        if first:
            once.touch()
        if first or "kill" in words:
            time.sleep(0.2)  # so that others are under way beside it
            os.kill(os.getpid(), signal.SIGKILL)
        while "wait" in words and not ((Path(self.options.folder) / "gone").exists() and os.getppid() == node):
            time.sleep(0.02)
        if self.options.asks:
            return super().run(question, trace)
        return super(Asking, self).run(question, trace)
