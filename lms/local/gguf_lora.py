"""Converts a PEFT LoRA adapter to llama.cpp's format (GGUF), for a base model in GGUF.

Tensor names and keys follow `src/llama-adapter.cpp`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from triplecheck.kg.values import parse_json
from triplecheck.lms.errors import ModelUnavailableError

_NAME = re.compile(r"model\.layers\.(?P<block>\d+)\.(?P<module>\w+\.\w+)\.lora_(?P<half>[AB])\.weight$")
_MODULES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf_lora(adapter: Path, base: Path, target: Path) -> None:
    """Write the adapter in a directory as one GGUF file.

    Args:
        adapter: directory with `adapter_config.json` and `adapter_model.safetensors`.
        base: GGUF file of the base model; it holds the number of heads.

    Raises:
        ModelUnavailableError: the base is not a llama architecture, or the adapter has tensors that it does not
            support.
    """
    import gguf
    from safetensors.numpy import load_file

    heads = _heads(base, gguf)
    config = parse_json((adapter / "adapter_config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
    for name, weights in sorted(load_file(adapter / "adapter_model.safetensors").items()):
        match = _NAME.search(name)
        if match is None or match["module"] not in _MODULES:
            raise ModelUnavailableError(f"{adapter}: {name} has no place in llama.cpp; use the backend transformers")
        part = _MODULES[match["module"]]
        if match["half"] == "B" and part in heads:
            weights = _interleaved(weights, heads[part])
        writer.add_tensor(f"blk.{match['block']}.{part}.weight.lora_{match['half'].lower()}", weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _heads(base: Path, gguf: Any) -> dict[str, int]:
    """The numbers of query and key heads of a model."""
    fields = gguf.GGUFReader(base).fields
    architecture = fields["general.architecture"].contents()
    if architecture != "llama":
        raise ModelUnavailableError(
            f"{base}: is of the architecture {architecture!r}; adapters are only turned into GGUF for llama; "
            "use the backend transformers"
        )
    count = int(fields["llama.attention.head_count"].contents())
    keys = fields.get("llama.attention.head_count_kv")
    return {"attn_q": count, "attn_k": int(keys.contents()) if keys is not None else count}


def _interleaved(weights: Any, heads: int) -> Any:
    """Rows in llama.cpp's order: it rotates neighbouring pairs of a head, transformers rotates its halves."""
    rows, columns = weights.shape
    return weights.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)
