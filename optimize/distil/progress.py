"""A callback of a training: progress, elapsed time, and when to save a checkpoint."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback


def minutes(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


SAVE_EVERY = 300.0
"""Seconds between checkpoints, in addition to those after each evaluation."""
_FILE = "spent.json"


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
