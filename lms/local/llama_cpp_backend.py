"""Models on llama.cpp, from GGUF files; an optional extra."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache
from dspy.lm15 import ContextLengthError
from jinja2 import TemplateError

from triplecheck.lms.errors import ModelUnavailableError
from triplecheck.lms.local.backend import TAIL, Generated, GenerationRequest, LocalConfig, room_for_reply, until_stop
from triplecheck.lms.local.gguf_file import Value, read_metadata
from triplecheck.lms.local.gguf_lora import write_gguf_lora
from triplecheck.lms.local.guide import Guide, LlamaVocabulary, likeliest
from triplecheck.lms.local.weights import Weights
from triplecheck.lms.prompt import Chat, without_repetitions

_SEEDS = 2**32
_SHORTEST_CONTEXT = 2048
"""Tokens, of a model that does not name its limit."""
_SHORTEST_PREFIX = 32
"""Tokens; shorter beginnings are not kept."""


class LlamaCppBackend:
    """Runs a GGUF file with llama-cpp-python, one prompt after another, in the chat template of the file.

    The beginning of each prompt, up to its last message, is evaluated once (`_Prefixes`).

    A LoRA adapter is converted to GGUF when the model is loaded (`gguf_lora`).

    Raises:
        ModelUnavailableError: llama-cpp-python (or gguf, for an adapter) is not installed, or llama.cpp cannot run
            the weights.
    """

    def __init__(self, weights: Weights, config: LocalConfig) -> None:
        if importlib.util.find_spec("llama_cpp") is None:
            raise ModelUnavailableError(
                f"{weights.name}: llama.cpp needs llama-cpp-python; pip install 'triplecheck[llama-cpp]' "
                "(it compiles for some minutes), or use the backend transformers for a small model",
            )
        if weights.gguf is None:
            raise ModelUnavailableError(
                f"{weights.name}: {weights.directory} holds no GGUF file, which the backend llama.cpp needs; "
                "use the backend transformers",
            )
        import llama_cpp

        self._config = config
        base = weights.directory / weights.gguf
        metadata = read_metadata(base)
        template = metadata.get("tokenizer.chat_template")
        if not isinstance(template, str):
            raise ModelUnavailableError(
                f"{weights.name}: {base} has no chat template, so it is no chat model; use an instruct model",
            )
        self._context = context_length(metadata, config.context_length)
        with _lora(weights, base) as lora:
            try:
                self._model: Any = llama_cpp.Llama(
                    model_path=str(base),
                    lora_path=lora,
                    n_ctx=self._context,
                    n_threads=config.threads,
                    n_threads_batch=config.threads,
                    n_gpu_layers=0 if config.device == "cpu" else -1,
                    verbose=False,
                )
            except (ValueError, RuntimeError) as error:
                raise ModelUnavailableError(
                    f"{weights.name}: llama.cpp {llama_cpp.__version__} cannot load {base} ({error}); the file may be "
                    "incomplete, the memory too small, or the architecture "
                    f"{metadata.get('general.architecture', 'unknown')!r} too new",
                ) from error
        self._vocabulary = LlamaVocabulary(self._model)
        self._prefixes = _Prefixes(self._model, config.prefix_memory << 20)
        self._template = llama_cpp.llama_chat_format.Jinja2ChatFormatter(
            template, self._special(self._model.token_eos()), self._special(self._model.token_bos())
        )

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        """See `Backend.generate`."""
        results: list[Generated | Exception] = []
        for prompt in prompts:
            try:
                results.append(self._write(prompt))
            except ContextLengthError as error:
                results.append(error)
            except BaseException:
                self._model.reset()  # what was evaluated is uncertain
                raise
        return results

    def _write(self, prompt: GenerationRequest) -> Generated:
        text, starts = self._chat(prompt.messages)
        tokens = self._encode(text)
        limit = room_for_reply(len(tokens), prompt.max_new_tokens, self._context)
        reused = self._prefixes.enter(tokens, [_shared(self._encode(text[:start]), tokens) for start in starts])
        written = self._tokens(prompt, tokens, limit)
        reply, stopped = until_stop(self._text(written), prompt.stop)
        whole = stopped or written[-1] in self._vocabulary.ends
        return Generated(reply, len(tokens), len(written), "stop" if whole else "length", reused)

    def _chat(self, messages: Chat) -> tuple[str, list[int]]:
        """A chat in the model's template, and where the text of each message begins."""
        chat = [{"role": role, "content": content} for role, content in messages]
        try:
            text = str(self._template(messages=chat).prompt)
        except (ValueError, TemplateError):
            # Some templates refuse a system message: it goes before the first message of the user.
            if len(messages) < 2 or messages[0][0] != "system":
                raise
            first = (messages[1][0], f"{messages[0][1]}\n\n{messages[1][1]}")
            return self._chat([first, *messages[2:]])
        starts, at = [], 0
        for _, content in messages:
            at = max(at, text.find(content.strip(), at))
            starts.append(at)
            at += len(content.strip()) if text.startswith(content.strip(), at) else 0
        return text, starts

    def _encode(self, text: str) -> list[int]:
        return list(self._model.tokenize(text.encode(), add_bos=False, special=True))

    def _special(self, token: int) -> str:
        return "" if token < 0 else str(self._model.detokenize([token], special=True).decode())

    def _tokens(self, prompt: GenerationRequest, read: Sequence[int], limit: int) -> list[int]:
        """Generate a reply; forced tokens are evaluated at once, without sampling."""
        guide = Guide(prompt.fields, self._vocabulary, limit, self._config.longest_field)
        processor = _Processor(guide)
        seed = random.randrange(_SEEDS) if prompt.seed is None else prompt.seed
        written = guide.put_in()
        while not self._is_over(written, prompt.stop, limit):
            self._model.set_seed((seed + len(written)) % _SEEDS)
            for token in self._model.generate(
                [*read, *written],
                temp=prompt.temperature,
                top_p=prompt.top_p,
                top_k=0,
                min_p=0.0,
                repeat_penalty=1.0,
                logits_processor=[processor],
            ):
                if processor.error is not None:
                    raise processor.error
                guide.took(token)
                forced = guide.put_in()
                written += [token, *forced]
                if forced or self._is_over(written, prompt.stop, limit):
                    break
        return written[:limit]

    def _is_over(self, written: Sequence[int], stop: Sequence[str], limit: int) -> bool:
        if not written:
            return False
        tail = self._text(written[-TAIL:])
        if len(written) >= limit or written[-1] in self._vocabulary.ends or any(mark in tail for mark in stop):
            return True
        # The model would go on to its limit; the adapter reads each repeated line once.
        return "\n" in self._text(written[-1:]) and without_repetitions(self._text(written)) is not None

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self._model.detokenize(list(tokens)).decode(errors="replace"))


def context_length(metadata: Mapping[str, Value], wanted: int | None) -> int:
    """Maximum tokens of prompt and reply: the model's own limit, or less as `LocalConfig.context_length` says."""

    def of(key: str) -> int:
        value = metadata.get(f"{metadata.get('general.architecture')}.{key}", 0)
        return int(max(value, default=0) if isinstance(value, list) else value)

    own = of("context_length")
    if wanted is not None:
        return min(wanted, own or wanted)
    heads = of("attention.head_count")
    size = of("attention.key_length") or of("embedding_length") // max(1, heads)
    # Keys and values of 2 bytes, in each layer.
    of_a_token = 2 * 2 * of("block_count") * (of("attention.head_count_kv") or heads) * size
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(_SHORTEST_CONTEXT, min(own, memory // 8 // of_a_token)) if own and of_a_token else _SHORTEST_CONTEXT


class _Prefixes:
    """Evaluated beginnings of prompts, the least recently used dropped first.

    llama.cpp itself keeps only the last prompt. A program asks several steps in turn; with the state of each step's
    beginning at hand, its instructions and demonstrations are evaluated once.

    The last bits of the scores depend on the pieces in which a prompt is evaluated. The pieces are always its
    messages, so a reply does not depend on what is kept.

    Args:
        limit: bytes of all states together.
    """

    def __init__(self, model: Any, limit: int) -> None:
        import llama_cpp

        self._library: Any = llama_cpp
        self._model = model
        self._states: LRUCache[tuple[int, ...], Any] = LRUCache(limit, getsizeof=len)
        self._last: Sequence[int] = ()
        # The state of these models cannot be cut back.
        self._is_whole = llama_cpp.llama_model_is_recurrent(model.model) or llama_cpp.llama_model_is_hybrid(model.model)

    def enter(self, tokens: Sequence[int], starts: Sequence[int]) -> int:
        """Evaluate a prompt up to its last message, as far as no state is at hand, and keep the state.

        Args:
            starts: where its messages begin.

        Returns:
            How many tokens were evaluated by earlier calls.
        """
        model = self._model
        shared = 0 if self._is_whole else _shared(self._last[: model.n_tokens], tokens)
        self._last = tokens
        ready = max((start for start in starts if start <= shared), default=0)
        key = tuple(tokens[: starts[-1]])
        kept = max((state for state in self._states if key[: len(state)] == state), key=len, default=())
        if len(kept) > ready and self._load(kept):
            ready = len(kept)
        if not ready:
            model.reset()
        model.n_tokens = ready
        for start, end in pairwise([ready, *(start for start in starts if start > ready)]):
            model.eval(tokens[start:end])
        if len(key) >= _SHORTEST_PREFIX and key not in self._states:
            self._save(key)
        return ready

    def _save(self, key: tuple[int, ...]) -> None:
        library, context = self._library, self._model.ctx
        size = library.llama_state_seq_get_size(context, 0)
        state = (ctypes.c_uint8 * size)()
        if size <= self._states.maxsize and library.llama_state_seq_get_data(context, state, size, 0) == size:
            self._states[key] = state

    def _load(self, key: tuple[int, ...]) -> bool:
        state, model = self._states[key], self._model
        model.reset()
        if not self._library.llama_state_seq_set_data(model.ctx, state, len(state), 0):
            del self._states[key]
            return False
        model.n_tokens = len(key)
        model.input_ids[: len(key)] = key
        return True


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many first tokens are the same."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class _Processor:
    """Keeps the scores of the tokens that a guide allows.

    llama.cpp swallows exceptions of its callbacks; they are kept in `error`.
    """

    def __init__(self, guide: Guide) -> None:
        self._guide = guide
        self.error: Exception | None = None

    def __call__(self, _: Any, scores: Any) -> Any:
        try:
            allowed = self._guide.allowed(partial(likeliest, scores))
        except Exception as error:  # noqa: BLE001 - raised by the caller
            self.error = error
            return scores
        if allowed is None:
            return scores
        kept = np.full_like(scores, -np.inf)
        kept[allowed] = scores[allowed]
        return kept


@contextmanager
def _lora(weights: Weights, base: Path) -> Iterator[str | None]:
    """A temporary file with the adapter; None without one."""
    if weights.adapter is None:
        yield None
        return
    if importlib.util.find_spec("gguf") is None:
        raise ModelUnavailableError(
            f"{weights.name}: the backend llama.cpp needs gguf for an adapter; pip install gguf"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adapter.gguf"
        write_gguf_lora(weights.adapter, base, path)
        yield str(path)
