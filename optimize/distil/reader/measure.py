"""How well rules and readers read the facts of held-out questions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping

from triplecheck.kg.encode import Encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, load_ranker
from triplecheck.lms.prompt import Prompt
from triplecheck.lms.reader.model import Reader
from triplecheck.lms.reader.readings import readings
from triplecheck.lms.resolve import baseline_reply
from triplecheck.optimize.distil.lora.verify import first_is_right, problem_of_answer
from triplecheck.optimize.distil.reader.examples import without_answers
from triplecheck.optimize.distil.report import Score
from triplecheck.optimize.distil.tasks import Task
from triplecheck.optimize.distil.trace_ranker import prompt_of

RULES = "rules"
HITS, WHOLE, WITHHELD = "Hits@1", "all answers right", "withheld without the facts that answer"
"""What is scored: the first answer, all answers, and that nothing is answered where the facts do not tell it."""
_MOST = 200  # held-out rows of a task


def measured(
    task: Task,
    readers: Mapping[str, Reader],
    encoder: Encoder,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> list[Score]:
    """What some readers, by name, reply to a sample of the held-out rows of a task, beside the rules."""
    rows = random.Random(seed).sample(task.test, min(len(task.test), _MOST))
    general = load_ranker(GENERAL)

    def replies(prompt: Prompt) -> dict[str, dict[str, object]]:
        rankers = {reader.ranker.fingerprint: reader.ranker for reader in readers.values()}
        read = {name: readings(prompt, encoder.encode, ranker) for name, ranker in rankers.items()}
        chosen = {name: one.choose(read[one.ranker.fingerprint]).conclusion.fields() for name, one in readers.items()}
        return {RULES: baseline_reply(prompt, encoder, general), **chosen}

    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for done, row in enumerate(rows):
        progress(f"measuring {task.graph}", done, len(rows))
        prompt = prompt_of(row)
        for who, reply in replies(prompt).items():
            found[HITS, who].append(float(first_is_right(row, reply)))
            found[WHOLE, who].append(float(problem_of_answer(row, reply) is None))
        if (short := without_answers(prompt, row.outputs)) is not None:
            for who, reply in replies(short).items():
                found[WITHHELD, who].append(float(not reply["answers"] and reply["operation"] == "none"))
    scores = (
        Score.of(task.name, what, (RULES, found[what, RULES]), (who, found[what, who]))
        for what in (HITS, WHOLE, WITHHELD)
        for who in readers
    )
    return [score for score in scores if score is not None]
