"""The engine of a trained reader: it answers the answering step, and leaves all other steps to the rules."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from pathlib import Path

from dspy.lm15 import Request, Response

from triplecheck.kg.encode import Encoder
from triplecheck.kg.errors import UserError
from triplecheck.lms.engines import Shared, code_hash, in_fields, messages_of
from triplecheck.lms.extractive.engine import ExtractiveEngine
from triplecheck.lms.prompt import ForeignPromptError, Prompt, read_request
from triplecheck.lms.reader.model import Reader, load_reader
from triplecheck.lms.reader.readings import readings
from triplecheck.signatures import AnswerFromFacts


class ReaderEngine(Shared):
    """Answers `AnswerFromFacts` with the likeliest reading of the facts, and other steps by rules.

    Raises:
        UserError: the folder holds no reader.
    """

    def __init__(self, folder: Path, rules: ExtractiveEngine) -> None:
        self._reader = load_reader(folder)
        self._folder = folder
        self._rules = rules

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of this code, the rules and all weights, for DSPy's cache."""
        parts = f"{self._rules.fingerprint}:{self._reader.fingerprint}:{code_hash(__file__)}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            InvalidRequestError: the prompt is of no step of this project.
            UserError: the reader was trained with another sentence encoder.
        """
        prompt = read_request([(message["role"], message["content"]) for message in messages_of(request)])
        try:
            prompt.step((AnswerFromFacts,))
        except ForeignPromptError:
            return self._rules.complete(request)
        encoder = self._rules.encoder
        if encoder.fingerprint != self._reader.encoder:
            raise UserError(
                f"{self._folder}: this reader was trained with another sentence encoder than {encoder.name}; train it "
                "again"
            )
        return in_fields(request, reply_of(self._reader, replace(prompt, language=self._rules.language), encoder))


def reply_of(reader: Reader, prompt: Prompt, encoder: Encoder) -> dict[str, object]:
    """The reply of a reader to a prompt, by output field."""
    return reader.choose(readings(prompt, encoder.encode, reader.ranker)).conclusion.fields()
