"""The embedded model on llama.cpp: faster single calls from the same GGUF file; an optional extra."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dspy.lm15 import ContextLengthError

from lms.errors import ModelUnavailableError
from lms.local.backend import Generated, Prompt, room_for_reply, until_stop
from lms.local.config import LocalConfig
from lms.local.form import Field
from lms.local.gguf_lora import write_gguf_lora
from lms.local.grammar import grammar
from lms.local.weights import Weights


class LlamaCppBackend:
    """Runs a GGUF file with llama-cpp-python, one prompt after another.

    A LoRA adapter is turned into GGUF while the model is loaded (`gguf_lora`).

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

    def generate(self, prompts: Sequence[Prompt]) -> list[Generated | Exception]:
        """See `Backend.generate`."""
        results: list[Generated | Exception] = []
        for prompt in prompts:
            try:
                results.append(self._write(prompt))
            except ContextLengthError as error:
                results.append(error)
        return results

    def _write(self, prompt: Prompt) -> Generated:
        # The marks of the chat template are a handful of tokens a message.
        text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in prompt.messages)
        tokens = self._model.tokenize(f"{text}<|im_start|>assistant\n".encode(), add_bos=False, special=True)
        limit = room_for_reply(len(tokens), prompt.max_new_tokens, self._config.context_length)
        reply = self._model.create_completion(
            tokens,
            max_tokens=limit,
            temperature=prompt.temperature,
            top_p=prompt.top_p,
            top_k=0 if prompt.temperature > 0 else 1,
            min_p=0.0,
            repeat_penalty=self._config.repetition_penalty,
            seed=prompt.seed,
            stop=list(prompt.stop),
            grammar=_grammar(prompt.fields),
        )
        choice = reply["choices"][0]
        written, stopped = until_stop(choice["text"], prompt.stop)
        return Generated(
            written,
            prompt_tokens=int(reply["usage"]["prompt_tokens"]),
            completion_tokens=int(reply["usage"]["completion_tokens"]),
            finish_reason="stop" if stopped or choice["finish_reason"] == "stop" else "length",
        )


def _grammar(fields: Sequence[Field]) -> Any:
    """What holds a reply to its form, None where it is of no known form."""
    if not fields:
        return None
    import llama_cpp

    return llama_cpp.LlamaGrammar.from_string(grammar(fields), verbose=False)


@contextmanager
def _lora(weights: Weights, base: Path) -> Iterator[str | None]:
    """A file with the adapter for as long as it is read; None without one."""
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
