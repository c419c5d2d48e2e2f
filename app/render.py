"""Steps, answers and proofs as text for people. Everything from graphs and models is printed inertly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from app.console import printable
from lms import Usage
from programs import steps
from programs.steps import Step

_KIND_WIDTH = 10
_LISTED = 3  # names of a list that are shown
_LONGEST = 160  # characters of anything free


def step_line(step: Step) -> Text:
    """One step on one line."""
    line = Text(f"  {step.kind:<{_KIND_WIDTH}}", style="cyan", no_wrap=False)
    style = "red" if isinstance(step, steps.Stopped) or (isinstance(step, steps.Checked) and not step.passed) else ""
    return line.append(_short(_say(step)), style=style)


def answer_lines(result: Any) -> list[Text]:
    """The answer, and the triples that prove it.

    Args:
        result: the prediction of a program.
    """
    lines = [Text()]
    if result.abstained:
        lines.append(Text("No answer", style="bold yellow").append(f" ({printable(result.reason)})", style="default"))
    else:
        lines.append(Text("Answer  ", style="bold").append(printable(result.answer), style="bold green"))
        known = [f"{printable(found['label'])} <{printable(found['id'])}>" for found in result.answers]
        if known:
            lines.append(Text("        ").append(_listed(known, 10), style="dim"))
        if not result.grounded:
            lines.append(Text("        not grounded: no triple of the graph supports it", style="yellow"))
    if result.evidence:
        lines.append(Text("Proof", style="bold"))
        lines += [proof_line(row) for row in result.evidence]
    return lines


def proof_line(row: dict[str, str]) -> Text:
    """One triple of a proof by its labels."""
    line = Text("  ").append(printable(row["head_label"]))
    line.append(f" —{printable(row['relation_label'])}→ ", style="magenta")
    return line.append(printable(row["tail_label"]))


def usage_line(program: str, usage: Usage, seconds: float | None = None) -> Text:
    """Which program and which models worked, and what that took.

    Args:
        program: its name.
        usage: what its calls took.
        seconds: what the clock showed in all.
    """
    parts = [program, f"played by {', '.join(models(usage)) or 'no model'}"]
    parts.append(f"{usage.calls} call{'' if usage.calls == 1 else 's'}")
    if usage.cached_calls:
        parts[-1] += f" ({usage.cached_calls} from the cache)"
    parts.append(f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens")
    parts.append(f"{usage.seconds:.2f} s in models" + (f" of {seconds:.2f} s" if seconds is not None else ""))
    if usage.dollars:
        parts.append(f"${usage.dollars:.4f}")
    return Text("  ".join(printable(part) for part in parts), style="dim")


def models(usage: Usage) -> list[str]:
    """The models that were called."""
    return sorted(usage.by_model)


def _say(step: Step) -> str:
    match step:
        case steps.Linked(mention, candidates, chosen):
            found = [c for c in candidates if c["id"] in chosen]
            shown = _listed([f"{c['label']} <{c['id']}> by {c['source']} {c['score']:.2f}" for c in found])
            return f"{mention!r} → {shown or 'nothing'}{_others(len(candidates) - len(found))}"
        case steps.Pruned(hop, offered, kept, by):
            return f"hop {hop}: {len(kept)} of {len(offered)} by {by}: {_listed(kept) or 'nothing'}"
        case steps.Expanded(hop, path, triples, total):
            return f"hop {hop}: {path}: {triples}{f' of {total}' if total > triples else ''} triples"
        case steps.Truncated(what, kept, total):
            return f"{what}: {kept} of {total}"
        case steps.Scored(what, scores):
            return f"{what}: " + _listed([f"{name} {score:.2f}" for name, score in scores])
        case steps.Wrote(role, model, signature, outputs):
            return f"{model} as {role} ({signature}): " + ", ".join(f"{k}={_value(v)}" for k, v in outputs.items())
        case steps.Checked(what, passed, reason):
            return f"{what}: {'yes' if passed else 'no'}{f', {reason}' if reason else ''}"
        case steps.Computed(operation, inputs, result):
            return f"{operation} of {inputs} = {result}"
        case steps.Answered(answer, grounded):
            return f"{answer}{'' if grounded else ' (not grounded)'}"
        case steps.Stopped(reason, detail):
            return f"{reason}: {detail}" if detail else reason
    plain = {name: value for name, value in step.to_json().items() if name != "kind"}
    return ", ".join(f"{name}={_value(value)}" for name, value in plain.items())


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{_listed([str(item) for item in value])}]"
    return str(value)


def _listed(items: Sequence[str], most: int = _LISTED) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def _others(count: int) -> str:
    return f" (of {count} others)" if count > 0 else ""


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
