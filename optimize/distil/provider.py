"""A DSPy provider that fine-tunes embedded models, for `BootstrapFinetune`.

lm = trainable(language_model("local/smollm2"), "adapters")
job = lm.finetune(rows, TrainDataFormat.CHAT, train_kwargs={"epochs": 3})
session(job.result().name)
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from dspy.clients.provider import Provider, TrainingJob
from dspy.clients.utils_finetune import TrainDataFormat

from triplecheck.kg import UserError
from triplecheck.lms.local.engine import LocalEngine
from triplecheck.lms.local.weights import plain_name
from triplecheck.lms.metering import MeteredLM
from triplecheck.optimize.distil.data import DistilOptions, chat_row
from triplecheck.optimize.distil.run import distil_rows


class LocalJob(TrainingJob):  # type: ignore[misc]
    """A training job in a thread of this process."""

    def status(self) -> str:
        """`running`, `failed` or `succeeded`."""
        if not self.done():
            return "running"
        return "failed" if isinstance(self.result(), Exception) else "succeeded"


class LocalProvider(Provider):  # type: ignore[misc]
    """Distils the model of an embedded engine into a directory of distilled models."""

    def __init__(self, engine: LocalEngine, out: Path | str) -> None:
        super().__init__()
        self.finetunable = True
        self.TrainingJob = LocalJob
        self._engine, self._out = engine, Path(out)

    def finetune(
        self,
        job: TrainingJob,
        model: str,
        train_data: list[dict[str, Any]],
        train_data_format: TrainDataFormat | str | None,
        train_kwargs: dict[str, Any] | None = None,
    ) -> str:
        """Train on chats, and return the id of the distilled model.

        Args:
            job: not used.
            model: its id.
            train_data: `{"messages": [...]}`; the last message is the reply to learn.
            train_data_format: must be chat.
            train_kwargs: `DistilOptions` by name.

        Raises:
            UserError: no rows, rows in another format, or an unknown option.
        """
        if train_data_format not in (None, TrainDataFormat.CHAT, TrainDataFormat.CHAT.value):
            raise UserError(
                f"cannot train on data in the format {train_data_format!r}: give chats, as a chat adapter does"
            )
        if not train_data:
            raise UserError("there are no rows to train on: no run was correct")
        rows = []
        for number, row in enumerate(train_data, start=1):
            if not isinstance(row.get("messages"), list):
                raise UserError(f"row {number}: has no messages but {', '.join(row) or 'nothing'}")
            rows.append(chat_row(row["messages"]))
        given, there = train_kwargs or {}, [field.name for field in fields(DistilOptions)]
        unknown = sorted(given.keys() - set(there))
        if unknown:
            raise UserError(f"no training option {', '.join(unknown)}; there are: {', '.join(there)}")
        made = distil_rows(rows, self._out, base=plain_name(model), options=DistilOptions(**given))
        return self._engine.model_id(made.model)


def trainable(lm: Any, out: Path | str) -> Any:
    """The language model with a provider that trains it, if it is embedded; else unchanged.

    Loading a language model again drops the provider: then call this again.
    """
    if not is_trainable(lm) or lm.provider.finetunable:
        return lm
    return lm.copy(provider=LocalProvider(lm.engine, out))


def is_trainable(lm: Any) -> bool:
    """Whether the weights of a language model can be trained, here or by its own provider."""
    own = getattr(getattr(lm, "provider", None), "finetunable", False)
    return bool(own) or (isinstance(lm, MeteredLM) and isinstance(lm.engine, LocalEngine))
