"""A callback: how far the training is, for how long it has run, and when to put it by. Imported only to train."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from triplecheck.kg._atomic import write_text
from triplecheck.kg.progress import ProgressCallback
from triplecheck.optimize.distil.progress import minutes

SAVE_EVERY = 300.0
"""Seconds after which a checkpoint is written, besides those after each measurement."""
_FILE = "spent.json"


class Watch(TrainerCallback):  # type: ignore[misc]
    """Counts seconds and tokens over all runs that a training is taken up in, tells how far it is, and saves.

    Args:
        trainer: that counts the tokens.
        tell: told (what, steps done, steps in all).
        checkpoint: that the run goes on from.
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
        """Count, tell, and ask for a checkpoint where it is time."""
        self.seconds = self._before[0] + time.monotonic() - self._begun
        self.tokens = self._before[1] + self._trainer.tokens_read
        if time.monotonic() - self._saved > SAVE_EVERY:
            control.should_save = True
        self._say(state)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note when the last checkpoint was written, and in it what it took."""
        self._saved = time.monotonic()
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_text(checkpoint / _FILE, json.dumps({"seconds": self.seconds, "tokens": self.tokens}))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Note the last losses."""
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
    """Seconds and tokens up to a checkpoint; none where the process was killed before it had noted them."""
    if checkpoint is None or not (checkpoint / _FILE).is_file():
        return 0.0, 0
    noted = json.loads((checkpoint / _FILE).read_text("utf-8"))
    return float(noted["seconds"]), int(noted["tokens"])
