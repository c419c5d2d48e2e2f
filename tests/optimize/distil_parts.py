"""A llama with two layers and random weights, a tokenizer of its own, and steps that it can learn in seconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dspy

from triplecheck.lms import TolerantAdapter
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.reading import FORMAT, MANIFEST, TRACES, VERSION
from triplecheck.optimize.traces.records import messages_key, row_messages
from triplecheck.signatures import AnswerFromFacts

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{{ message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
COLOURS = ("red", "green", "blue", "white")


class NameColour(dspy.Signature):  # type: ignore[misc]
    """Name the colour of a thing."""

    thing: str = dspy.InputField()
    answer: str = dspy.OutputField()


class PickNumbers(dspy.Signature):  # type: ignore[misc]
    """Pick the numbers of what is bright, and say whether there is any."""

    things: list[str] = dspy.InputField()
    keep: list[int] = dspy.OutputField()
    bright: bool = dspy.OutputField()


def chat(signature: type[dspy.Signature], inputs: dict[str, Any], outputs: dict[str, Any]) -> list[dict[str, str]]:
    data = TolerantAdapter().format_finetune_data(signature, [], inputs, outputs)
    return [{"role": m["role"], "content": m["content"]} for m in data["messages"]]


def chat_row(messages: Sequence[Mapping[str, str]], step: str = "chat") -> TraceRow:
    """A row of a chat."""
    key, prompt = messages_key(messages), messages_key(messages[:-1])
    return TraceRow(key, prompt, key, "", step, "", "verified", "", tuple(messages))


def colour_row(number: int, split: str = "train", **changes: Any) -> TraceRow:
    messages = chat(NameColour, {"thing": f"thing {number}"}, {"answer": COLOURS[number % 4]})
    return _row(messages, number, "NameColour", split, changes)


def number_row(number: int, split: str = "train", **changes: Any) -> TraceRow:
    keep = [1, 3] if number % 4 == 2 else []
    outputs = {"keep": keep, "bright": bool(keep)}
    messages = chat(PickNumbers, {"things": [f"lamp {number}", "stone", "sun"]}, outputs)
    return _row(messages, number, "PickNumbers", split, changes)


def _row(messages: Any, number: int, step: str, split: str, changes: dict[str, Any]) -> TraceRow:
    row = asdict(chat_row(messages, step))
    return TraceRow.from_json(row | {"id": f"q{number}", "program": "toy", "split": split} | changes)


def rows(train: int = 16, dev: int = 4) -> list[TraceRow]:
    """Alternating rows of both steps; the last questions are held out."""
    made = []
    for number in range(train + dev):
        split = "train" if number < train else "dev"
        made.append((colour_row if number % 2 else number_row)(number, split))
    return made


def reply(
    cited: list[int], operation: str = "none", answers: tuple[str, ...] = (), reasoning: str = ""
) -> dict[str, Any]:
    return {"reasoning": reasoning, "cited": cited, "operation": operation, "answers": list(answers)}


def answering_row(number: int, inputs: dict[str, Any], outputs: dict[str, Any], split: str) -> TraceRow:
    """A row of the answering step of KERAG, as the pass `gold` writes it."""
    messages = row_messages(AnswerFromFacts, inputs, outputs)
    return TraceRow(
        messages_key(messages),
        messages_key(messages[:-1]),
        f"q{number}",
        "kerag",
        "AnswerFromFacts",
        "answer",
        "gold",
        "gold",
        messages,
        "dev" if split == "dev" else "train",
        inputs,
        outputs,
    )


def gold_row(number: int, split: str = "train") -> TraceRow:
    """The right reply to an answering step, as the pass `gold` writes it."""
    facts = [f"Film {number} → directed by → Person {number}", f"Film {number} → set in → Town {number}"]
    given = {"question": f"Who directed Film {number}?", "topics": [f"Film {number}"], "facts": facts}
    outputs = reply([1], answers=(f"Person {number}",), reasoning="The facts tell directed by.")
    return answering_row(number, given, outputs, split)


def traces(folder: Path, given: Iterable[TraceRow], **about: Any) -> Path:
    """Rows as `collect` writes them.

    Args:
        folder: to write to.
        given: the rows.
        **about: entries of the manifest besides those that are needed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(asdict(row)) + "\n" for row in given).encode()
    (folder / TRACES).write_bytes(data)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "passes": {},
        "graph": None,
        "sha256": hashlib.sha256(data).hexdigest(),
        **about,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder


def tiny_llama(folder: Path, texts: Sequence[str], context: int = 1024) -> Path:
    """Write the model and its tokenizer, which is trained on these texts."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=special[1], eos_token=special[2], pad_token=special[2], chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.2,  # else the frozen head could foretell nothing
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
