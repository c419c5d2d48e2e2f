"""A process that compiles without an optimizer and ends by SIGKILL at a stage, in a fork for each line that it reads.

`python killed_tunes.py KB`, then lines `OUT LOG STAGE`: the model writes a line into LOG for each call, and the process
is killed when STAGE begins; a STAGE that there is none of lets it end. Modules are imported once.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from killed_compiles import Slow
from optimize_parts import PUPIL, engines, kerag, small_split

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Roles
from triplecheck.optimize.tuning.run import tune
from triplecheck.optimize.tuning.tries import TunePlan

RECORDING, TRYING, DECIDING = "recording calls", "demonstrations of summarize", "measuring on test questions"


def compiled(kb: str, out: str, log: str, stage: str) -> None:
    def progress(what: str, done: int, total: int | None) -> None:
        if what.replace(" ", "_") == stage:
            os.kill(os.getpid(), signal.SIGKILL)

    pupil, base = Slow(), KnowledgeBase.open(kb)
    pupil.log, pupil.seconds = Path(log), 0
    plan = TunePlan(kerag(base), small_split(3, 6, 2), Roles(PUPIL), students=())
    with engines(pupil=pupil):
        tune(plan, out, knowledge_base=base, progress=progress)


def main(kb: str) -> None:
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            compiled(kb, *line.split())
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
