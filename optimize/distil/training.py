"""Trains a LoRA adapter on packed rows. Imported only to train: it loads torch and TRL."""

from __future__ import annotations

import json
import math
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft.helpers import disable_input_dtype_casting
from torch.nn.functional import cross_entropy
from transformers import DynamicCache, EarlyStoppingCallback, PrinterCallback, TrainerCallback, set_seed
from transformers.trainer_utils import EvalLoopOutput
from trl import SFTConfig, SFTTrainer

from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback
from triplecheck.lms.local.transformers_backend import LoadedModel, load_model, load_tokenizer
from triplecheck.lms.local.weights import Weights
from triplecheck.optimize.distil.data import DistilOptions, Encoded, TrainingData, TrainingRow
from triplecheck.optimize.distil.prefix_packing import EpochOrder, Pack, packs

# The adapter on disk: weights in float16 and PEFT's configuration.

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def lora_config(rank: int, alpha: int, modules: list[str]) -> Any:
    """PEFT's description of an adapter on the linear layers of these names."""
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules=modules, task_type="CAUSAL_LM")


def linear_layers(model: Any) -> list[str]:
    """Names of the linear layers of a model except its head: the last part of each name, sorted."""
    from torch.nn import Linear

    head = model.get_output_embeddings()
    return sorted(
        {name.rpartition(".")[2] for name, part in model.named_modules() if type(part) is Linear and part is not head}
    )


def write_adapter(model: Any, base: str, folder: Path) -> int:
    """Write the adapter of a PEFT model; the same weights give the same bytes.

    Args:
        model: with one adapter, `default`.
        base: name or path of the base model.
        folder: an existing directory.

    Returns:
        The number of parameters.
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


def minutes(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


# A callback: progress, elapsed time, and when to save a checkpoint.

SAVE_EVERY = 300.0
"""Seconds between checkpoints, in addition to those after each evaluation."""
_FILE = "spent.json"


class TrainingProgress(TrainerCallback):  # type: ignore[misc]
    """Counts seconds and tokens over all runs of a resumed training, reports progress, and saves checkpoints.

    Args:
        trainer: the trainer, which counts the tokens.
        tell: called with the stage, the number of steps done and the total.
        checkpoint: the checkpoint to resume from.
    """

    def __init__(self, trainer: Any, tell: ProgressCallback | None, checkpoint: Path | None) -> None:
        self.seconds, self.tokens = _spent(checkpoint)
        self._trainer, self._tell = trainer, tell
        self._before = (self.seconds, self.tokens)
        self._losses: dict[str, float] = {}
        self._begun = self._saved = time.monotonic()
        self._first = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock."""
        self._begun = self._saved = time.monotonic()
        self._first = state.global_step
        self._say(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Count, report, and request a checkpoint if it is time for one."""
        self.seconds = self._before[0] + time.monotonic() - self._begun
        self.tokens = self._before[1] + self._trainer.tokens_read
        if time.monotonic() - self._saved > SAVE_EVERY:
            control.should_save = True
        self._say(state)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the seconds and tokens so far into the checkpoint."""
        self._saved = time.monotonic()
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_text(checkpoint / _FILE, json.dumps({"seconds": self.seconds, "tokens": self.tokens}))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Remember the last losses."""
        names = {"loss": "loss", "eval_loss": "held out"}
        self._losses |= {names[name]: value for name, value in (logs or {}).items() if name in names}
        self._say(state)

    def _say(self, state: Any) -> None:
        if self._tell is None:
            return
        parts = [f"{name} {value:.3f}" for name, value in self._losses.items()]
        done, here = state.global_step - self._first, time.monotonic() - self._begun
        if done:
            parts.append(f"{self._trainer.tokens_read / here:.0f} tokens/s")
            parts.append(f"{minutes(here / done * (state.max_steps - state.global_step))} left")
        self._tell(f"training: {', '.join(parts)}" if parts else "training", state.global_step, state.max_steps)


def _spent(checkpoint: Path | None) -> tuple[float, int]:
    """Seconds and tokens up to a checkpoint; 0 if the process was killed before writing them."""
    if checkpoint is None or not (checkpoint / _FILE).is_file():
        return 0.0, 0
    noted = json.loads((checkpoint / _FILE).read_text("utf-8"))
    return float(noted["seconds"]), int(noted["tokens"])


# TRL's supervised trainer on packs instead of padded batches.
#
# It saves most of the computation with the same losses: the head, with its 49,000 outputs, is computed only for tokens
# with a loss (TRL does this only on GPUs), and a common prefix of rows is computed once.


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
    """Trains on packs.

    Args:
        order: order of the rows.
        steps: signature name by family.
        dtype: precision of matrix products.
        **given: arguments of `trl.SFTTrainer`.
    """

    def __init__(self, *, order: EpochOrder, steps: Mapping[str, str], dtype: torch.dtype, **given: Any) -> None:
        self._order, self._steps, self._dtype = order, steps, dtype
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
        """The mean loss per token, and the share of rows with every token predicted correctly, in total and by step."""
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

    Args:
        model: a transformers model, with or without an adapter.
        one: the rows.
        dtype: precision of matrix products.

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


_LOGGED = 50  # approximate number of logged training losses


def train(
    weights: Weights,
    data: TrainingData,
    options: DistilOptions,
    work: Path,
    device: str,
    tell: ProgressCallback | None = None,
    loaded: LoadedModel | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Train an adapter, from the last checkpoint in `work` if there is one.

    Args:
        weights: of the base model.
        data: rows to train and to measure on.
        options: of the training.
        work: keeps the checkpoints.
        device: `cpu`, `cuda` ...; `auto` uses a GPU if there is one.
        tell: called with the progress.
        loaded: the base model, if it is in memory already: the adapter is added to it.

    Returns:
        The PEFT model with the weights of the lowest held-out loss (the last weights if nothing is held out), and
        the course of the training as plain data.

    Raises:
        UserError: the device is not available.
    """
    place = _device(device)
    dtype = _dtype(options.precision, place)
    with warnings.catch_warnings():
        # The libraries use names that others of them have deprecated.
        warnings.simplefilter("ignore", FutureWarning)
        loaded = loaded or LoadedModel(load_tokenizer(weights), load_model(weights, dtype))
        trainer = _trainer(loaded, data, options, work, place, dtype)
        checkpoint = last_checkpoint(work)
        watch = TrainingProgress(trainer, tell, checkpoint)
        trainer.add_callback(watch)
        # Otherwise the adapter casts its inputs to float32, and autocast casts them back.
        with disable_input_dtype_casting(trainer.model):
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return trainer.model, _course(trainer.state, watch, place, dtype)


def last_checkpoint(work: Path) -> Path | None:
    """The newest complete checkpoint; incomplete ones, from a process killed while writing, are removed."""
    found = sorted(work.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    whole = [path for path in found if _is_whole(path)]
    for path in found:
        if path not in whole:
            shutil.rmtree(path)
    return whole[-1] if whole else None


def _is_whole(checkpoint: Path) -> bool:
    # The state is written last.
    try:
        json.loads((checkpoint / "trainer_state.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _trainer(
    loaded: LoadedModel,
    data: TrainingData,
    options: DistilOptions,
    work: Path,
    place: torch.device,
    dtype: torch.dtype,
) -> PackTrainer:
    set_seed(options.seed)
    tokenizer, model = loaded.tokenizer, loaded.model
    if place.type == "cpu" and dtype == torch.bfloat16:
        # On a CPU, torch's fused attention is slower in bfloat16 than plain matrix products.
        model.set_attn_implementation("eager")
    encoded = [one.tokens for one in (*data.train, *data.dev)]
    order = EpochOrder([one.tokens.family for one in data.train], options.side_by_side, options.seed)
    trainer = PackTrainer(
        order=order,
        steps={one.tokens.family: one.row.signature for one in (*data.train, *data.dev)},
        dtype=dtype,
        model=model,
        args=_arguments(data, options, work, place),
        data_collator=PackCollator(encoded, options.piece_length),
        train_dataset=_entries(data.train, 0),
        eval_dataset=_entries(data.dev, len(data.train)) if data.dev else None,
        processing_class=tokenizer,
        peft_config=lora_config(options.rank, options.alpha, linear_layers(model)),
        callbacks=[EarlyStoppingCallback(options.patience)] if data.dev else [],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _entries(rows: tuple[TrainingRow, ...], first: int) -> Dataset:
    """A data set of row indices; held-out rows are sorted by family, so that prefixes are shared."""
    numbers = list(range(first, first + len(rows)))
    if first:
        numbers.sort(key=lambda number: rows[number - first].tokens.family)
    return Dataset.from_dict({"row": numbers})


def _arguments(data: TrainingData, options: DistilOptions, work: Path, place: torch.device) -> SFTConfig:
    an_epoch = math.ceil(len(data.train) / options.batch)
    steps = min(options.epochs * an_epoch, options.max_steps or options.epochs * an_epoch)
    every = max(1, min(an_epoch, steps) // options.evaluations)
    measured = {
        "eval_strategy": "steps",
        "eval_steps": every,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "greater_is_better": False,
    }
    return SFTConfig(
        output_dir=str(work),
        per_device_train_batch_size=options.batch,
        per_device_eval_batch_size=options.batch,
        max_steps=steps,
        learning_rate=options.learning_rate,
        lr_scheduler_type=options.schedule if options.schedule == "cosine" else "constant_with_warmup",
        warmup_steps=math.ceil(options.warmup * steps),
        weight_decay=0.0,
        max_grad_norm=1.0,
        optim="adamw_torch",
        seed=options.seed,
        data_seed=options.seed,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        logging_steps=max(1, steps // _LOGGED),
        use_cpu=place.type == "cpu",
        bf16=False,  # `PackTrainer` sets the precision itself
        gradient_checkpointing=False,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        restore_callback_states_from_checkpoint=True,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        **(measured if data.dev else {}),
    )


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(name)
    except RuntimeError:
        raise UserError(f"no device {name!r}; give cpu, cuda, or auto") from None
    if place.type not in ("cpu", "cuda"):
        raise UserError(f"cannot train on {name!r}; give cpu, cuda, or auto")
    if place.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"no {name} on this machine; use cpu or auto")
    return place


def _dtype(precision: str, place: torch.device) -> torch.dtype:
    if precision != "auto":
        return getattr(torch, precision)
    if place.type == "cuda":
        fast = torch.cuda.is_bf16_supported()
    else:
        # Without these instructions, bfloat16 is emulated and slower than float32.
        fast = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if fast else torch.float32


def _course(state: Any, watch: TrainingProgress, place: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    named = {
        "loss": "loss",
        "learning_rate": "learning_rate",
        "eval_loss": "dev_loss",
        "eval_exact": "dev_exact",
        "eval_exact_by_step": "dev_exact_by_step",
    }
    curve = [
        {"step": entry["step"]} | {as_: entry[name] for name, as_ in named.items() if name in entry}
        for entry in state.log_history
        if "loss" in entry or "eval_loss" in entry
    ]
    best = min((entry for entry in curve if "dev_loss" in entry), key=lambda entry: entry["dev_loss"], default=None)
    return {
        "steps": state.global_step,
        "steps_planned": state.max_steps,
        "stopped_early": state.global_step < state.max_steps,
        "best_step": best["step"] if best else state.global_step,
        "dev_loss": best["dev_loss"] if best else None,
        "dev_exact": best["dev_exact"] if best else None,
        "dev_exact_by_step": best["dev_exact_by_step"] if best else None,
        "tokens_read": watch.tokens,
        "seconds": round(watch.seconds, 1),
        "device": torch.cuda.get_device_name(place)
        if place.type == "cuda"
        else f"cpu, {torch.get_num_threads()} threads",
        "precision": str(dtype).removeprefix("torch."),
        "curve": curve,
    }
