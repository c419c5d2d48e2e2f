"""What a ranker of paths is worth that was trained without known answers: on traces that samples and graph agree on.

    triplecheck collect kerag --lm MODEL --samples 3 --out traces
    python -m bench.agreement traces --out runs/agreement

Of the questions that `collect` asked, those are kept for which more than half of the samples prove the same answer (of
one sample: those with a proof); the known answers are not looked at. Rankers trained on them, on the same questions
with known answers, and on all that were asked are compared with the general ranker on other questions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question, bundled_questions, read_questions, sampled
from triplecheck.evals.runner import evaluate
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.optimize.distil.graph_ranker import RankerOptions, train_ranker
from triplecheck.optimize.distil.trace_ranker import answered_questions, distil_ranker
from triplecheck.optimize.traces import VERIFIED, read_traces
from triplecheck.optimize.traces.assembly import Pass, Selection, assemble
from triplecheck.optimize.traces.records import read_records
from triplecheck.programs import KERAG, Sources


def main() -> None:
    """Train, measure and print; everything is in `--out`, where an interrupted run goes on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, help="directory that `triplecheck collect --samples N` wrote")
    parser.add_argument("--kb", type=Path, help="knowledge base of the traces; default: the bundled one")
    parser.add_argument("--questions", type=Path, help="the questions that were asked; default: the bundled ones")
    parser.add_argument("--test", type=Path, nargs="*", help="default: the bundled dev and test questions")
    parser.add_argument("--part", choices=("train", "dev"), help="measure on one half of the test questions")
    parser.add_argument("--limit", type=int, help="questions of a test file")
    parser.add_argument("--minutes", type=float, default=5.0, help="for the training of one ranker")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    kb = KnowledgeBase.open(asked.kb or "bundled")
    questions = read_questions(asked.questions or bundled_questions("train"))
    tests: dict[str, Sequence[Question]] = {}
    for file in asked.test or [bundled_questions("dev"), bundled_questions("test")]:
        half = [one for one in read_questions(file) if asked.part is None or one.part == asked.part]
        tests[file.name.partition(".")[0]] = half if asked.limit is None else sampled(half, asked.limit, 0)
    asked.out.mkdir(parents=True, exist_ok=True)
    found = compare(kb, asked.traces, questions, tests, RankerOptions(minutes=asked.minutes), asked.out)
    (asked.out / "agreement.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(json.dumps(found, indent=1))


def compare(
    kb: KnowledgeBase,
    traces: Path,
    questions: Sequence[Question],
    tests: dict[str, Sequence[Question]],
    options: RankerOptions,
    out: Path,
) -> dict[str, Any]:
    """The agreement, and for each way of training Hits@1 of KERAG on each set of questions.

    Args:
        kb: the graph of the traces.
        traces: of one model, several samples; only read.
        questions: with known answers; those are used that were asked.
        tests: to measure on; those that were asked are left out.
        options: of the training.
        out: the rankers and evaluations.
    """
    folders = sorted(traces.glob("sample-*")) or [traces / VERIFIED]
    passes = [Pass(folder.name, folder) for folder in folders if folder.is_dir()]
    if not passes:
        raise UserError(f"{traces}: holds no samples; `triplecheck collect --samples 3` writes them")
    recorded = {id for one in passes for id in read_records(one.folder, [question.id for question in questions])}
    questions = [question for question in questions if question.id in recorded]
    how = Selection(verify="agreement", agree=len(passes) // 2 + 1)
    assemble(out, "kerag", questions, passes, how)
    rows = read_traces(out)
    agreed = answered_questions(rows)
    known = {question.question: question for question in questions}
    same = [known[one.question] for one in agreed if one.question in known]

    def on_graph(taught: Sequence[Question], name: str) -> Path:
        return train_ranker(kb, taught, out / name, options).path

    def on_traces() -> Path:
        file = out / "traces.safetensors"
        distil_ranker(rows, file)
        return file

    ways: dict[str, tuple[int, Callable[[], Path]]] = {
        "general ranker": (0, lambda: GENERAL),
        "answers agreed on": (len(agreed), partial(on_graph, agreed, "agreed")),
        "the same questions, known answers": (len(same), partial(on_graph, same, "same")),
        "all questions asked, known answers": (len(questions), partial(on_graph, questions, "all")),
        "steps of the traces, without the graph": (len(agreed), on_traces),
    }
    kept = {row.id for row in rows}
    records = read_records(passes[0].folder, [question.id for question in questions])
    result: dict[str, Any] = {
        "samples": len(passes),
        "asked": len(questions),
        "kept": len(kept),
        "right": sum(bool(records[id].right) for id in kept),
        "rankers": {},
    }
    texts = {question.question for question in questions}
    for name, (count, train) in ways.items():
        scores: dict[str, Any] = {"questions": count}
        try:
            ranker = train()
        except UserError as error:
            result["rankers"][name] = scores | {"not trained": str(error)}
            continue
        scores["held_out"] = load_ranker(ranker).about.get("held_out")
        program = KERAG(Sources(kb.graph, kb.linker, kb.relation_vectors, kb, ranker))
        for test, some in tests.items():
            unseen = [one for one in some if one.question not in texts]
            place = out / "runs" / f"{name} {test}".replace(" ", "-")
            summary = evaluate(
                program, unseen, place, roles="extractive", knowledge_base=kb, settings={"ranker": ranker.name}
            )
            scores[test] = {"n": len(unseen), "hits_at_1": summary.scores.hits_at_1, "f1": summary.scores.f1}
        result["rankers"][name] = scores
        print(name, json.dumps(scores), flush=True)
    return result


if __name__ == "__main__":
    main()
