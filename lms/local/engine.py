"""The engine of embedded models: `local/smollm2`, models distilled from it, and any GGUF file."""

from __future__ import annotations

import functools
import hashlib
import json
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field

from dspy.lm15 import Request, Response

from triplecheck.lms.engines import Shared, code_hash, messages_of, reply
from triplecheck.lms.local.backend import Backend, Generated, GenerationRequest, LocalConfig
from triplecheck.lms.local.form import as_numbers, fields_of, shown
from triplecheck.lms.local.weights import Weights, find_weights


@dataclass
class _Job:
    prompt: GenerationRequest
    future: Future[Generated] = field(default_factory=Future)


class MicroBatcher:
    """One worker thread that batches waiting prompts, up to `size` with equal keys.

    The daemon thread starts with the first request.
    """

    def __init__(self, backend: Backend, size: int, wait: float) -> None:
        self.backend = backend
        self._size = max(1, size)
        self._wait = wait
        self._waiting: queue.Queue[_Job] = queue.Queue()
        self._put_back: list[_Job] = []
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, prompt: GenerationRequest) -> Future[Generated]:
        """Queue a prompt; the future holds the completion or the error."""
        with self._lock:
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._run, name="embedded-model", daemon=True)
                self._worker.start()
        job = _Job(prompt)
        self._waiting.put(job)
        return job.future

    def _run(self) -> None:
        while True:
            self._answer(self._collect())

    def _collect(self) -> list[_Job]:
        """The next job, and those with the same key that arrive within the waiting time."""
        first = self._put_back.pop(0) if self._put_back else self._waiting.get()
        batch = [first]
        others = [job for job in self._put_back if job.prompt.goes_with == first.prompt.goes_with]
        for job in others[: self._size - 1]:
            self._put_back.remove(job)
            batch.append(job)
        until = time.monotonic() + self._wait
        while len(batch) < self._size:
            try:
                job = self._waiting.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            fits = job.prompt.goes_with == first.prompt.goes_with
            (batch if fits else self._put_back).append(job)
        return batch

    def _answer(self, batch: list[_Job]) -> None:
        try:
            results = self.backend.generate([job.prompt for job in batch])
        except BaseException as error:  # noqa: BLE001 - the worker continues; each caller gets the error
            results = [error if isinstance(error, Exception) else RuntimeError(repr(error))] * len(batch)
        for job, result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                job.future.set_exception(result)
            else:
                job.future.set_result(result)


class LocalEngine(Shared):
    """Runs embedded models; one engine serves all of them, by the model of each request.

    A model is loaded at its first request and stays in memory. Fine-tuning can reuse the engine with a new model id.
    Concurrent requests for the same model are batched.

    Raises (from `complete`):
        ModelUnavailableError: the weights or a library are missing.
        dspy.lm15.ContextLengthError: the prompt does not fit.
    """

    def __init__(self, config: LocalConfig | None = None) -> None:
        self.config = config or LocalConfig()
        self._lock = threading.Lock()
        self._loaded: dict[str, MicroBatcher] = {}

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of the configuration and of this code; the hash of the weights is in each model's id."""
        settings = json.dumps(self.config.reply_settings(), sort_keys=True)
        return hashlib.sha256(f"{settings}:{code_hash(__file__)}".encode()).hexdigest()[:12]

    def model_id(self, model: str) -> str:
        """The id under which DSPy knows a model: its name, `@`, and a hash of weights, adapter and settings.

        Raises:
            ModelUnavailableError: the model does not exist.
        """
        weights = find_weights(model)
        digest = hashlib.sha256(f"{weights.fingerprint}:{self.fingerprint}".encode()).hexdigest()[:12]
        return f"{weights.name}@{digest}"

    def complete(self, request: Request) -> Response:
        """Answer one request; called from many threads."""
        prompt = self._prompt(request)
        written = self._load(request.model).submit(prompt).result()
        return reply(
            request,
            as_numbers(prompt.fields, written.text),
            prompt_tokens=written.prompt_tokens,
            completion_tokens=written.completion_tokens,
            finish_reason=written.finish_reason,
            reused_tokens=written.reused_tokens,
        )

    def _load(self, model_id: str) -> MicroBatcher:
        with self._lock:
            if model_id not in self._loaded:
                backend = load_backend(find_weights(model_id), self.config)
                self._loaded[model_id] = MicroBatcher(backend, self.config.batch_size, self.config.batch_wait)
            return self._loaded[model_id]

    def _prompt(self, request: Request) -> GenerationRequest:
        settings = request.config
        messages = tuple((message["role"], message["content"]) for message in messages_of(request))
        return GenerationRequest(
            messages=shown(messages) if self.config.guided else messages,
            max_new_tokens=settings.max_tokens or self.config.max_new_tokens,
            temperature=settings.temperature or 0.0,
            top_p=1.0 if settings.top_p is None else settings.top_p,
            seed=settings.seed,
            stop=tuple(dict.fromkeys([*self.config.stop, *settings.stop])),
            fields=tuple(fields_of(messages)) if self.config.guided else (),
        )


def load_backend(weights: Weights, config: LocalConfig) -> Backend:
    """Load a model with the library that the configuration names.

    Raises:
        ModelUnavailableError: the library is not installed, or cannot run these weights.
    """
    if config.backend == "llama.cpp":
        from triplecheck.lms.local.llama_cpp_backend import LlamaCppBackend

        return LlamaCppBackend(weights, config)
    from triplecheck.lms.local.transformers_backend import TransformersBackend

    return TransformersBackend(weights, config)
