"""A process that imports once, and for each line that it reads forks one that compiles slowly, for a test to kill.

A line is `KB OUT OPTIMIZER LOG SECONDS` as a JSON array. The forked process's id is printed, then its exit status.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from dspy.lm15 import Request, Response
from optimize_parts import WRITER, Pupil, Writer, engines, plan

from triplecheck.kg import KnowledgeBase
from triplecheck.optimize.compile import compile_program

SETTINGS = {
    "LabeledFewShot": {"demos": 1},
    "BootstrapFewShotWithRandomSearch": {"candidates": 2, "demos": 1},
    "MIPROv2": {"candidates": 2, "trials": 2, "demos": 1},
    "GEPA": {"rounds": 4, "batch": 2},
}


class Slow(Pupil):
    """A slow pupil that logs each call."""

    log: Path
    seconds: float

    def complete(self, request: Request) -> Response:
        with self.log.open("a") as log:
            log.write("call\n")
        time.sleep(self.seconds)
        return super().complete(request)


def main(kb: str, out: str, optimizer: str, log: str, seconds: str = "0") -> None:
    """Compile with a pupil that takes some seconds for each call."""
    pupil = Slow()
    pupil.log, pupil.seconds = Path(log), float(seconds)
    base = KnowledgeBase.open(kb)
    teacher = None if optimizer in ("GEPA", "LabeledFewShot") else "extractive"
    given = plan(base, optimizer, prompt_model=WRITER, settings=SETTINGS[optimizer], teacher=teacher)
    with engines(pupil=pupil, writer=Writer()):
        compile_program(given, out, knowledge_base=base)


def serve() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            main(*json.loads(line))
            os._exit(0)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
