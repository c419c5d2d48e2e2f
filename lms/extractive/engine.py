"""The engine itself: from a request to a reply, by the output fields that are asked for."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dspy.lm15 import InvalidRequestError, Request, Response

from kg.encode import Encoder, load_encoder
from lms.engines import messages_of, reply
from lms.extractive.answers import answer_from_facts
from lms.extractive.paths import select_paths
from lms.extractive.prompt import Prompt, read_request
from lms.extractive.relevance import Encode
from lms.extractive.topics import name_topics
from lms.sections import COMPLETED, HEADER
from lms.values import render

_CHARACTERS_PER_TOKEN = 4
_MARKUP = re.compile(r"\[(?=\[)|<(?=/?think)", re.IGNORECASE)

Solver = Callable[[Prompt, Encode], dict[str, object]]
_SOLVERS: dict[tuple[str, ...], Solver] = {
    ("topics", "domain"): lambda prompt, _: name_topics(prompt),
    ("keep",): select_paths,
    ("reasoning", "cited", "operation", "answers"): answer_from_facts,
}


class ExtractiveEngine:
    """Answers the project's own signatures, recognised by their output fields.

    Args:
        encoder: makes the sentence vectors; the default one is loaded at the first call.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._given = encoder

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return self._given or load_encoder()

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of this code and of the encoder's weights: another engine must not be served its replies."""
        digest = hashlib.sha256(self._encoder.fingerprint.encode())
        here = Path(__file__).parent
        for path in (*sorted(here.glob("*.py")), here.parent / "sections.py", here.parent / "values.py"):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            InvalidRequestError: it is none of the project's steps.
        """
        messages = messages_of(request)
        prompt = read_request([m["content"] for m in messages if m["role"] == "user"])
        solver = _SOLVERS.get(prompt.outputs)
        if solver is None:
            known = "; ".join(", ".join(outputs) for outputs in _SOLVERS)
            raise InvalidRequestError(
                f"the extractive engine is no language model: it fills only the fields ({known}), "
                f"not ({', '.join(prompt.outputs) or 'none found'}); give this role a model"
            )
        outputs = solver(prompt, self._encoder.encode)
        text = "\n\n".join(f"{HEADER.format(name=name)}\n{_written(value)}" for name, value in outputs.items())
        text = f"{text}\n\n{COMPLETED}\n"
        size = sum(len(message["content"]) for message in messages)
        return reply(
            request,
            text,
            prompt_tokens=size // _CHARACTERS_PER_TOKEN,
            completion_tokens=len(text) // _CHARACTERS_PER_TOKEN,
        )

    def __copy__(self) -> ExtractiveEngine:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> ExtractiveEngine:
        """Optimizers copy LMs deeply; the encoder stays one."""
        return self


def _written(value: object) -> str:
    if isinstance(value, list):
        kind: Any = list[int] if value and isinstance(value[0], int) else list[str]
        return render(kind, value)
    # Names from a graph stand in the text: they must not pass for a header or for the end of a thought.
    return _MARKUP.sub(lambda mark: mark.group()[0] + " ", str(value))
