"""Who decides, the model or the assists: KERAG with a model that keeps the last path, and with gold replies.

    python -m bench.deciders DATA [LIMIT]

DATA is a folder of benchmarks (`evals.datasets.folder`). Each line has a set of questions and Hits@1 of four programs:
the last path of each list with and without assists (the other steps are those of `extractive`), and gold replies in all
roles with and without assists. Where a model that selects nonsense scores, code decides in its place.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dspy.lm15 import Request, Response

from triplecheck.evals import Question, evaluate
from triplecheck.evals.experiments.config import DataSpec
from triplecheck.evals.experiments.run import SetOpener
from triplecheck.lms import Roles, register_engine
from triplecheck.lms.engines import messages_of, reply
from triplecheck.lms.extractive import ExtractiveEngine
from triplecheck.lms.prompt import read_request
from triplecheck.optimize.traces.gold.engine import gold_engine
from triplecheck.programs import KERAG, Sources

LIMIT = 120
SETS = {
    "bundled test": (DataSpec(bundled="test"), 2),
    "World Cup 2014": (DataSpec(case="wc2014/dev", part="dev"), 2),
    "MetaQA": (DataSpec(case="metaqa/dev", part="dev"), 3),
    "PathQuestion": (DataSpec(case="fb13_pathquestion/dev", part="dev"), 3),
    "WebQSP": (DataSpec(case="fb15k237_freebaseqa/webqsp_train", part="dev"), 2),
}
"""The sets of questions, and how many hops their answers are away."""


class LastPath(ExtractiveEngine):
    """`extractive`, except that it keeps the last path of every list."""

    fingerprint = "last-path"

    def complete(self, request: Request) -> Response:
        prompt = read_request([(message["role"], message["content"]) for message in messages_of(request)])
        if "keep" not in prompt.outputs:  # of `SelectPaths` alone
            return super().complete(request)
        text = f"[[ ## keep ## ]]\n{len(prompt.items('paths'))}\n\n[[ ## completed ## ]]\n"
        return reply(request, text, prompt_tokens=0, completion_tokens=0)


def hits(program: KERAG, questions: Sequence[Question], model: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        found = evaluate(program, questions, roles=Roles(model), out=Path(folder) / "run")
    return float(found.scores.hits_at_1)


def main(data: str, limit: str = str(LIMIT)) -> None:
    register_engine("last-path", LastPath())
    opener = SetOpener(Path(data), Path("kbs"))
    print(f"{'':15} last path: all  none   gold: all  none")
    for name, (spec, hops) in SETS.items():
        opened = opener.open(name, spec, int(limit), 0)
        assert opened is not None
        sources = Sources.of(opened.knowledge_base)
        last = [hits(KERAG(sources, assist=assist), opened.questions, "last-path") for assist in ("all", "none")]
        gold = []
        for assist in ("all", "none"):
            program = KERAG(sources, assist=assist, hops=hops)
            with gold_engine(program, opened.questions) as (model, _):
                gold.append(hits(program, opened.questions, model))
        print(f"{name:15} {last[0]:14.3f} {last[1]:5.3f} {gold[0]:11.3f} {gold[1]:5.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
