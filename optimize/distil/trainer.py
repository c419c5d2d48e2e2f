"""TRL's supervised trainer, reading packs instead of padded batches.

What it changes costs nothing and spares most of the work: the head, with its 49,000 outputs, is only computed
where a token is to be learnt (TRL does so on GPUs alone), and the beginning that rows share is read once.
Imported only to train: it loads torch and TRL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers.trainer_utils import EvalLoopOutput
from trl import SFTTrainer

from optimize.distil.packs import EpochOrder, Pack, packs
from optimize.distil.tokens import Encoded


class PackCollator:
    """From the rows of a step to tensors, a dictionary a pack."""

    def __init__(self, rows: Sequence[Encoded], longest: int) -> None:
        self._rows, self._longest = rows, longest

    def __call__(self, batch: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Lay out the rows that these entries point to."""
        laid_out = packs([self._rows[entry["row"]] for entry in batch], self._longest)
        return {
            "packs": [pack_tensors(one) for one in laid_out],
            "families": [one.family for one in laid_out],
            "learnt": sum(one.learnt for one in laid_out),
            "read": sum(len(one.ids) for one in laid_out),
            "rows": [one.rows for one in laid_out],
        }


class PackTrainer(SFTTrainer):  # type: ignore[misc]
    """Trains on packs.

    Args:
        order: of the rows.
        steps: which step a family is of.
        dtype: that products are computed in.
        **given: of `trl.SFTTrainer`.
    """

    def __init__(self, *, order: EpochOrder, steps: Mapping[str, str], dtype: torch.dtype, **given: Any) -> None:
        self._order, self._steps, self._dtype = order, steps, dtype
        self.tokens_read = 0
        super().__init__(**given)

    def training_step(self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Any:
        """One step of all packs of a batch: the mean over all tokens that are to be learnt."""
        model.train()
        total = torch.zeros((), device=self.args.device)
        for one in inputs["packs"]:
            loss = token_losses(model, self._prepare_inputs(one), self._dtype)[0].sum() / inputs["learnt"]
            self.accelerator.backward(loss)
            total += loss.detach()
        self.tokens_read += inputs["read"]
        return total

    def evaluation_loop(self, dataloader: Any, description: str, *_: Any, **given: Any) -> EvalLoopOutput:
        """The mean loss of a token, and the share of rows whose every token is the likeliest: in all, and by step."""
        prefix = given.get("metric_key_prefix", "eval")
        self.model.eval()
        loss, learnt = 0.0, 0
        rows: Counter[str] = Counter()
        exact: Counter[str] = Counter()
        with torch.inference_mode():
            for batch in dataloader:
                for one, family, size in zip(batch["packs"], batch["families"], batch["rows"], strict=True):
                    tensors = self._prepare_inputs(one)
                    losses, right = token_losses(self.model, tensors, self._dtype)
                    loss += float(losses.sum())
                    wrong = tensors["rests"][0][tensors["targets"][0] >= 0][~right].unique()
                    rows[self._steps[family]] += size
                    exact[self._steps[family]] += size - len(wrong)
                learnt += batch["learnt"]
        metrics = {
            f"{prefix}_loss": loss / learnt,
            f"{prefix}_exact": exact.total() / rows.total(),
            f"{prefix}_exact_by_step": {step: exact[step] / count for step, count in rows.items()},
        }
        return EvalLoopOutput(predictions=None, label_ids=None, metrics=metrics, num_samples=rows.total())

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None beside checkpoints."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return self._order

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # As it is, it would look for the base model on the network, and pickle its arguments.
        self.model.save_pretrained(str(Path(output_dir or self.args.output_dir)), save_embedding_layers=False)


def pack_tensors(one: Pack) -> dict[str, Any]:
    """A pack as tensors of shape (1, its length)."""
    named = {"ids": one.ids, "positions": one.positions, "targets": one.targets, "rests": one.rests}
    return {name: torch.tensor([values]) for name, values in named.items()}


def token_losses(model: Any, one: dict[str, Any], dtype: torch.dtype) -> tuple[Any, Any]:
    """The loss of each token that is to be learnt, in order, and whether it is the likeliest.

    Args:
        model: of transformers, with or without an adapter.
        one: a pack, as tensors.
        dtype: that products are computed in.
    """
    ids, targets = one["ids"], one["targets"][0]
    places = (targets >= 0).nonzero()[:, 0]
    with torch.autocast(ids.device.type, dtype, enabled=dtype != torch.float32):
        logits = model(
            input_ids=ids,
            position_ids=one["positions"],
            attention_mask=_mask(one["rests"]),
            logits_to_keep=places,
            use_cache=False,
        ).logits[0]
    wanted = targets[places]
    return cross_entropy(logits.float(), wanted, reduction="none"), logits.argmax(-1) == wanted


def _mask(rests: Any) -> Any:
    """What each token sees: what stands before it, in the shared beginning and in its own row; None for all before."""
    rests = rests[0]
    if rests.min() == rests.max():
        return None
    length = len(rests)
    before = torch.ones(length, length, dtype=torch.bool, device=rests.device).tril()
    return (before & ((rests[None, :] == 0) | (rests[None, :] == rests[:, None])))[None, None]
