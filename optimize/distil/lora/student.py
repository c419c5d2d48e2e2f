"""Fine-tunes a model on its own verified chains of thought, and measures it before and after.

Source: KERAG (arXiv 2509.04716), its third mechanism: of each training question the model writes a chain of thought and
an answer. One that is right and proved is learnt whole; else the base prompt is learnt, with the right answer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.evals.run_directory import JsonLines
from triplecheck.kg import UserError
from triplecheck.lms.local.backend import LocalConfig
from triplecheck.lms.local.weights import PREFIX, SMOLLM2
from triplecheck.optimize.distil.lesson import Lesson
from triplecheck.optimize.distil.lora.forms import (
    BASE,
    BASE_BARE,
    CHAIN,
    CHAIN_BARE,
    LEFT_OUT,
    LEFT_OUT_BASE,
    TEMPERATURE,
    TUNED,
    TUNED_BASE,
    Form,
    KeptBackend,
    Reply,
    replies,
)
from triplecheck.optimize.distil.lora.report import LoraReport, problem_of
from triplecheck.optimize.distil.report import OF_TRACES, Learnt, StudentReport
from triplecheck.optimize.distil.run import base_weights, check_libraries, distil_rows
from triplecheck.optimize.distil.tasks import Task, answering, check_enough, graph_names
from triplecheck.optimize.traces import TraceRow
from triplecheck.optimize.traces.records import messages_key, row_messages

if TYPE_CHECKING:
    from triplecheck.lms.local.transformers_backend import LoadedModel, TransformersBackend

COMPLETIONS = "completions.jsonl"
_GPU_BATCH, _GPU_PIECE = 128, 4096


def distil_lora(lesson: Lesson) -> StudentReport:
    """Let a model write chains, train an adapter on those that are proved, and measure base, chain and fine-tuned.

    Writes the adapter as `distil_rows` does, and its report and `NAME.replies.jsonl` beside it, each as soon as
    there is something to write. What the model wrote is kept in `completions.jsonl`, so that the same call resumes an
    interrupted run.

    Args:
        lesson: its rows with right replies are used.

    Raises:
        UserError: too few rows to train on, or an unknown graph is to be left out.
        UnavailableError: a library or the base model is missing.
    """
    check_libraries()
    tasks, how = _tasks(lesson), lesson.how
    run = _Run(lesson)
    run.load()
    taught = run.chains([row for task in tasks for row in task.train])
    run.train("all", list(taught.values()), lesson.name)
    for form in (TUNED, TUNED_BASE, CHAIN, BASE):
        run.measure(form, tasks, "all")
    for task in tasks:
        if task.graph in how.left_out and not run.late:
            others = [taught[row.key] for other in tasks if other is not task for row in other.train]
            run.train(task.graph, others)
            for form in (LEFT_OUT, LEFT_OUT_BASE):
                run.measure(form, [task], task.graph)
    for form in (CHAIN_BARE, BASE_BARE) if how.bare else ():
        run.measure(form, tasks, "all")
    return run.told()


def _tasks(lesson: Lesson) -> list[Task]:
    """The right replies of each graph. Refuses a lesson with too few rows to learn, and unknown graphs to leave out."""
    right: dict[str, list[TraceRow]] = {}
    for folder, graph in graph_names(lesson.rows).items():
        own = (row for row in answering(lesson.rows[folder]) if row.source == "gold")
        right.setdefault(graph, []).extend(own)
    tasks = [Task.of(graph, graph, rows) for graph, rows in right.items()]
    check_enough(tasks, "lora")
    graphs = sorted(task.graph for task in tasks if task.test)
    unknown = sorted(set(lesson.how.left_out) - set(graphs))
    if unknown:
        raise UserError(f"no test rows of {', '.join(unknown)} to leave out; there are: {', '.join(graphs) or 'none'}")
    return tasks


class _Run:
    def __init__(self, lesson: Lesson) -> None:
        from triplecheck.optimize.distil.training import device_name, find_device

        self._lesson, self._how, self._tell = lesson, lesson.how, lesson.progress
        self._weights, self._out = base_weights(lesson.base), lesson.out
        self._begun = time.monotonic()
        self._rows: list[TraceRow] = []
        self._adapters: dict[str, Path] = {}
        self._loaded: LoadedModel | None = None
        place = find_device(lesson.device)
        gpu, self._device = place.type == "cuda", str(place)
        self._batch = _GPU_BATCH if gpu else LocalConfig().batch_size
        self._options = replace(lesson.training, piece_length=_GPU_PIECE) if gpu else lesson.training
        how = asdict(self._how) | {"temperature": TEMPERATURE}
        self.report = LoraReport({"base": self._weights.name, "device": device_name(place), "how": how})
        self._out.mkdir(parents=True, exist_ok=True)
        self._replies = self._out / f"{self._name}.replies.jsonl"
        self._replies.unlink(missing_ok=True)  # of an earlier run

    @property
    def _name(self) -> str:
        return self._lesson.name or "lora"

    @property
    def _until(self) -> float | None:
        return None if self._how.seconds is None else self._begun + self._how.seconds

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self._until is not None and time.monotonic() > self._until

    def load(self) -> None:
        """Load the base model once, for all forms and adapters."""
        import torch

        from triplecheck.lms.local.transformers_backend import LoadedModel, load_model, load_tokenizer

        with self._phase("load"):
            dtype = torch.float32 if self._device == "cpu" else torch.bfloat16
            model = load_model(self._weights, dtype).to(self._device)
            self._loaded = LoadedModel(load_tokenizer(self._weights), model)

    def chains(self, rows: Sequence[TraceRow]) -> dict[str, TraceRow]:
        """By the key of each row its verified chain, else the base prompt with the right answer."""
        found: dict[str, TraceRow] = {}
        problems: dict[str, str] = {}
        with self._phase("chains"):
            todo = list(rows)
            for sample in range(self._how.samples + 1):
                given, _ = self._ask(CHAIN, todo, f"chains {sample}", sample)
                for row, reply in zip(todo, given, strict=True):
                    problem = "too_long" if reply is None else problem_of(row, reply)
                    problems.setdefault(row.key, problem or "chain")
                    if reply is not None and reply.outputs is not None and problem is None:
                        found[row.key] = _taught(row, CHAIN, reply.outputs, self._weights.name, "verified")
                todo = [row for row in todo if row.key not in found]
                if self.late or not todo:
                    break
        for row in todo:
            found[row.key] = _taught(row, BASE, row.outputs, "gold", "base")
        self.report.chains = {
            "rows": len(rows),
            "chains": len(rows) - len(todo),
            "base": len(todo),
            "greedy": dict(Counter(problems.values()).most_common()),
        }
        self._save()
        return {row.key: found[row.key] for row in rows}

    def train(self, which: str, rows: Sequence[TraceRow], name: str | None = None) -> None:
        """Train an adapter; the base model stays in memory."""
        if which == "all":
            self._rows = list(rows)
        with self._phase(f"train {which}"):
            made = distil_rows(
                rows,
                self._out,
                base=self._weights.name,
                options=self._options,
                name=name,
                device=self._device,
                progress=self._tell,
                loaded=self._loaded,
            )
        self._adapters[which] = made.path
        keep = ("data", "options", "adapter", "training", "versions")
        self.report.adapters[which] = {"model": made.path.name} | {part: made.manifest[part] for part in keep}
        self._save()

    def measure(self, form: Form, tasks: Sequence[Task], which: str) -> None:
        """Ask the test rows in a form."""
        rows = [row for task in tasks for row in task.test]
        if not rows or self.late:
            return
        with self._phase(f"{form.name}: {which}"):
            given, spent = self._ask(form, rows, form.name, which=which)
        at = 0
        for task in tasks:
            own = given[at : (at := at + len(task.test))]
            if own:
                self.report.add(task.graph, form, task.test, own, spent * len(own) / len(rows))
        self._save()

    def _ask(
        self, form: Form, rows: Sequence[TraceRow], what: str, sample: int = 0, which: str = "all"
    ) -> tuple[list[Reply | None], float]:
        """The replies to some rows, and the seconds that writing them took."""
        model = self._weights.fingerprint
        if form.adapted:
            model += self.report.adapters[which]["adapter"]["sha256"]
        with self._writer(form, which) as backend, KeptBackend(backend, self._out / COMPLETIONS, model) as writer:
            given = replies(
                writer,
                form,
                rows,
                self._batch,
                sample,
                lambda done: self._tell(what, done, len(rows)),
                self._until,
            )
        with JsonLines(self._replies) as file:
            for row, reply in zip(rows, given, strict=True):
                if reply is not None:
                    about = {"form": form.name, "adapter": which if form.adapted else None, "sample": sample}
                    problem = problem_of(row, reply)
                    file.append({"row": row.key, **about, **asdict(reply), "problem": problem, "gold": row.outputs})
        return given, writer.seconds

    @contextmanager
    def _writer(self, form: Form, which: str) -> Iterator[TransformersBackend]:
        from triplecheck.lms.local.transformers_backend import LoadedModel, TransformersBackend

        assert self._loaded is not None
        config = replace(LocalConfig(), device=self._device)
        if not form.adapted:
            yield TransformersBackend(self._weights, config, self._loaded)
            return
        from peft import PeftModel

        adapted = PeftModel.from_pretrained(self._loaded.model, str(self._adapters[which]))
        try:
            yield TransformersBackend(self._weights, config, LoadedModel(self._loaded.tokenizer, adapted))
        finally:
            adapted.unload()

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        begun = time.monotonic()
        self._tell(name, 0, None)
        yield
        self.report.seconds[name] = time.monotonic() - begun

    def told(self) -> StudentReport:
        """The report so far."""
        lesson, about = self._lesson, self.report.adapters.get("all", {}).get("data", {})
        file = self._out / lesson.name if lesson.name else self._adapters.get("all", self._out)
        base = "Apache-2.0, as the base model" if self._weights.name == SMOLLM2 else "that of the base model"
        return StudentReport(
            "lora",
            f"{PREFIX}{file}",
            file,
            Learnt.of(list(lesson.rows), self._rows, about.get("left_out")),
            self.report.scores,
            time.monotonic() - self._begun,
            f"{base}; {OF_TRACES}",
            self.report.to_json(),
        )

    def _save(self) -> None:
        self.told().write(self._out, self._name)


def _taught(row: TraceRow, form: Form, outputs: Mapping[str, Any], model: str, source: Any) -> TraceRow:
    """A row that teaches these outputs for the inputs of another."""
    kept = {name: outputs[name] for name in form.step.output_fields}
    messages = row_messages(form.step, row.inputs, kept)
    keys = messages_key(messages), messages_key(messages[:-1])
    return replace(
        row, key=keys[0], prompt=keys[1], source=source, model=model, messages=messages, outputs=kept, split="train"
    )
