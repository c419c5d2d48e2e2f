"""How a language model reads one fact alone: it should answer from it, and leave open what it does not say.

    python -m bench.single_facts openai/MODEL [WORKERS]

The facts are of the bundled graph: five for each of nine relations, each with a question that it answers, and four for
each of six relations, each with a question that it does not answer. The step is `AnswerFromFacts` with its worked
examples.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from triplecheck import KnowledgeBase
from triplecheck.kg import Direction, Graph
from triplecheck.lms import ModelReplyError, session
from triplecheck.programs.assists.doubts import answering_step

ANSWERED = {
    "date of birth": "When was {} born?",
    "place of birth": "Where was {} born?",
    "date of death": "When did {} die?",
    "population": "What is the population of {}?",
    "year of publication": "In which year was {} published?",
    "directed by": "Who directed {}?",
    "year of foundation": "When was {} founded?",
    "capital": "What is the capital of {}?",
    "nationality": "What nationality is {}?",
}
OPEN = {
    "When was {} born?": "nationality",
    "Where was {} born?": "date of birth",
    "When did {} die?": "date of birth",
    "In which year was {} published?": "author",
    "Who directed {}?": "year of release",
    "Who was the spouse of {}?": "place of birth",
}


class Item(NamedTuple):
    """A question about one thing, and the one fact in the prompt."""

    question: str
    thing: str
    fact: str
    answer: str
    """Empty: the fact does not answer the question."""


def items(graph: Graph) -> Iterator[Item]:
    """The questions with their facts, the same in each run. Things with several values of the relation are left out."""
    numbers = {graph.relation(number).label: number for number in range(graph.num_relations)}
    draw = random.Random(3)
    asked = [(relation, question, 5, True) for relation, question in ANSWERED.items()]
    asked += [(relation, question, 4, False) for question, relation in OPEN.items()]
    for relation, question, count, is_answered in asked:
        tails = {
            node: graph.expand([node], numbers[relation], Direction.OUT, 2).tails for node in range(graph.num_nodes)
        }
        for node in draw.sample([node for node, values in tails.items() if len(values) == 1], count):
            thing, value = graph.labels([node, int(tails[node][0])])
            yield Item(question.format(thing), thing, f"{thing} → {relation} → {value}", value if is_answered else "")


def main(model: str, workers: int = 4) -> None:
    """Ask all questions. Print the wrong replies and the number of right ones."""
    step, found = answering_step(), Counter[tuple[str, str]]()

    def ask(item: Item) -> tuple[Item, str]:
        try:
            with session(model):
                reply = step(question=item.question, topics=[item.thing], facts=[item.fact])
        except ModelReplyError:
            return item, "unreadable"
        given = ", ".join(reply.answers) or ("open" if reply.operation == "none" else reply.operation)
        return item, "right" if given == (item.answer or "open") else given

    with ThreadPoolExecutor(workers) as pool:
        for item, outcome in pool.map(ask, items(KnowledgeBase.open("bundled").graph)):
            kind = "answered by its fact" if item.answer else "not answered by its fact"
            found[kind, outcome if outcome in ("right", "unreadable") else "wrong"] += 1
            if outcome != "right":
                print(f"{item.question} {item.fact}: {outcome}")
    for (kind, outcome), count in sorted(found.items()):
        print(f"{kind}: {count} {outcome}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
