"""Trains a LoRA adapter on packed rows. Imported only to train: it loads torch and TRL."""

from __future__ import annotations

import json
import math
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from peft.helpers import disable_input_dtype_casting
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback, set_seed
from trl import SFTConfig

from triplecheck.kg import UserError
from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback
from triplecheck.lms.local.transformers_backend import LoadedModel, load_model, load_tokenizer
from triplecheck.lms.local.weights import Weights
from triplecheck.optimize.distil.data import DistilOptions, TrainingData, TrainingRow
from triplecheck.optimize.distil.pack_trainer import PackCollator, PackTrainer
from triplecheck.optimize.distil.prefix_packing import EpochOrder

_LOGGED = 50  # approximate number of logged training losses
_SAVE_EVERY = 300.0  # seconds between checkpoints, in addition to those after each evaluation
_SPENT = "spent.json"


def train(
    weights: Weights,
    data: TrainingData,
    options: DistilOptions,
    work: Path,
    device: str,
    tell: ProgressCallback,
    loaded: LoadedModel | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Train an adapter, from the last checkpoint in `work` if there is one.

    Args:
        weights: of the base model.
        work: keeps the checkpoints.
        device: see `find_device`.
        loaded: the base model, if it is in memory already: the adapter is added to it.

    Returns:
        The PEFT model with the weights of the lowest held-out loss (the last weights if nothing is held out), and
        the course of the training as plain data.

    Raises:
        UserError: the device is not available.
    """
    place = find_device(device)
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
    adapter = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",  # without the head
        task_type="CAUSAL_LM",
    )
    order = EpochOrder([one.tokens.family for one in data.train], options.side_by_side, options.seed)
    trainer = PackTrainer(
        order=order,
        dtype=dtype,
        model=model,
        args=_arguments(data, options, work, place),
        data_collator=PackCollator(encoded, options.piece_length),
        train_dataset=_entries(data.train, 0),
        eval_dataset=_entries(data.dev, len(data.train)) if data.dev else None,
        processing_class=tokenizer,
        peft_config=adapter,
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
        lr_scheduler_type="cosine",
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


def find_device(name: str) -> torch.device:
    """The device of a name: `cpu`, `cuda` ...; `auto` is a GPU if there is one.

    Raises:
        UserError: it is not available.
    """
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


def device_name(place: torch.device) -> str:
    """What a device is, in reports."""
    return torch.cuda.get_device_name(place) if place.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"


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
        "tokens_read": watch.tokens,
        "seconds": round(watch.seconds, 1),
        "device": device_name(place),
        "precision": str(dtype).removeprefix("torch."),
        "curve": curve,
    }


class TrainingProgress(TrainerCallback):  # type: ignore[misc]
    """Counts seconds and tokens over all runs of a resumed training, reports progress, and saves checkpoints."""

    def __init__(self, trainer: Any, tell: ProgressCallback, checkpoint: Path | None) -> None:
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
        if time.monotonic() - self._saved > _SAVE_EVERY:
            control.should_save = True
        self._say(state)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the seconds and tokens so far into the checkpoint."""
        self._saved = time.monotonic()
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_text(checkpoint / _SPENT, json.dumps({"seconds": self.seconds, "tokens": self.tokens}))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Remember the last losses."""
        names = {"loss": "loss", "eval_loss": "held out"}
        self._losses |= {names[name]: value for name, value in (logs or {}).items() if name in names}
        self._say(state)

    def _say(self, state: Any) -> None:
        parts = [f"{name} {value:.3f}" for name, value in self._losses.items()]
        done, here = state.global_step - self._first, time.monotonic() - self._begun
        if done:
            parts.append(f"{self._trainer.tokens_read / here:.0f} tokens/s")
            parts.append(f"{_minutes(here / done * (state.max_steps - state.global_step))} left")
        self._tell(f"training: {', '.join(parts)}" if parts else "training", state.global_step, state.max_steps)


def _spent(checkpoint: Path | None) -> tuple[float, int]:
    """Seconds and tokens up to a checkpoint; 0 if the process was killed before writing them."""
    if checkpoint is None or not (checkpoint / _SPENT).is_file():
        return 0.0, 0
    noted = json.loads((checkpoint / _SPENT).read_text("utf-8"))
    return float(noted["seconds"]), int(noted["tokens"])


def _minutes(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
