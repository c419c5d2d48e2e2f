"""KERAG on a GGUF file with and without kept prompt beginnings: `python -m bench.prefixes llama.cpp/FILE.gguf`.

The baseline names the topics, so that each question reaches the steps of the model: paths, then the answer.
"""

from __future__ import annotations

import argparse
import time

import dspy

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.kg.knowledge_base import open_bundled
from triplecheck.kg.progress import no_progress
from triplecheck.lms import Roles, language_model, session
from triplecheck.programs import Sources, resolve_program

_LONGEST_REPLY = 160
"""Tokens, so that a reply without an end does not hide the difference."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.prefixes")
    parser.add_argument("model", help="llama.cpp/FILE.gguf, with settings after `?` such as threads=2")
    parser.add_argument("--questions", type=int, default=2)
    asked = parser.parse_args()
    program = resolve_program("kerag")(Sources.of(open_bundled(None, no_progress)))
    questions = [one for one in read_questions(bundled_questions("dev")) if one.hops == 2][: asked.questions]
    models = {}
    for memory in (0, 1024):
        name = f"{asked.model}{'&' if '?' in asked.model else '?'}prefix_memory={memory}"
        models[memory] = language_model(name, cache=False, max_tokens=_LONGEST_REPLY)
        models[memory]("Hello", max_tokens=1)  # loads it
    print("question | prefix memory | calls | prompt tokens | evaluated | written | seconds | CPU seconds")
    for question in questions:
        for memory, lm in models.items():
            started, cpu, before = time.perf_counter(), time.process_time(), len(lm.history)
            with session(Roles(lm, link="extractive", extract="extractive")), dspy.context(max_history_size=10_000):
                try:
                    answer = program(question=question.question).answer
                except Exception as error:  # noqa: BLE001 - the model's mistakes are not measured here
                    answer = type(error).__name__
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
            usages = [entry["usage"] for entry in lm.history[before:]]
            prompt = sum(usage["prompt_tokens"] for usage in usages)
            reused = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
            written = sum(usage["completion_tokens"] for usage in usages)
            print(
                f"{question.question} -> {answer} | {memory} MiB | {len(usages)} | {prompt} | {prompt - sum(reused)} "
                f"{[usage['prompt_tokens'] - one for usage, one in zip(usages, reused, strict=True)]} | {written} | "
                f"{seconds:.1f} | {cpu:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
