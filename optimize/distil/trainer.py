"""TRL's supervised trainer, reading packs instead of padded batches.

What it changes costs nothing and spares most of the work: the head, with its 49,000 outputs, is only computed
where a token is to be learnt (TRL does so on GPUs alone), and the beginning that rows share is read once.
Imported only to train: it loads torch and TRL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import DynamicCache
from transformers.trainer_utils import EvalLoopOutput
from trl import SFTTrainer

from triplecheck.optimize.distil.packs import EpochOrder, Pack, packs
from triplecheck.optimize.distil.tokens import Encoded


class PackCollator:
    """From the rows of a step to packs, with how much of them is learnt and read."""

    def __init__(self, rows: Sequence[Encoded], longest: int) -> None:
        self._rows, self._longest = rows, longest

    def __call__(self, batch: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Lay out the rows that these entries point to."""
        laid_out = packs([self._rows[entry["row"]] for entry in batch], self._longest)
        return {
            "packs": laid_out,
            "learnt": sum(one.learnt for one in laid_out),
            "read": sum(one.read for one in laid_out),
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
            for losses, _, _ in token_losses(model, one, self._dtype):
                loss = losses.sum() / inputs["learnt"]
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
                for one in batch["packs"]:
                    for losses, right, row in token_losses(self.model, one, self._dtype):
                        loss += float(losses.sum())
                        step, count = self._steps[one.family], len(row.unique())
                        rows[step] += count
                        exact[step] += count - len(row[~right].unique())
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


def token_losses(model: Any, one: Pack, dtype: torch.dtype) -> Iterator[tuple[Any, Any, Any]]:
    """Of each token that is to be learnt, piece by piece: its loss, whether it is the likeliest, and its row.

    To learn, go backward from the losses of each piece before the next; after the last one, the gradients go
    on from what the rests made of the beginning. So no more than a piece is kept at a time.

    Args:
        model: of transformers, with or without an adapter.
        one: the rows.
        dtype: that products are computed in.
    """
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    place = model.device
    products = partial(torch.autocast, place.type, dtype, enabled=dtype != torch.float32)
    beginning: list[Any] = []
    if one.shared:
        with products():
            read = decoder(input_ids=torch.tensor([one.shared], device=place), use_cache=True).past_key_values
        beginning = [part for layer in read.layers for part in (layer.keys, layer.values)]
    learns = torch.is_grad_enabled()
    given = [part.detach().requires_grad_(learns) for part in beginning]
    for piece in one.pieces:
        targets = torch.tensor(piece.targets, device=place)
        learnt = targets >= 0
        before = DynamicCache()
        repeated = [part.expand(len(targets), -1, -1, -1) for part in given]
        for layer, (keys, values) in enumerate(zip(repeated[::2], repeated[1::2], strict=True)):
            before.update(keys, values, layer)
        with products():
            rests = torch.tensor(piece.rests, device=place)
            read = decoder(input_ids=rests, past_key_values=before, use_cache=True)
            logits = head(read.last_hidden_state[learnt])
        wanted = targets[learnt]
        losses = cross_entropy(logits.float(), wanted, reduction="none")
        yield losses, logits.argmax(-1) == wanted, learnt.nonzero()[:, 0]
    if learns and beginning:
        torch.autograd.backward(beginning, [part.grad for part in given])
