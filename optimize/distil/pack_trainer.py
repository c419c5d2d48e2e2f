"""TRL's supervised trainer on packs instead of padded batches.

It saves most of the computation with the same losses: the head, with its 49,000 outputs, is computed only for tokens
with a loss (TRL does this only on GPUs), and a common prefix of rows is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import DynamicCache
from transformers.trainer_utils import EvalLoopOutput
from trl import SFTTrainer

from triplecheck.optimize.distil.data import Encoded
from triplecheck.optimize.distil.prefix_packing import EpochOrder, Pack, packs


class PackCollator:
    """Turns the rows of a batch into packs, and counts the tokens with a loss and the tokens read."""

    def __init__(self, rows: Sequence[Encoded], longest: int) -> None:
        self._rows, self._longest = rows, longest

    def __call__(self, batch: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Pack the rows with these indices."""
        laid_out = packs([self._rows[entry["row"]] for entry in batch], self._longest)
        return {
            "packs": laid_out,
            "learnt": sum(one.learnt for one in laid_out),
            "read": sum(one.read for one in laid_out),
        }


class PackTrainer(SFTTrainer):  # type: ignore[misc]
    """Trains on packs of rows, in a given order, with matrix products in a given precision."""

    def __init__(self, *, order: EpochOrder, dtype: torch.dtype, **given: Any) -> None:
        self._order, self._dtype = order, dtype
        self.tokens_read = 0
        super().__init__(**given)

    def training_step(self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Any:
        """One step on all packs of a batch; returns the mean loss per token."""
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
        """The mean loss per token, and the share of rows with every token predicted correctly."""
        prefix = given.get("metric_key_prefix", "eval")
        self.model.eval()
        loss, learnt, rows, exact = 0.0, 0, 0, 0
        with torch.inference_mode():
            for batch in dataloader:
                for one in batch["packs"]:
                    for losses, right, row in token_losses(self.model, one, self._dtype):
                        loss += float(losses.sum())
                        count = len(row.unique())
                        rows += count
                        exact += count - len(row[~right].unique())
                learnt += batch["learnt"]
        metrics = {f"{prefix}_loss": loss / learnt, f"{prefix}_exact": exact / rows}
        return EvalLoopOutput(predictions=None, label_ids=None, metrics=metrics, num_samples=rows)

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Do not write a model card for checkpoints."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return self._order

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # The original method looks up the base model on the network, and pickles its arguments.
        self.model.save_pretrained(str(Path(output_dir or self.args.output_dir)), save_embedding_layers=False)


def token_losses(model: Any, one: Pack, dtype: torch.dtype) -> Iterator[tuple[Any, Any, Any]]:
    """Per piece, for each token with a loss: the loss, whether the token is predicted correctly, and its row.

    To train, call backward on the losses of each piece before requesting the next. After the last piece, the
    accumulated gradients of the prefix's keys and values are propagated through the prefix. So the activations of
    only one piece are in memory at a time.

    Yields:
        Three tensors of shape (tokens with a loss,): float32 losses, booleans, and row indices within the piece.
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
