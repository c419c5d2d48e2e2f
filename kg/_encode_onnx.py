"""BERT sentence encoders in ONNX Runtime, loaded directly from a sentence-transformers directory.

The graph of a few dozen nodes is built here with `onnx.helper`; the weights are passed as they are in
`model.safetensors`. So nothing is exported or stored, torch is never imported, and a session is ready in about 0.2 s.
The fused operators are documented in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from triplecheck.kg._arrays import FloatArray

_FUSED = "com.microsoft"
_PLAIN = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_MEAN = "pooling_mode_mean_tokens"


@dataclass(frozen=True)
class BertConfig:
    """The part of a BERT encoder's configuration that the graph depends on."""

    layers: int
    heads: int
    width: int
    epsilon: float
    max_tokens: int


def bert_config(directory: Path) -> BertConfig | None:
    """The configuration, or None if `OnnxEncoder` would not reproduce sentence-transformers.

    Supported are BERT models with mean pooling, optionally normalised, without prompts or further layers, if the
    packages onnx, onnxruntime, safetensors and tokenizers are installed.
    """
    if any(find_spec(package) is None for package in ("onnx", "onnxruntime", "safetensors", "tokenizers")):
        return None
    files = ("modules", "config", "sentence_bert_config", "1_Pooling/config", "config_sentence_transformers")
    try:
        modules, bert, sentence, pooling, about = (
            json.loads((directory / f"{file}.json").read_text("utf-8")) for file in files
        )
        usual = (
            [module["type"].rpartition(".")[2] for module in modules] in _PLAIN
            and [mode for mode, on in pooling.items() if mode.startswith("pooling_mode") and on] == [_MEAN]
            and (bert["model_type"], bert["hidden_act"]) == ("bert", "gelu")
            and bert.get("position_embedding_type", "absolute") == "absolute"
            and not sentence.get("do_lower_case")
            and not about.get("default_prompt_name")
            and all((directory / name).is_file() for name in ("model.safetensors", "tokenizer.json"))
        )
        shape = (bert["num_hidden_layers"], bert["num_attention_heads"], bert["hidden_size"], bert["layer_norm_eps"])
        return BertConfig(*shape, max_tokens=sentence["max_seq_length"]) if usual else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _bert_graph(config: BertConfig, tensor: Callable[[str], FloatArray]) -> tuple[bytes, dict[str, FloatArray]]:
    """The model without weights as ONNX bytes, and the weights by name.

    Inputs: `tokens` int32 (batch, length), padded on the right, and `lengths` int32 (batch,).
    Output: `hidden` float32 (batch, length, width).
    """
    from onnx import TensorProto, helper  # type: ignore[import-not-found, unused-ignore]

    weights: dict[str, FloatArray] = {}
    nodes: list[Any] = []

    def weight(name: str, value: FloatArray | None = None) -> str:
        weights[name] = np.ascontiguousarray(tensor(name) if value is None else value)
        return name

    def node(operator: str, inputs: list[str], output: str, domain: str = _FUSED, **attributes: Any) -> str:
        outputs = [output, ""] if operator == "EmbedLayerNormalization" else [output]
        nodes.append(helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return output

    def dense(layer: str, x: str) -> str:
        """Without bias: the next operator adds it."""
        matrix = weight(f"{layer}.weight", tensor(f"{layer}.weight").T)
        return node("MatMul", [x, matrix], f"{layer}.output", domain="")

    def add_and_norm(layer: str, x: str, residual: str) -> str:
        y = dense(f"{layer}.dense", x)
        norm = [weight(f"{layer}.LayerNorm.weight"), weight(f"{layer}.LayerNorm.bias")]
        inputs = [y, residual, *norm, weight(f"{layer}.dense.bias")]
        return node("SkipLayerNormalization", inputs, f"{layer}.LayerNorm.output", epsilon=config.epsilon)

    # A sentence encoder has one segment only, so its embedding can be added to each position's.
    segment = tensor("embeddings.token_type_embeddings.weight")[0]
    positions = weight("positions", tensor("embeddings.position_embeddings.weight") + segment)
    words = weight("embeddings.word_embeddings.weight")
    norm = [weight("embeddings.LayerNorm.weight"), weight("embeddings.LayerNorm.bias")]
    x = node("EmbedLayerNormalization", ["tokens", "", words, positions, "", *norm], "embedded", epsilon=config.epsilon)

    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        matrix = weight(f"{layer}.qkv", np.concatenate([tensor(f"{part}.weight").T for part in parts], axis=1))
        bias = weight(f"{layer}.qkv.bias", np.concatenate([tensor(f"{part}.bias") for part in parts]))
        attended = node("Attention", [x, matrix, bias, "lengths"], f"{layer}.attended", num_heads=config.heads)
        y = add_and_norm(f"{layer}.attention.output", attended, x)
        inner = dense(f"{layer}.intermediate.dense", y)
        inner = node("BiasGelu", [inner, weight(f"{layer}.intermediate.dense.bias")], f"{layer}.gelu")
        x = add_and_norm(f"{layer}.output", inner, y)
    node("Identity", [x], "hidden", domain="")

    def value(name: str, kind: int, *shape: str | int) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [value("tokens", TensorProto.INT32, "batch", "length"), value("lengths", TensorProto.INT32, "batch")]
    outputs = [value("hidden", TensorProto.FLOAT, "batch", "length", config.width)]
    where: dict[str, Any] = {"data_type": TensorProto.FLOAT, "data_location": TensorProto.EXTERNAL}
    outside = [TensorProto(name=name, dims=array.shape, **where) for name, array in weights.items()]
    for tensor_proto in outside:
        tensor_proto.external_data.add(key="location", value="memory")
    graph = helper.make_graph(nodes, "bert", inputs, outputs, outside)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString(), weights


class OnnxEncoder:
    """Embeds batches of texts. Thread-safe."""

    batch_tokens = 1024  # larger batches do not fit the processor's cache and are slower

    def __init__(self, directory: Path, config: BertConfig) -> None:
        import onnxruntime
        from safetensors import safe_open
        from tokenizers import Tokenizer

        self.dimensions = config.width
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(config.max_tokens)
        with safe_open(directory / "model.safetensors", "numpy") as file:
            model, weights = _bert_graph(config, file.get_tensor)
        # ONNX Runtime does not copy the weights: they must live as long as the session.
        self._weights = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
        options = onnxruntime.SessionOptions()
        options.add_external_initializers(list(weights), self._weights)
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Mean of the token vectors of each text, float32 (n, dimensions), not normalised."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
        inside = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros(inside.shape, np.int32)
        padded[inside] = np.concatenate(tokens)
        (hidden,) = self._session.run(["hidden"], {"tokens": padded, "lengths": lengths})
        mean: FloatArray = (inside[:, None].astype(np.float32) @ hidden)[:, 0] / lengths[:, None].astype(np.float32)
        return mean
