"""The files of a LoRA adapter: weights in float16 and PEFT's configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def write_adapter(model: Any, base: str, folder: Path) -> int:
    """Write the adapter `default` of a PEFT model into a directory, and return the number of its parameters.

    The same weights give the same bytes. `base` is the name or path of the base model.
    """
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    state = get_peft_model_state_dict(model, save_embedding_layers=False)
    tensors = {name: state[name].detach().to("cpu", torch.float16).contiguous() for name in sorted(state)}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    config = model.peft_config["default"].to_dict() | {"base_model_name_or_path": base, "inference_mode": True}
    text = json.dumps(config, indent=1, sort_keys=True, default=_plain)
    (folder / CONFIG).write_text(text + "\n", "utf-8")
    return sum(tensor.numel() for tensor in tensors.values())


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)
