"""From a model string to a language model."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from pydantic import TypeAdapter, ValidationError

from triplecheck.kg.errors import UserError
from triplecheck.lms.engines import AsyncEngine, EmbeddedEngine
from triplecheck.lms.local.weights import LLAMA_CPP, is_gguf_file
from triplecheck.lms.local.weights import PREFIX as LOCAL
from triplecheck.lms.metering import MeteredLM

if TYPE_CHECKING:
    from triplecheck.lms.local.backend import LocalConfig
    from triplecheck.lms.local.engine import LocalEngine

EXTRACTIVE = "extractive"

_SETTINGS = frozenset(
    "guided longest_field max_new_tokens context_length prefix_memory repetition_penalty batch_size batch_wait device "
    "threads".split()
)
"""What a model string may set of `LocalConfig`."""

TIMEOUT = 120.0
"""Seconds to wait for a remote model."""
RETRIES = 3
"""Retries of a remote call after a rate limit, a timeout or a server error."""


def is_extractive(model: str) -> bool:
    """Whether a model string names the rule-based baseline, with or without settings."""
    return model.strip().partition("?")[0] == EXTRACTIVE


class Resolver:
    """Creates and caches language models: one per model string, options and weights."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._models: dict[tuple[Any, ...], MeteredLM] = {}
        self._engines: dict[str, EmbeddedEngine] = {}
        self._extractive: dict[str, EmbeddedEngine] = {}
        self._local: dict[LocalConfig, LocalEngine] = {}

    def language_model(self, model: str, **options: Any) -> MeteredLM:
        """See the function of this name."""
        model = model.strip()
        with self._lock:
            if model in self._engines:
                return self._embedded(model, self._engines[model], options)
            if is_extractive(model):
                return self._embedded(model, self._the_extractive(model), options)
            if model.startswith((LOCAL, LLAMA_CPP)):
                return self._local_model(model, options)
            options = _address(model) | options
            return self._kept((model,), options, lambda: self._remote(model, options))

    def with_ranker(self, model: Any, ranker: Path) -> Any:
        """See the function of this name."""
        if (model.name if isinstance(model, MeteredLM) else model) != EXTRACTIVE:
            return model
        with self._lock:
            engine = self._the_extractive(f"{EXTRACTIVE}?{urlencode({'ranker': ranker})}")
            return self._embedded(EXTRACTIVE, engine, {})

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

    def _the_extractive(self, model: str) -> EmbeddedEngine:
        if model not in self._extractive:
            from triplecheck.kg.ranker import GENERAL
            from triplecheck.lms.extractive.engine import ExtractiveEngine

            settings = dict(parse_qsl(model.partition("?")[2], keep_blank_values=True))
            ranker = settings.pop("ranker", str(GENERAL))
            if settings:
                raise UserError(f"{model}: there is no setting {min(settings)!r}; there is ranker")
            self._extractive[model] = ExtractiveEngine(ranker=None if ranker == "none" else Path(ranker))
        return self._extractive[model]

    def _local_model(self, model: str, options: dict[str, Any]) -> MeteredLM:
        from triplecheck.lms.local.engine import LocalEngine

        name, config, options = _configured(model, options)
        engine = self._local.setdefault(config, LocalEngine(config))
        model_id = engine.model_id(name)
        general = is_gguf_file(name) and not config.guided
        return self._kept((model, model_id), options, lambda: _embed(model_id, engine, options, general=general))

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


def _embed(model_id: str, engine: EmbeddedEngine, options: dict[str, Any], *, general: bool = False) -> MeteredLM:
    # Errors inside this process are not transient: no retries.
    lm = MeteredLM(model_id, engine=engine, async_engine=AsyncEngine(engine), num_retries=0, **options)
    lm.general = general
    return lm


def _configured(model: str, options: dict[str, Any]) -> tuple[str, LocalConfig, dict[str, Any]]:
    """The model string of the weights, the settings of the engine, and the settings that are left for `dspy.LM`.

    The former are in the model string, after `?`, or among the options.
    """
    from triplecheck.lms.local.backend import LocalConfig

    plain, _, query = model.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True)) | {k: v for k, v in options.items() if k in _SETTINGS}
    config: dict[str, Any] = {"backend": "llama.cpp"} if plain.startswith(LLAMA_CPP) else {}
    if is_gguf_file(plain):
        if not config:
            raise UserError(f"{model}: GGUF files run on llama.cpp: write {LLAMA_CPP}{plain.removeprefix(LOCAL)}")
        # A model of any size, which keeps to a format by itself.
        config |= {"guided": False, "context_length": None, "max_new_tokens": 512}
    try:
        if unknown := given.keys() - _SETTINGS:
            raise UserError(f"{model}: there is no setting {min(unknown)!r}; there are {', '.join(sorted(_SETTINGS))}")
        made = TypeAdapter(LocalConfig).validate_python(config | given)
    except ValidationError as error:
        detail = error.errors()[0]
        raise UserError(f"{model}: {detail['loc'][0]}: {detail['msg'][:1].lower()}{detail['msg'][1:]}") from None
    return plain, made, {name: value for name, value in options.items() if name not in _SETTINGS}


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
            `extractive` (embedded, not a language model), with `?ranker=FILE` for another trained ranker of paths and
            `?ranker=none` for none; `local/smollm2` (embedded small model);
            `local/DIRECTORY` (a LoRA adapter for it, or a merged model, as fine-tuning writes them);
            `llama.cpp/...` (the same on llama.cpp instead of transformers, with the extra `llama-cpp`);
            `llama.cpp/PATH.gguf` (any chat model as a GGUF file); settings of these follow `?`, as in
            `llama.cpp/PATH.gguf?context_length=4096&threads=2` (see `lms.local.LocalConfig`); a name given to
            `register_engine`; anything else is a DSPy/LiteLLM string such as `openai/gpt-4o-mini`, whose key and
            address come from the environment (`OPENAI_API_KEY`, `OPENAI_API_BASE` ...).
        **options: settings of `dspy.LM`, such as `api_base`, `temperature`, `max_tokens`, `timeout`, and of
            `LocalConfig`.

    Raises:
        ModelUnavailableError: an embedded model is not installed or no such directory exists.
        UserError: the string names no known provider.
    """
    return _resolver.language_model(model, **options) if isinstance(model, str) else model


def with_ranker(model: Any, ranker: Path | None) -> Any:
    """The model; `extractive` without settings gets a ranker of paths that was trained on the graph at hand."""
    return model if ranker is None else _resolver.with_ranker(model, ranker)


def register_engine(name: str, engine: EmbeddedEngine) -> None:
    """Register an embedded engine under a model string.

    Raises:
        UserError: the name is taken.
    """
    _resolver.register(name, engine)


def unregister_engine(name: str) -> None:
    """Remove an engine given to `register_engine`; unknown names are ignored."""
    _resolver.unregister(name)
