from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from pathlib import Path

import dspy
import pytest
from model_stand_ins import QueueEngine, scripted_model

from triplecheck.kg.errors import UserError
from triplecheck.lms import ModelUnavailableError, Roles, language_model, register_engine, session, unregister_engine
from triplecheck.lms.metering import MeteredLM, price_of

PARIS = "[[ ## answer ## ]]\nParis"


def test_a_model_string_is_the_same_object_each_time_also_among_threads() -> None:
    found = []
    threads = [threading.Thread(target=lambda: found.append(language_model("openai/x"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(lm) for lm in found}) == 1
    assert isinstance(found[0], dspy.LM)
    assert language_model("openai/x", temperature=0.5) is not found[0]
    assert language_model("openai/x", temperature=0.5).kwargs["temperature"] == 0.5


@pytest.mark.parametrize("model", ["", "openai/"])
def test_an_invalid_model_string_is_rejected(model: str) -> None:
    with pytest.raises(UserError, match="not a model string"):
        language_model(model)


def test_a_model_string_may_set_how_its_calls_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_KEY", "secret")
    lm = language_model("openai/x?temperature=0.7&max_tokens=50&timeout=9&api_base=http://gpu:8000/v1&key_env=GPU_KEY")
    assert lm.name == lm.model == "openai/x", "the ledger and the price table know it by this name"
    set_ = {name: lm.kwargs[name] for name in ("temperature", "max_tokens", "timeout", "api_base", "api_key")}
    assert set_ == {
        "temperature": 0.7,
        "max_tokens": 50,
        "timeout": 9.0,
        "api_base": "http://gpu:8000/v1",
        "api_key": "secret",
    }
    assert language_model("openai/x").kwargs.get("temperature") != 0.7


@pytest.mark.parametrize(
    ("model", "temperature"),
    [
        ("openai/x", 0.0),
        ("anthropic/x", 0.0),
        ("openai/x?temperature=1", 1.0),
        # These refuse a temperature of 0.
        ("openai/gpt-5", None),
        ("openai/o3-mini", None),
    ],
)
def test_replies_are_not_sampled_unless_the_model_string_says_so(model: str, temperature: float | None) -> None:
    assert language_model(model).kwargs.get("temperature") == temperature


def test_each_role_may_have_its_own_settings() -> None:
    roles = Roles.parse(["openai/x", "prune=openai/x?temperature=0", "answer=openai/x?max_tokens=90"])
    assert roles.lm("prune").kwargs["temperature"] == 0
    assert roles.lm("answer").kwargs["max_tokens"] == 90
    assert Roles.from_json(roles.to_json()) == roles


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("openai/x?temprature=1", "there is no setting 'temprature'; there are temperature, max_tokens, timeout"),
        ("openai/x?temperature=hot", "temperature: input should be a valid number"),
        ("openai/x?max_tokens=0", "max_tokens: input should be greater than or equal to 1"),
        ("openai/x?key_env=NOT_SET_HERE", "the environment variable NOT_SET_HERE is not set"),
        ("student", "names no student: write student/DIR; `triplecheck distill --student reader`"),
        ("student?ranker=none", "names no student"),
    ],
)
def test_wrong_model_strings_are_named(model: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        language_model(model)


def test_an_engine_of_ones_own_is_registered_under_a_name() -> None:
    engine = QueueEngine(["hello"])
    register_engine("mine", engine)
    try:
        lm = language_model("mine")
        assert lm.name == "mine"
        assert lm.model == f"mine@{engine.fingerprint}"
        assert lm("hi") == ["hello"]
        with pytest.raises(UserError, match="exists already"):
            register_engine("mine", engine)
    finally:
        unregister_engine("mine")
    with pytest.raises(UserError, match="exists already"):
        register_engine("extractive", engine)


def test_the_model_id_carries_what_the_engine_is_so_that_no_other_reply_is_served_from_the_cache() -> None:
    for text in ("first", "second"):
        with scripted_model([text], "same/name"):
            assert language_model("same/name")("prompt") == [text]


def test_an_optimizers_copy_keeps_the_engine() -> None:
    with scripted_model([PARIS], "a") as engine:
        lm = language_model("a")
        for other in (copy.deepcopy(lm), lm.copy(rollout_id=1, temperature=1.0), copy.copy(lm)):
            assert isinstance(other, MeteredLM)
            assert other.engine is engine
            assert other.name == "a"


def test_an_unknown_local_model_names_what_there_is_and_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"does not exist.*local/smollm2.*local/DIRECTORY.*fine-tuning"):
        language_model("local/nothing")
    with pytest.raises(ModelUnavailableError, match="holds no model"):
        language_model(f"local/{tmp_path}")


def test_an_adapter_for_a_model_that_is_not_here_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "somebody/llama"}))
    with pytest.raises(ModelUnavailableError, match=r"for 'somebody/llama', which is neither local/smollm2"):
        language_model(f"local/{tmp_path}")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelUnavailableError, match="does not name the model"):
        language_model(f"local/{tmp_path}")


def test_prices_are_known_for_known_models_and_nothing_for_embedded_ones() -> None:
    price = price_of(language_model("openai/gpt-4o-mini"))
    assert price is not None
    assert price.of(1_000_000, 0) == pytest.approx(0.15)
    assert price_of(language_model("openai/no-such-model")) is None
    with scripted_model([], "a"):
        free = price_of(language_model("a"))
    assert free is not None and free.of(10, 10) == 0


def test_the_default_model_is_extractive() -> None:
    with session():
        assert dspy.settings.lm.name == "extractive"
        assert dspy.settings.lm.model.startswith("extractive@")


def test_importing_lms_loads_no_heavy_library() -> None:
    code = "import triplecheck.lms, sys; print([n for n in ('torch', 'transformers', 'litellm') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
