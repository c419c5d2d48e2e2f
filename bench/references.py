"""What a query with related entities (Know³-RAG, section 4.3, q_KG) adds to a search of passages, without any model.

    python -m bench.references KB QUESTIONS [FIELD]

For the questions of each value of FIELD it prints how many different passages a search by words finds per question,
and for which share of the questions an answer stands in one of them. Questions for yes or no are left out.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from triplecheck import KnowledgeBase
from triplecheck.evals.questions import Question, read_questions
from triplecheck.kg import Words, normalize
from triplecheck.programs import Sources
from triplecheck.programs.know3rag.generation import Corpus, Reference
from triplecheck.programs.know3rag.program import Know3RAG, Turn
from triplecheck.programs.know3rag.reliability import Reliability
from triplecheck.programs.steps import Trace

NOTHING_YET = Turn("", Reliability((), math.inf))


def has_answer(references: Sequence[Reference], question: Question) -> bool:
    """Whether an answer stands word for word in a passage."""
    words = Words(*(reference.text for reference in references))
    return any(answer in words for answer in question.answers)


def main(kb: Path, questions: Path, field: str = "kind") -> None:
    """Print one line for each value of the field and each way to search."""
    sources = Sources.of(KnowledgeBase.open(kb))
    program = Know3RAG(sources)
    groups = defaultdict(list)
    for question in read_questions(questions):
        if not {normalize(answer) for answer in question.answers} & {"yes", "no"}:
            groups[str(question.extra.get(field, getattr(question, field, "")))].append(question)

    def with_entities(text: str) -> list[Reference]:
        query = program.query(text, [], NOTHING_YET, 1, Trace())
        return list({reference.key: reference for reference in program.passages.find(query)}.values())

    searches = {f"the question, {k} passages": Corpus(sources, "bm25", k).search for k in (5, 10)}
    searches |= {"5 for the question, 5 with related entities": with_entities}
    for group, asked in sorted(groups.items()):
        for how, search in searches.items():
            found = [search(question.question) for question in asked]
            passages, right = sum(map(len, found)) / len(asked), sum(map(has_answer, found, asked)) / len(asked)
            print(f"{group} ({len(asked)}), {how}: {passages:.1f} passages, answer in {right:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
