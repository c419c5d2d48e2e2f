"""The forms in which a model is asked the answering step, and its replies in them, which are kept in a file."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dspy.utils.exceptions import AdapterParseError

from triplecheck.evals.run_directory import JsonLines, complete_lines
from triplecheck.lms import TolerantAdapter
from triplecheck.lms.local.backend import Backend, Generated, GenerationRequest, LocalConfig
from triplecheck.lms.local.form import as_numbers, fields_of, shown
from triplecheck.lms.predict import as_shown
from triplecheck.lms.values import numbered_lists
from triplecheck.optimize.traces import TraceRow
from triplecheck.signatures import AnswerFromFacts, Step, demonstrations, without_reasoning


@dataclass(frozen=True)
class Form:
    """How the answering step is asked.

    Attributes:
        name: in reports.
        reasons: whether the model reasons before it answers.
        examples: whether the prompt has the worked examples of the step.
        adapted: whether the adapter is used.
    """

    name: str
    reasons: bool = True
    examples: bool = True
    adapted: bool = False

    @property
    def step(self) -> type[Step]:
        """The signature."""
        return AnswerFromFacts if self.reasons else without_reasoning(AnswerFromFacts)

    def prompt(self, inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """The messages, as `lms.RolePredict` sends them to an embedded engine."""
        demos = [as_shown(self.step, demo) for demo in demonstrations(AnswerFromFacts)] if self.examples else []
        given = dict(inputs) | numbered_lists(self.step.input_fields, inputs)
        messages = TolerantAdapter().format(self.step, demos, given)
        return tuple((str(message["role"]), str(message["content"])) for message in messages)


BASE = Form("base prompt", reasons=False)
CHAIN = Form("chain of thought")
BASE_BARE = Form("base prompt, no examples", reasons=False, examples=False)
CHAIN_BARE = Form("chain of thought, no examples", examples=False)
TUNED = Form("fine-tuned", examples=False, adapted=True)
TUNED_BASE = Form("fine-tuned, base prompt", reasons=False, examples=False, adapted=True)
LEFT_OUT = Form("fine-tuned without this graph", examples=False, adapted=True)
LEFT_OUT_BASE = Form("fine-tuned without this graph, base prompt", reasons=False, examples=False, adapted=True)


@dataclass(frozen=True)
class Reply:
    """What a model replied.

    Attributes:
        text: of the reply.
        outputs: by field; None: not readable.
        finished: whether it ended by itself.
        tokens: of prompt and reply.
        prefix: of the prompt alone.
    """

    text: str
    outputs: Mapping[str, Any] | None
    finished: bool
    tokens: int
    prefix: int


TEMPERATURE = 0.7
"""Of samples."""


def replies(
    writer: Backend,
    form: Form,
    rows: Sequence[TraceRow],
    batch: int,
    sample: int = 0,
    tell: Callable[[int], None] | None = None,
    until: float | None = None,
) -> list[Reply | None]:
    """A model's reply to each row, in order. A batch has prompts of similar length.

    Args:
        batch: prompts at a time.
        sample: number of the sample; 0: greedily.
        tell: called with the number of replies, rounded up to whole batches.
        until: no batch starts after this time (`time.monotonic`), so the replies are those to random batches; None: no
            limit.

    Returns:
        None for a prompt that is too long, and for those that there was no time for.
    """
    requests = [_request(form, row, sample) for row in rows]
    found: list[Reply | None] = [None] * len(rows)
    order = sorted(range(len(rows)), key=lambda at: sum(len(text) for _, text in requests[at].messages))
    batches = [order[start : start + batch] for start in range(0, len(order), batch)]
    random.Random(0).shuffle(batches)
    for done, chosen in enumerate(batches, start=1):
        if until is not None and time.monotonic() > until:
            break
        for at, result in zip(chosen, writer.generate([requests[at] for at in chosen]), strict=True):
            found[at] = None if isinstance(result, Exception) else _reply(form, requests[at], result)
        if tell is not None:
            tell(min(done * batch, len(order)))
    return found


def _request(form: Form, row: TraceRow, sample: int) -> GenerationRequest:
    messages, config = form.prompt(row.inputs), LocalConfig()
    return GenerationRequest(
        messages=shown(messages),
        max_new_tokens=config.max_new_tokens,
        temperature=TEMPERATURE if sample else 0.0,
        top_p=1.0,
        seed=sample,
        stop=config.stop,
        fields=tuple(fields_of(messages)),
    )


def _reply(form: Form, request: GenerationRequest, written: Generated) -> Reply:
    text = as_numbers(request.fields, written.text)
    try:
        outputs: Mapping[str, Any] | None = TolerantAdapter().parse(form.step, text)
    except AdapterParseError:
        outputs = None
    tokens = written.prompt_tokens + written.completion_tokens
    return Reply(text, outputs, written.finish_reason == "stop", tokens, written.prompt_tokens)


class KeptBackend:
    """A backend that keeps each completion in a file, so that an interrupted run asks for none again.

    Args:
        backend: writes what is not in the file.
        path: of the file, JSON lines; it may have completions of other models.
        model: what its completions depend on besides the request, such as a hash of the weights.

    Attributes:
        seconds: what the returned completions took, also those of an earlier run.
    """

    def __init__(self, backend: Backend, path: Path, model: str) -> None:
        self._backend, self._model, self.seconds = backend, model, 0.0
        self._known = {str(line["key"]): line for _, line in complete_lines(path) if line is not None}
        self._file = JsonLines(path)

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        """Complete prompts; errors are not kept. See `Backend.generate`."""
        keys = [self._key(prompt) for prompt in prompts]
        todo = [at for at, key in enumerate(keys) if key not in self._known]
        begun = time.monotonic()
        written = self._backend.generate([prompts[at] for at in todo]) if todo else []
        share = (time.monotonic() - begun) / max(1, len(todo))
        failed: dict[int, Exception] = {}
        for at, result in zip(todo, written, strict=True):
            if isinstance(result, Exception):
                failed[at], self.seconds = result, self.seconds + share
            else:
                line = {"key": keys[at], "seconds": round(share, 3), "completion": asdict(result)}
                self._known[keys[at]] = line
                self._file.append(line)
        return [failed[at] if at in failed else self._of(key) for at, key in enumerate(keys)]

    def _of(self, key: str) -> Generated:
        line = self._known[key]
        self.seconds += line["seconds"]
        return Generated(**line["completion"])

    def _key(self, prompt: GenerationRequest) -> str:
        text = json.dumps([self._model, asdict(prompt)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def __enter__(self) -> KeptBackend:
        self._file.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.__exit__(*problem)
