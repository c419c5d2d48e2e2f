"""From a model string to a language model."""

from __future__ import annotations

import copyreg
import functools
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from triplecheck.kg.errors import UserError
from triplecheck.language.pipeline import ENGLISH, check_language
from triplecheck.lms.engines import AsyncEngine, EmbeddedEngine
from triplecheck.lms.kinds import EXTRACTIVE, STUDENT, folder_of_student, is_no_language_model
from triplecheck.lms.local.weights import LLAMA_CPP, is_gguf_file
from triplecheck.lms.local.weights import PREFIX as LOCAL
from triplecheck.lms.metering import MeteredLM

if TYPE_CHECKING:
    from triplecheck.kg.encode import Encoder
    from triplecheck.kg.ranker import PathRanker
    from triplecheck.lms.local.backend import LocalConfig
    from triplecheck.lms.local.engine import LocalEngine
    from triplecheck.lms.prompt import Prompt

Checked = TypeVar("Checked")

TIMEOUT = 120.0
"""Seconds to wait for a model of a provider."""
OWN_TIMEOUT = 600.0
"""Seconds to wait for a server of the user's own, which may be slow and have other questions to answer first."""
OWN_MAX_TOKENS = 4096
"""Maximum tokens of a reply of such a server: it sets none itself, and a small model may repeat a line for ever."""
TEMPERATURE = 0.0
"""Sampling temperature if the model string sets none, so that a repeated run gives the same replies."""
RETRIES = 3
"""Retries of a remote call after a rate limit, a timeout or a server error."""


class CallSettings(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    """What a model string may set of each call, after `?`."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature. Default: 0; for OpenAI's reasoning models, which refuse 0, that of the server."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of a reply. Default: that of the server; 4,096 for a server of your own (`api_base`)."""
    timeout: float | None = Field(default=None, gt=0)
    """Maximum seconds of a call, of a remote model. Default: 120; 600 for a server of your own (`api_base`)."""
    api_base: str | None = None
    """Address of a remote model."""
    key_env: str | None = None
    """Environment variable with the key of a remote model."""

    def options(self, model: str) -> dict[str, Any]:
        """The settings of `dspy.LM`.

        Raises:
            UserError: the environment variable is not set.
        """
        found = self.model_dump(exclude={"key_env"}, exclude_none=True)
        if self.key_env is not None:
            key = os.environ.get(self.key_env)
            if not key:
                raise UserError(f"{model}: the environment variable {self.key_env} is not set; it must hold the key")
            found["api_key"] = key
        if self.api_base is not None and model.startswith("openai/"):
            found["engine"] = _OWN_CLIENT
        return found


_OF_LOCAL_CALLS = ("temperature", "max_tokens")
_OWN_CLIENT = "lm15"


_lock = threading.RLock()
_models: dict[tuple[Any, ...], MeteredLM] = {}
"""One per model string, options and weights."""
_registered: dict[str, EmbeddedEngine] = {}


def _local_model(model: str, options: dict[str, Any]) -> MeteredLM:
    name, config, options = _configured(model, options)
    engine = _local_engine(config)
    model_id = engine.model_id(name)
    general = is_gguf_file(name) and not config.guided
    return _kept((model, model_id), options, lambda: _embed(model_id, engine, options, general=general))


@functools.cache
def _local_engine(config: LocalConfig) -> LocalEngine:
    from triplecheck.lms.local.engine import LocalEngine

    return LocalEngine(config)


def _embedded(name: str, engine: EmbeddedEngine, options: dict[str, Any]) -> MeteredLM:
    return _kept((name, id(engine)), options, lambda: _embed(f"{name}@{engine.fingerprint}", engine, options))


def _remote(model: str, options: dict[str, Any]) -> MeteredLM:
    is_own = _is_own_server(model, options)
    try:
        timeout = OWN_TIMEOUT if is_own else TIMEOUT
        lm = MeteredLM(model, **{"timeout": timeout, "num_retries": RETRIES, **options})
    except ValueError as error:
        raise UserError(f"{model!r} is not a model string: {error}; write provider/model") from error
    # DSPy sets `max_completion_tokens` only for OpenAI's reasoning models, which refuse these settings.
    if "max_completion_tokens" in lm.kwargs:
        return lm
    if "temperature" not in options:  # a server would use its own
        lm.kwargs["temperature"] = TEMPERATURE
        lm.has_default_temperature = True
    if "max_tokens" not in options and is_own:
        lm.kwargs["max_tokens"] = OWN_MAX_TOKENS
    return lm


def _kept(key: tuple[Any, ...], options: dict[str, Any], make: Callable[[], MeteredLM]) -> MeteredLM:
    full = (*key, *sorted((name, repr(value)) for name, value in options.items()))
    if full not in _models:
        _models[full] = make()
    return _models[full]


@functools.cache
def _without_language_model(model: str) -> EmbeddedEngine:
    """The rule-based baseline, or a student with this baseline for all other steps."""
    from triplecheck.kg.ranker import GENERAL
    from triplecheck.lms.extractive.engine import ExtractiveEngine

    plain, settings = _separated(model)
    ranker, language = settings.pop("ranker", str(GENERAL)), settings.pop("language", ENGLISH)
    if settings:
        raise UserError(f"{model}: there is no setting {min(settings)!r}; there are ranker and language")
    rules = ExtractiveEngine(ranker=None if ranker == "none" else Path(ranker), language=check_language(language))
    if plain == EXTRACTIVE:
        return rules
    from triplecheck.lms.reader.engine import ReaderEngine

    return ReaderEngine(folder_of_student(model), rules)


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

    plain, query = _separated(model)
    of_calls = {name: query.pop(name) for name in _OF_LOCAL_CALLS if name in query}
    options = _checked(CallSettings, of_calls, model).options(model) | options
    known = {field.name for field in fields(LocalConfig)} - {"backend", "stop"}
    given = query | {name: value for name, value in options.items() if name in known}
    config: dict[str, Any] = {"backend": "llama.cpp"} if plain.startswith(LLAMA_CPP) else {}
    if is_gguf_file(plain):
        if not config:
            raise UserError(f"{model}: GGUF files run on llama.cpp: write {LLAMA_CPP}{plain.removeprefix(LOCAL)}")
        # A model of any size, which keeps to a format by itself.
        config |= {"guided": False, "context_length": None, "max_new_tokens": 512}
    if unknown := given.keys() - known:
        there = ", ".join(sorted(known.union(_OF_LOCAL_CALLS)))
        raise UserError(f"{model}: there is no setting {min(unknown)!r}; there are {there}")
    made = _checked(LocalConfig, config | given, model)
    return plain, made, {name: value for name, value in options.items() if name not in known}


def _separated(model: str) -> tuple[str, dict[str, str]]:
    """A model string without its settings, and these."""
    plain, _, query = model.partition("?")
    return plain, dict(parse_qsl(query, keep_blank_values=True))


def _checked(kind: type[Checked], given: Mapping[str, Any], model: str) -> Checked:
    """Settings of this type.

    Raises:
        UserError: one is unknown, or has a wrong value.
    """
    try:
        return TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        detail = error.errors()[0]
        name, why = detail["loc"][0], f"{detail['msg'][:1].lower()}{detail['msg'][1:]}"
    if detail["type"] == "extra_forbidden":
        raise UserError(f"{model}: there is no setting {name!r}; there are {', '.join(CallSettings.model_fields)}")
    raise UserError(f"{model}: {name}: {why}")


def _address(model: str) -> dict[str, str]:
    """The address that the environment names for an OpenAI-compatible server, and DSPy's own client for it.

    Through LiteLLM, as DSPy does by default, each call takes about 6 ms of CPU time instead of 1 to 2 ms: too much
    to saturate a server with 16 slots.
    """
    if not model.startswith("openai/"):
        return {}
    address = os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL")
    return {"api_base": address, "engine": _OWN_CLIENT} if address else {}


def _is_own_server(model: str, options: Mapping[str, Any]) -> bool:
    """Whether the model runs on an OpenAI-compatible server of the user's own."""
    return model.startswith("openai/") and "api_base" in options


def language_model(model: Any, **options: Any) -> Any:
    """The language model for a model string, the same object each time within a process.

    Args:
        model: a `dspy.LM`, which is returned as it is, or a model string:
            `extractive` (embedded, not a language model), with `?ranker=FILE` for another trained ranker of paths and
            `?ranker=none` for none, `?language=de` for another language; `student/DIRECTORY` (a trained student of one
            step, and `extractive` for all others, with the same settings); `local/smollm2` (embedded small model);
            `local/DIRECTORY` (a LoRA adapter for it, or a merged model, as fine-tuning writes them);
            `llama.cpp/...` (the same on llama.cpp instead of transformers, with the extra `llama-cpp`);
            `llama.cpp/PATH.gguf` (any chat model as a GGUF file); settings of these follow `?`, as in
            `llama.cpp/PATH.gguf?context_length=4096&threads=2` (see `lms.local.backend.LocalConfig`); a name given to
            `register_engine`; anything else is a DSPy/LiteLLM string such as `openai/gpt-4o-mini`, whose key and
            address come from the environment (`OPENAI_API_KEY`, `OPENAI_API_BASE` ...), or from its settings
            (`CallSettings`), as in `openai/gpt-4o-mini?temperature=0.7&max_tokens=500` and
            `openai/qwen?api_base=http://gpu:8000/v1&key_env=GPU_KEY`.
        **options: settings of `dspy.LM`, such as `api_base`, `temperature`, `max_tokens`, `timeout`, and of
            `LocalConfig`.

    Raises:
        ModelUnavailableError: an embedded model is not installed or no such directory exists.
        UserError: the string names no known provider.
    """
    if not isinstance(model, str):
        return model
    model = model.strip()
    with _lock:
        if model in _registered:
            return _embedded(model, _registered[model], options)
        if is_no_language_model(model):
            return _embedded(model, _without_language_model(model), options)
        if model.startswith((LOCAL, LLAMA_CPP)):
            return _local_model(model, options)
        plain, settings = _separated(model)
        if plain == STUDENT.rstrip("/"):
            raise UserError(
                f"{model}: names no student: write {STUDENT}DIR; `triplecheck distill --student reader` trains one"
            )
        options = _address(model) | _checked(CallSettings, settings, model).options(model) | options
        if _is_own_server(model, options) and not os.environ.get("OPENAI_API_KEY"):
            options = {"api_key": "none"} | options  # DSPy's client asks for one
        return _kept((model,), options, lambda: _remote(plain, options))


def _reduced(lm: MeteredLM) -> tuple[Any, ...]:
    """How a pickle keeps a model (`dspy.load`): by its model string, without a key, an engine or what it counts."""
    return language_model, (lm.name,)


copyreg.pickle(MeteredLM, _reduced)


def suited(model: Any, ranker: Path | None, language: str | None) -> Any:
    """The model; `extractive`, alone or behind a student, gets the ranker and the language of the graph at hand.

    What its model string names stays.
    """
    given = {name: str(value) for name, value in (("ranker", ranker), ("language", language)) if value is not None}
    name = model.name if isinstance(model, MeteredLM) else model
    if not given or not isinstance(name, str) or not is_no_language_model(name):
        return model
    plain, own = _separated(name.strip())
    with _lock:
        return _embedded(name, _without_language_model(f"{plain}?{urlencode(given | own)}"), {})


def register_engine(name: str, engine: EmbeddedEngine) -> None:
    """Register an embedded engine under a model string.

    Raises:
        UserError: the name is taken.
    """
    with _lock:
        if name in _registered or name == EXTRACTIVE:
            raise UserError(f"a model called {name!r} exists already: register the engine under another name")
        _registered[name] = engine


def unregister_engine(name: str) -> None:
    """Remove an engine given to `register_engine`; unknown names are ignored."""
    with _lock:
        _registered.pop(name, None)
        for key in [key for key in _models if key[0] == name]:
            del _models[key]


def baseline_reply(prompt: Prompt, encoder: Encoder, ranker: PathRanker | None) -> dict[str, object]:
    """What `extractive` replies to a prompt, with a ranker of paths that is not written to a file yet."""
    from triplecheck.lms.extractive.engine import solve

    return solve(prompt, encoder.encode, ranker)
