"""A process that imports once, and for each line that it reads forks one that compiles, and may be killed on the way.

`python killed_compiling.py KB`, then lines `[OUT, OPTIMIZER, LOG, STAGE]` in JSON; the exit status of each fork is
printed.
The model writes a line into LOG for each call. The process is killed when STAGE begins: without an optimizer a stage of
`tune`, with one the call after a few scores; any other STAGE lets it end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from dspy.lm15 import Request, Response
from optimize_parts import PUPIL, WRITER, Pupil, Writer, engines, kerag, plan, small_split

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Roles
from triplecheck.optimize.compile import compile_program
from triplecheck.optimize.tuning.run import tune
from triplecheck.optimize.tuning.tries import TunePlan

SETTINGS = {
    "LabeledFewShot": {"demos": 1},
    "BootstrapFewShotWithRandomSearch": {"candidates": 2, "demos": 1},
    "MIPROv2": {"candidates": 2, "trials": 2, "demos": 1},
    "GEPA": {"rounds": 4, "batch": 2},
}
SCORED = "scored"
RECORDING, TRYING, DECIDING = "recording calls", "demonstrations of summarize", "measuring on test questions"


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.is_file() else 0


class Logged(Pupil):
    """A pupil that logs each call."""

    def __init__(self, out: Path, log: Path, stage: str) -> None:
        super().__init__()
        self.out, self.log, self.stage = out, log, stage

    def complete(self, request: Request) -> Response:
        with self.log.open("a") as log:
            log.write("call\n")
        if self.stage == SCORED and lines(self.out / "scores.jsonl") >= 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().complete(request)


def compiled(kb: str, out: str, optimizer: str, log: str, stage: str) -> None:
    def progress(what: str, done: int, total: int | None) -> None:
        if what == stage:
            os.kill(os.getpid(), signal.SIGKILL)

    base = KnowledgeBase.open(kb)
    with engines(pupil=Logged(Path(out), Path(log), stage), writer=Writer()):
        if optimizer:
            teacher = None if optimizer in ("GEPA", "LabeledFewShot") else "extractive"
            given = plan(base, optimizer, prompt_model=WRITER, settings=SETTINGS[optimizer], teacher=teacher)
            compile_program(given, out, knowledge_base=base)
        else:
            asked = TunePlan(kerag(base), small_split(3, 6, 2), Roles(PUPIL), students=())
            tune(asked, out, knowledge_base=base, progress=progress)


def main(kb: str) -> None:
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            compiled(kb, *json.loads(line))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
