"""The embedded model on llama.cpp: faster single calls from the same GGUF file; an optional extra."""

from __future__ import annotations

import importlib.util
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from dspy.lm15 import ContextLengthError

from triplecheck.lms.errors import ModelUnavailableError
from triplecheck.lms.local.backend import TAIL, Generated, GenerationRequest, LocalConfig, room_for_reply, until_stop
from triplecheck.lms.local.gguf_lora import write_gguf_lora
from triplecheck.lms.local.guide import Guide, LlamaVocabulary, likeliest
from triplecheck.lms.local.weights import Weights

_END = "<|im_end|>"
"""The end-of-message token of the chat template."""
_SEEDS = 2**32


class LlamaCppBackend:
    """Runs a GGUF file with llama-cpp-python, one prompt after another.

    A LoRA adapter is converted to GGUF when the model is loaded (`gguf_lora`).

    Raises:
        ModelUnavailableError: llama-cpp-python (or gguf, for an adapter) is not installed, or the weights are not
            in GGUF.
    """

    def __init__(self, weights: Weights, config: LocalConfig) -> None:
        if importlib.util.find_spec("llama_cpp") is None:
            raise ModelUnavailableError(
                f"{weights.name}: the backend llama.cpp needs llama-cpp-python; pip install 'triplecheck[llama-cpp]' "
                "(it compiles for some minutes), or use the backend transformers",
                model=weights.name,
            )
        if weights.gguf is None:
            raise ModelUnavailableError(
                f"{weights.name}: {weights.directory} holds no GGUF file, which the backend llama.cpp needs; "
                "use the backend transformers",
                model=weights.name,
            )
        import llama_cpp

        self._config = config
        base = weights.directory / weights.gguf
        with _lora(weights, base) as lora:
            self._model: Any = llama_cpp.Llama(
                model_path=str(base),
                lora_path=lora,
                n_ctx=config.context_length,
                n_threads=config.threads,
                n_gpu_layers=0 if config.device == "cpu" else -1,
                verbose=False,
            )
        self._vocabulary = LlamaVocabulary(self._model, _END)

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        """See `Backend.generate`."""
        results: list[Generated | Exception] = []
        for prompt in prompts:
            try:
                results.append(self._write(prompt))
            except ContextLengthError as error:
                results.append(error)
        return results

    def _write(self, prompt: GenerationRequest) -> Generated:
        text = "".join(f"<|im_start|>{role}\n{content}{_END}\n" for role, content in prompt.messages)
        tokens = self._model.tokenize(f"{text}<|im_start|>assistant\n".encode(), add_bos=False, special=True)
        limit = room_for_reply(len(tokens), prompt.max_new_tokens, self._config.context_length)
        written = self._tokens(prompt, tokens, limit)
        reply, stopped = until_stop(self._text(written), prompt.stop)
        whole = stopped or written[-1] in self._vocabulary.ends
        return Generated(reply, len(tokens), len(written), "stop" if whole else "length")

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
                repeat_penalty=self._config.repetition_penalty,
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
        return len(written) >= limit or written[-1] in self._vocabulary.ends or any(mark in tail for mark in stop)

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self._model.detokenize(list(tokens)).decode(errors="replace"))


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
            f"{weights.name}: the backend llama.cpp needs gguf for an adapter; pip install gguf", model=weights.name
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adapter.gguf"
        write_gguf_lora(weights.adapter, base, path)
        yield str(path)
