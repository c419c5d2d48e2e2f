"""From a model string to a language model."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from triplecheck.kg.errors import UserError
from triplecheck.lms.engines import AsyncEngine, EmbeddedEngine
from triplecheck.lms.metering import MeteredLM

if TYPE_CHECKING:
    from triplecheck.lms.local.engine import LocalEngine

EXTRACTIVE = "extractive"
LOCAL, LLAMA_CPP = "local/", "llama.cpp/"

TIMEOUT = 120.0
"""Seconds to wait for a remote model."""
RETRIES = 3
"""Retries of a remote call after a rate limit, a timeout or a server error."""


class Resolver:
    """Creates and caches language models: one per model string, options and weights."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._models: dict[tuple[Any, ...], MeteredLM] = {}
        self._engines: dict[str, EmbeddedEngine] = {}
        self._extractive: EmbeddedEngine | None = None
        self._local: dict[str, LocalEngine] = {}

    def language_model(self, model: str, **options: Any) -> MeteredLM:
        """See the function of this name."""
        model = model.strip()
        with self._lock:
            if model in self._engines:
                return self._embedded(model, self._engines[model], options)
            if model == EXTRACTIVE:
                return self._embedded(model, self._the_extractive(), options)
            if model.startswith((LOCAL, LLAMA_CPP)):
                return self._local_model(model, options)
            options = _address(model) | options
            return self._kept((model,), options, lambda: self._remote(model, options))

    def register(self, name: str, engine: EmbeddedEngine) -> None:
        """See `register_engine`."""
        with self._lock:
            if name in self._engines or name == EXTRACTIVE:
                raise UserError(f"a model called {name!r} exists already: register the engine under another name")
            self._engines[name] = engine

    def unregister(self, name: str) -> None:
        """See `unregister_engine`."""
        with self._lock:
            self._engines.pop(name, None)
            for key in [key for key in self._models if key[0] == name]:
                del self._models[key]

    def _the_extractive(self) -> EmbeddedEngine:
        if self._extractive is None:
            from triplecheck.lms.extractive.engine import ExtractiveEngine

            self._extractive = ExtractiveEngine()
        return self._extractive

    def _local_model(self, model: str, options: dict[str, Any]) -> MeteredLM:
        from triplecheck.lms.local.backend import LocalConfig
        from triplecheck.lms.local.engine import LocalEngine

        backend, _, name = model.partition("/")
        if backend not in self._local:
            on_llama_cpp = LocalConfig(backend="llama.cpp")
            self._local[backend] = LocalEngine(on_llama_cpp if model.startswith(LLAMA_CPP) else LocalConfig())
        engine = self._local[backend]
        model_id = engine.model_id(LOCAL + name)
        return self._kept((model, model_id), options, lambda: _embed(model_id, engine, options))

    def _embedded(self, name: str, engine: EmbeddedEngine, options: dict[str, Any]) -> MeteredLM:
        return self._kept((name, id(engine)), options, lambda: _embed(f"{name}@{engine.fingerprint}", engine, options))

    def _remote(self, model: str, options: dict[str, Any]) -> MeteredLM:
        try:
            return MeteredLM(model, **{"timeout": TIMEOUT, "num_retries": RETRIES, **options})
        except ValueError as error:
            raise UserError(f"{model!r} is not a model string: {error}; write provider/model") from error

    def _kept(self, key: tuple[Any, ...], options: dict[str, Any], make: Callable[[], MeteredLM]) -> MeteredLM:
        full = (*key, *sorted((name, repr(value)) for name, value in options.items()))
        if full not in self._models:
            self._models[full] = make()
        return self._models[full]


def _embed(model_id: str, engine: EmbeddedEngine, options: dict[str, Any]) -> MeteredLM:
    # Errors inside this process are not transient: no retries.
    lm = MeteredLM(model_id, engine=engine, async_engine=AsyncEngine(engine), num_retries=0, **options)
    lm.general = False
    return lm


def _address(model: str) -> dict[str, str]:
    """The address that the environment names for an OpenAI-compatible server, and DSPy's own client for it.

    Through LiteLLM, as DSPy does by default, each call takes about 6 ms of CPU time instead of 1 to 2 ms: too much
    to saturate a server with 16 slots.
    """
    if not model.startswith("openai/"):
        return {}
    address = os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL")
    return {"api_base": address, "engine": "lm15"} if address else {}


_resolver = Resolver()


def language_model(model: Any, **options: Any) -> Any:
    """The language model for a model string, the same object each time within a process.

    Args:
        model: a `dspy.LM`, which is returned as it is, or a model string:
            `extractive` (embedded, not a language model); `local/smollm2` (embedded small model);
            `local/DIRECTORY` (a LoRA adapter for it, or a merged model, as fine-tuning writes them);
            `llama.cpp/...` (the same on llama.cpp instead of transformers, with the extra `llama-cpp`); a
            name given to `register_engine`; anything else is a DSPy/LiteLLM string such as
            `openai/gpt-4o-mini`, whose key and address come from the environment (`OPENAI_API_KEY`,
            `OPENAI_API_BASE` ...).
        **options: settings of `dspy.LM`, such as `api_base`, `temperature`, `max_tokens`, `timeout`.

    Raises:
        ModelUnavailableError: an embedded model is not installed or no such directory exists.
        UserError: the string names no known provider.
    """
    return _resolver.language_model(model, **options) if isinstance(model, str) else model


def register_engine(name: str, engine: EmbeddedEngine) -> None:
    """Register an embedded engine under a model string.

    Raises:
        UserError: the name is taken.
    """
    _resolver.register(name, engine)


def unregister_engine(name: str) -> None:
    """Remove an engine given to `register_engine`; unknown names are ignored."""
    _resolver.unregister(name)
