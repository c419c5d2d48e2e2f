"""BERT sentence encoders in ONNX Runtime, loaded directly from a sentence-transformers directory.

The graph of a few dozen nodes is written here in ONNX's protocol buffers (onnx.proto3); the weights are read from
`model.safetensors`. So nothing is exported or stored, neither torch nor onnx is needed, and a session is ready in
about 0.2 s. The fused operators are documented in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.errors import UnavailableError

_FUSED = "com.microsoft"
_PLAIN = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_WORDS = "embeddings.word_embeddings.weight"
_FLOAT, _INT32 = 1, 6  # TensorProto.DataType
_EXTERNAL = 1  # TensorProto.DataLocation
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

    Supported are BERT models with mean pooling, optionally normalised, without prompts or further layers.
    """
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


def _bert_graph(
    config: BertConfig, tensor: Callable[[str], FloatArray]
) -> tuple[bytes, dict[str, FloatArray], dict[str, FloatArray]]:
    """A model as ONNX bytes, and by name the weights that are its inputs, and the matrices that are initializers.

    Inputs: `tokens` int32 (batch, length), padded on the right, `lengths` int32 (batch,), and the weights, which every
    call is given: ONNX Runtime copies initializers, and of word vectors few are used. Initializers it packs once for
    the processor; otherwise each call packs them anew, which is most of the time of a short text.
    Output: `hidden` float32 (batch, length, width).
    """
    weights: dict[str, FloatArray] = {}
    matrices: dict[str, FloatArray] = {}
    nodes: list[bytes] = []

    def weight(name: str, value: FloatArray | None = None) -> str:
        weights[name] = tensor(name) if value is None else value
        return name

    def matrix(name: str, value: FloatArray) -> str:
        matrices[name] = value
        return name

    def node(operator: str, inputs: list[str], output: str, domain: str = _FUSED, **attributes: int | float) -> str:
        outputs = [output, ""] if operator == "EmbedLayerNormalization" else [output]
        kinds = {name: 1 if isinstance(value, float) else 2 for name, value in attributes.items()}
        given = [_message((1, name), (1 + kinds[name], value), (20, kinds[name])) for name, value in attributes.items()]
        ends = [*((1, one) for one in inputs), *((2, one) for one in outputs)]
        nodes.append(_message(*ends, (4, operator), *((5, one) for one in given), (7, domain)))
        return output

    def dense(layer: str, x: str) -> str:
        """Without bias: the next operator adds it."""
        name = f"{layer}.weight"
        return node("FusedMatMul", [x, matrix(name, tensor(name))], f"{layer}.output", transB=1)

    def add_and_norm(layer: str, x: str, residual: str) -> str:
        y = dense(f"{layer}.dense", x)
        norm = [weight(f"{layer}.LayerNorm.weight"), weight(f"{layer}.LayerNorm.bias")]
        inputs = [y, residual, *norm, weight(f"{layer}.dense.bias")]
        return node("SkipLayerNormalization", inputs, f"{layer}.LayerNorm.output", epsilon=config.epsilon)

    # A sentence encoder has one segment only, so its embedding can be added to each position's.
    segment = tensor("embeddings.token_type_embeddings.weight")[0]
    positions = weight("positions", tensor("embeddings.position_embeddings.weight") + segment)
    words = weight(_WORDS)
    norm = [weight("embeddings.LayerNorm.weight"), weight("embeddings.LayerNorm.bias")]
    x = node("EmbedLayerNormalization", ["tokens", "", words, positions, "", *norm], "embedded", epsilon=config.epsilon)

    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        qkv = matrix(f"{layer}.qkv", np.ascontiguousarray(np.concatenate([tensor(f"{p}.weight") for p in parts]).T))
        bias = weight(f"{layer}.qkv.bias", np.concatenate([tensor(f"{part}.bias") for part in parts]))
        attended = node("Attention", [x, qkv, bias, "lengths"], f"{layer}.attended", num_heads=config.heads)
        y = add_and_norm(f"{layer}.attention.output", attended, x)
        inner = dense(f"{layer}.intermediate.dense", y)
        inner = node("BiasGelu", [inner, weight(f"{layer}.intermediate.dense.bias")], f"{layer}.gelu")
        x = add_and_norm(f"{layer}.output", inner, y)
    node("Identity", [x], "hidden", domain="")

    def initializer(name: str, *shape: int) -> bytes:
        """Declares a matrix whose values are handed to the session."""
        sizes = ((1, size) for size in shape)
        return _message(*sizes, (2, _FLOAT), (8, name), (13, _message((1, "location"), (2, name))), (14, _EXTERNAL))

    def value(name: str, kind: int, *shape: str | int) -> bytes:
        dimensions = [_message((2 if isinstance(size, str) else 1, size)) for size in shape]
        tensor_type = _message((1, kind), (2, _message(*((1, one) for one in dimensions))))
        return _message((1, name), (2, _message((1, tensor_type))))

    graph = _message(
        *((1, one) for one in nodes),
        (2, "bert"),
        *((5, initializer(name, *array.shape)) for name, array in matrices.items()),
        (11, value("tokens", _INT32, "batch", "length")),
        (11, value("lengths", _INT32, "batch")),
        *((11, value(name, _FLOAT, *array.shape)) for name, array in weights.items()),
        (12, value("hidden", _FLOAT, "batch", "length", config.width)),
    )
    opsets = [_message((1, ""), (2, 17)), _message((1, _FUSED), (2, 1))]
    return _message((1, 8), (7, graph), *((8, one) for one in opsets)), weights, matrices


def _message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """A message in the encoding of protocol buffers, from the numbers and values of its fields."""
    written = []
    for number, value in fields:
        if isinstance(value, float):
            written += [_varint(number << 3 | 5), struct.pack("<f", value)]
        elif isinstance(value, int):
            written += [_varint(number << 3), _varint(value)]
        else:
            data = value.encode() if isinstance(value, str) else value
            written += [_varint(number << 3 | 2), _varint(len(data)), data]
    return b"".join(written)


def _varint(value: int) -> bytes:
    groups = [value & 127]
    while value := value >> 7:
        groups[-1] |= 128
        groups.append(value & 127)
    return bytes(groups)


def _tensors(path: Path) -> Callable[[str], FloatArray]:
    """Reads tensors of a safetensors file by name; they are mapped, so that only what is in use takes memory."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    data = np.memmap(path, np.uint8, "r", 8 + length)

    def tensor(name: str) -> FloatArray:
        about = header[name]
        start, stop = about["data_offsets"]
        if about["dtype"] != "F32" or 4 * math.prod(about["shape"]) != stop - start:
            raise UnavailableError(f"{path}: the tensor {name} is not of 32-bit floats; save the model in float32")
        return np.require(data[start:stop].view(np.float32).reshape(about["shape"]), requirements="A")

    return tensor


class OnnxEncoder:
    """Embeds batches of texts. Thread-safe."""

    batch_tokens = 1024  # larger batches do not fit the processor's cache and are slower
    call_tokens = 16  # what a call costs, in tokens

    def __init__(self, directory: Path, config: BertConfig) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.dimensions = config.width
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(config.max_tokens)
        model, *arrays = _bert_graph(config, _tensors(directory / "model.safetensors"))
        self._value = onnxruntime.OrtValue.ortvalue_from_numpy
        self._inputs, matrices = ({name: self._value(array) for name, array in some.items()} for some in arrays)
        options = onnxruntime.SessionOptions()
        options.add_external_initializers(list(matrices), list(matrices.values()))
        # Threads that wait for work by spinning cost half as much CPU again.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Mean of the token vectors of each text, float32 (n, dimensions), not normalised."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
        inside = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros(inside.shape, np.int32)
        padded[inside] = np.concatenate(tokens)
        inputs = {"tokens": self._value(padded), "lengths": self._value(lengths), **self._inputs}
        hidden = self._session.run_with_ort_values(["hidden"], inputs)[0].numpy()
        mean: FloatArray = (inside[:, None].astype(np.float32) @ hidden)[:, 0] / lengths[:, None].astype(np.float32)
        return mean
