"""The embedded model on Hugging Face transformers: batches, LoRA adapters, no compiler needed."""

from __future__ import annotations

import functools
import gc
import importlib.util
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dspy.lm15 import ContextLengthError

from triplecheck.lms.errors import ModelUnavailableError
from triplecheck.lms.local.backend import TAIL, Generated, GenerationRequest, LocalConfig, room_for_reply, until_stop
from triplecheck.lms.local.guide import Guide, TokenizerVocabulary, likeliest
from triplecheck.lms.local.weights import Weights
from triplecheck.lms.prompt import Chat

_LOADING = threading.Lock()
"""Held while what the libraries share is changed."""


@dataclass(frozen=True)
class LoadedModel:
    """A tokenizer and its model, in memory."""

    tokenizer: Any
    model: Any


class TransformersBackend:
    """Runs a model with `transformers`.

    Args:
        loaded: the model, if it is in memory already; None: it is loaded.

    Raises:
        ModelUnavailableError: transformers, gguf or (for an adapter) peft is not installed.
    """

    def __init__(self, weights: Weights, config: LocalConfig, loaded: LoadedModel | None = None) -> None:
        transformers, torch = _libraries(weights)
        self._torch = torch
        self._transformers = transformers
        self._config = config
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        self._device = ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
        if loaded is None:
            dtype = torch.float32 if self._device == "cpu" else torch.bfloat16
            loaded = LoadedModel(load_tokenizer(weights), load_model(weights, dtype))
        self._tokenizer, model = loaded.tokenizer, loaded.model
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = model.to(self._device).eval()
        self._vocabulary = TokenizerVocabulary(self._tokenizer, self._model.generation_config.eos_token_id)
        own = int(model.config.max_position_embeddings)
        self._context = min(config.context_length or own, own)

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        """See `Backend.generate`."""
        results: list[Generated | Exception | None] = [None] * len(prompts)
        fitting, lengths, limits = [], [], []
        for index, prompt in enumerate(prompts):
            tokens = prompt_tokens(self._tokenizer, prompt.messages)
            try:
                limits.append(room_for_reply(len(tokens), prompt.max_new_tokens, self._context))
            except ContextLengthError as error:
                results[index] = error
                continue
            fitting.append(index)
            lengths.append(tokens)
        if fitting:
            written = self._write([prompts[index] for index in fitting], lengths, limits)
            for index, result in zip(fitting, written, strict=True):
                results[index] = result
        return [result for result in results if result is not None]

    def _write(self, prompts: list[GenerationRequest], tokens: list[list[int]], limits: list[int]) -> list[Generated]:
        torch, first = self._torch, prompts[0]
        batch = self._tokenizer.pad({"input_ids": tokens}, return_tensors="pt").to(self._device)
        width = batch["input_ids"].shape[1]
        sampling: dict[str, Any] = {"do_sample": False}
        if first.temperature > 0:
            sampling = {"do_sample": True, "temperature": first.temperature, "top_p": first.top_p, "top_k": 0}
        settings = self._transformers.GenerationConfig(
            max_new_tokens=max(limits),
            repetition_penalty=1.0,  # not that of the model, as in llama.cpp
            pad_token_id=self._tokenizer.pad_token_id,
            eos_token_id=self._tokenizer.eos_token_id,
            **sampling,
        )
        with torch.inference_mode(), _seeded(torch, first):
            output = self._model.generate(
                **batch,
                generation_config=settings,
                stopping_criteria=[self._stopper(width, first.stop, limits)],
                logits_processor=[self._guide(prompts, width, limits)] if self._config.guided else [],
            )
        return [
            self._generated(prompt, len(ids), row[width:].tolist(), limit)
            for prompt, ids, row, limit in zip(prompts, tokens, output, limits, strict=True)
        ]

    def _guide(self, prompts: Sequence[GenerationRequest], width: int, limits: Sequence[int]) -> Any:
        """Masks the scores of tokens that the guides do not allow."""
        longest = self._config.longest_field
        guides = [
            Guide(prompt.fields, self._vocabulary, limit, longest)
            for prompt, limit in zip(prompts, limits, strict=True)
        ]

        def guided(input_ids: Any, scores: Any) -> Any:
            # One transfer for the whole batch: on a GPU, each costs more than the choice of a token.
            taken = input_ids[:, -1].tolist() if input_ids.shape[1] > width else []
            best = scores.argmax(-1).tolist()
            rows: list[int] = []
            columns: list[int] = []
            masked: list[int] = []
            for row, guide in enumerate(guides):
                if taken:
                    guide.took(taken[row])
                allowed = guide.allowed(functools.partial(_likeliest, best[row], scores[row]))
                if allowed is not None:
                    masked.append(row)
                    rows += [row] * len(allowed)
                    columns += allowed
            if masked:
                kept = scores[rows, columns]
                scores[masked] = -float("inf")
                scores[rows, columns] = kept
            return scores

        return guided

    def _stopper(self, width: int, stop: Sequence[str], limits: Sequence[int]) -> Any:
        """Ends each reply that reached its limit or contains a stop text.

        The prompt may contain stop texts and is not searched.
        """

        def stopped(input_ids: Any, scores: Any, **_: Any) -> Any:
            written = input_ids.shape[1] - width
            tails = self._tokenizer.batch_decode(input_ids[:, width:][:, -TAIL:])
            done = [
                written >= limit or any(mark in tail for mark in stop)
                for tail, limit in zip(tails, limits, strict=True)
            ]
            return self._torch.tensor(done, dtype=self._torch.bool, device=input_ids.device)

        return stopped

    def _generated(self, prompt: GenerationRequest, prompt_tokens: int, ids: list[int], limit: int) -> Generated:
        ends = self._vocabulary.ends | {self._tokenizer.pad_token_id}
        end = next((place for place, token in enumerate(ids) if token in ends), None)
        kept = ids[:limit] if end is None else ids[: min(end, limit)]
        text, stopped = until_stop(self._tokenizer.decode(kept, skip_special_tokens=True), prompt.stop)
        whole = stopped or (end is not None and end < limit)
        return Generated(text, prompt_tokens, len(kept), "stop" if whole else "length")


def _likeliest(best: int, scores: Any, some: Sequence[int] | None) -> int:
    return best if some is None else likeliest(scores, some)


def load_tokenizer(weights: Weights) -> Any:
    """The tokenizer of a model, with its chat template.

    Raises:
        ModelUnavailableError: a library is missing.
    """
    transformers, _ = _libraries(weights)
    with _quietly(transformers):
        return transformers.AutoTokenizer.from_pretrained(weights.directory, **_source(weights))


def load_model(weights: Weights, dtype: Any) -> Any:
    """A model with plain weights in main memory: GGUF is dequantised, an adapter is merged.

    Raises:
        ModelUnavailableError: a library is missing.
    """
    transformers, _ = _libraries(weights)
    source: dict[str, Any] = _source(weights) or {"use_safetensors": True}
    if weights.gguf and hasattr(transformers, "GgufConfig"):
        # Otherwise the weights stay quantised if there are kernels for that, and an adapter cannot be added.
        source["quantization_config"] = transformers.GgufConfig(dequantize=True)
    with _quietly(transformers):
        model = transformers.AutoModelForCausalLM.from_pretrained(weights.directory, dtype=dtype, **source)
        if weights.adapter is not None:
            import peft

            model = peft.PeftModel.from_pretrained(model, str(weights.adapter)).merge_and_unload()
    return model


def prompt_tokens(tokenizer: Any, messages: Chat) -> list[int]:
    """The prompt text of a chat, up to the start of the reply."""
    chat = [{"role": role, "content": content} for role, content in messages]
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _source(weights: Weights) -> dict[str, Any]:
    return {"gguf_file": weights.gguf} if weights.gguf else {}


def _libraries(weights: Weights) -> tuple[Any, Any]:
    wanted = ["transformers", "torch"]
    wanted += ["gguf", "accelerate"] if weights.gguf else []
    wanted += ["peft"] if weights.adapter is not None else []
    missing = [name for name in wanted if not _installed(name)]
    if missing:
        raise ModelUnavailableError(
            f"{weights.name}: running it needs {', '.join(missing)}; pip install {' '.join(missing)}",
        )
    import torch
    import transformers

    return transformers, torch


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@contextmanager
def _quietly(transformers: Any) -> Iterator[None]:
    """Load without progress bars, and no part of a GGUF file twice."""
    from transformers import modeling_gguf_pytorch_utils as gguf_loading

    with _LOADING:
        was_enabled, bar = transformers.utils.logging.is_progress_bar_enabled(), gguf_loading.tqdm
        transformers.utils.logging.disable_progress_bar()
        # The progress bar of the GGUF reader ignores the library's setting.
        gguf_loading.tqdm = functools.partial(bar, disable=True)
        try:
            with warnings.catch_warnings(), _reading_once():
                # PEFT imports names that transformers has renamed.
                warnings.simplefilter("ignore", FutureWarning)
                yield
        finally:
            gguf_loading.tqdm = bar
            if was_enabled:
                transformers.utils.logging.enable_progress_bar()


@contextmanager
def _reading_once() -> Iterator[None]:
    """The library reads a GGUF file for the settings and again for the weights, and lists all names per module.

    It is read as a million small objects: looking through them for garbage takes a quarter of the time.
    """
    if not _installed("gguf"):
        yield
        return
    import gguf

    slow = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    collecting = gc.isenabled()
    gc.disable()
    for name, function in slow.items():
        setattr(gguf, name, functools.cache(function))
    try:
        yield
    finally:
        for name, function in slow.items():
            setattr(gguf, name, function)
        if collecting:
            gc.enable()


@contextmanager
def _seeded(torch: Any, prompt: GenerationRequest) -> Iterator[None]:
    if prompt.temperature == 0 or prompt.seed is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(prompt.seed)
        yield
