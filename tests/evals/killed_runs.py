"""A process that imports once, and for each line that it reads forks one that evaluates, for somebody to kill.

`python killed_runs.py KB OUT QUESTIONS LOG`: the forked process's id is printed; the program writes the question
into LOG before it answers slowly.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import ClassVar

from eval_parts import SILENT, OneHop, SilentEngine, run, sources

from triplecheck.evals import read_questions
from triplecheck.kg import KnowledgeBase
from triplecheck.lms import register_engine
from triplecheck.programs import Outcome
from triplecheck.programs.steps import Trace


class Logged(OneHop):
    """Logs what it is asked, then takes its time."""

    name: ClassVar[str] = "logged"
    log: ClassVar[Path]

    def run(self, question: str, trace: Trace) -> Outcome:
        with self.log.open("a") as log:
            log.write(question + "\n")
        time.sleep(0.03)
        return super().run(question, trace)


def main(kb: str, out: str, questions: str, log: str) -> None:
    register_engine(SILENT, SilentEngine())
    Logged.log = Path(log)
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            knowledge_base = KnowledgeBase.open(kb)
            program = Logged(sources(knowledge_base))
            run(knowledge_base, read_questions(questions), Path(out), program, workers=3)
            os._exit(0)
        print(pid, flush=True)
        os.waitpid(pid, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
