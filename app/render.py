"""Steps, answers and proofs as text for people, without the control characters of graphs and models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from triplecheck.app.console import printable
from triplecheck.lms import Usage
from triplecheck.programs import steps
from triplecheck.programs.outcome import closed_world, no_answer
from triplecheck.programs.picture import properties_text
from triplecheck.programs.steps import TraceEvent, in_words, listed

_KIND_WIDTH = 10
_ANSWERS_LISTED = 10
_PROOF_SHOWN, _PROOF_IN_SHORT = 12, 3  # triples
_DOUBTS_SHOWN = 3
_LONGEST = 160  # characters of one step


def step_lines(step: TraceEvent, *, full: bool = False, width: int = _LONGEST) -> list[Text]:
    """One step on one line, or in full.

    Args:
        full: add every field of the step, one value per line.
    """
    failed = isinstance(step, steps.Stopped) or (isinstance(step, steps.Checked) and not step.passed)
    line = Text.assemble(
        (f"  {step.kind:<{_KIND_WIDTH}}", "cyan"), (_short(in_words(step), width), "red" if failed else "")
    )
    if not full:
        return [line]
    fields = [(name, value) for name, value in step.to_json().items() if name != "kind"]
    return [line, *(Text(detail, "dim") for name, value in fields for detail in _details(name, value, 4))]


def _details(name: str, value: Any, indent: int) -> list[str]:
    """A field of a step as indented lines."""
    start = f"{' ' * indent}{printable(name)}:"
    if isinstance(value, Mapping):
        return [start, *(line for key, part in value.items() for line in _details(str(key), part, indent + 2))]
    if isinstance(value, list | tuple):
        return [start, *(f"{' ' * (indent + 2)}- {printable(str(item))}" for item in value)]
    first, *rest = str(value).split("\n")
    return [f"{start} {printable(first)}", *(f"{' ' * (indent + 2)}{printable(line)}" for line in rest)]


def answer_lines(result: Any, *, ids: bool = False) -> list[Text]:
    """The answer with its verdict and confidence, and its triples; of an abstention, the nearest facts."""
    if result.abstained:
        return _no_answer(result)
    lines = [Text.assemble(("Answer  ", "bold"), (_answer(result), "bold green"))]
    known = [printable(found["id"]) for found in result.answers if found["id"] != found["label"]]
    if ids and known:
        lines.append(Text(f"        {listed(known, _ANSWERS_LISTED)}", "dim"))
    lines.append(Text.assemble(("Verdict ", "bold"), *_verdict(result)))
    lines += [Text(f"        {printable(why)}", "yellow") for why in _doubts(result)]
    lines += _query(result)
    if result.evidence:
        lines.append(Text("Proof" if result.verdict == "proved" else "Triples", "bold"))
        lines += [proof_line(row) for row in result.evidence[:_PROOF_SHOWN]]
        if len(result.evidence) > _PROOF_SHOWN:
            lines.append(Text(f"  and {len(result.evidence) - _PROOF_SHOWN} more triples (--json gives all)", "dim"))
    return lines


def short_answer(result: Any) -> list[Text]:
    """The answer and its verdict on one line, then its first triples."""
    if result.abstained:
        nearest = [Text.assemble("  ", proof_line(row)) for row in result.nearest[:1]]
        return [Text.assemble("  ", (no_answer(result.reason), "yellow"), "; nearest:" if nearest else ""), *nearest]
    lines = [Text.assemble("  ", (_answer(result), "bold green"), "  ", *_verdict(result))]
    lines += [Text.assemble("  ", proof_line(row)) for row in result.evidence[:_PROOF_IN_SHORT]]
    more = len(result.evidence) - _PROOF_IN_SHORT
    return [*lines, *([Text(f"    and {more} more triples", "dim")] if more > 0 else [])]


def _answer(result: Any) -> str:
    """The answer; of a long list the first ones."""
    if len(result.answers) <= _ANSWERS_LISTED:
        scope = closed_world(result.answer, result.query)
        return printable(result.answer) + (f" ({scope})" if scope else "")
    return listed([printable(found["label"]) for found in result.answers], _ANSWERS_LISTED)


def _query(result: Any) -> list[Text]:
    """The query that computed the answer, and what it looked through."""
    if not result.query:
        return []
    looked = [Text(f"        {printable(sentence)}", "dim") for sentence in result.looked_through]
    return [Text.assemble(("Query   ", "bold"), printable(result.query)), *looked]


def _verdict(result: Any) -> list[str | tuple[str, str]]:
    colour = {"proved": "green", "supported": "yellow"}.get(result.verdict, "red")
    sure = "" if result.confidence is None else f", confidence {result.confidence:.2f}"
    return [(result.verdict, colour), sure]


def _doubts(result: Any) -> list[str]:
    """Why an answer is not proved."""
    if result.verdict == "unsupported":
        return ["no triple of the graph supports it"]
    if result.verdict == "supported" and not result.grounded and not result.doubts:
        return ["its triples do not prove all of it"]
    return list(result.doubts[:_DOUBTS_SHOWN]) if result.verdict == "supported" else []


def _no_answer(result: Any) -> list[Text]:
    lines = [Text.assemble((no_answer(result.reason), "bold yellow"), f" ({printable(result.reason)})")]
    lines += _query(result)
    if result.missing:
        lines.append(Text.assemble("The graph says little of ", (printable(result.missing), "italic"), "."))
    if result.nearest:
        lines.append(Text("Nearest facts", "bold"))
        lines += [proof_line(row) for row in result.nearest]
    return lines


def proof_line(row: Mapping[str, Any]) -> Text:
    """One triple of a proof by its labels."""
    head, relation, tail = (printable(row[f"{part}_label"]) for part in ("head", "relation", "tail"))
    about = properties_text(row.get("properties", ()))
    return Text.assemble(f"  {head}", (f" —{relation}→ ", "magenta"), tail, (printable(about), "dim"))


def usage_line(usage: Usage, program: str | None = None, seconds: float | None = None) -> Text:
    """The program, its models and what they cost.

    Args:
        usage: of all calls.
        seconds: wall-clock time.
    """
    parts = [] if program is None else [program]
    parts.append(f"model: {', '.join(sorted(usage.by_model)) or 'none'}")
    parts += _cost(usage, seconds)
    return Text("  ".join(printable(part) for part in parts), "dim")


def _cost(usage: Usage, seconds: float | None = None) -> list[str]:
    parts = [f"{usage.calls} call{'' if usage.calls == 1 else 's'}"]
    if usage.cached_calls:
        parts[-1] += f" ({usage.cached_calls} from the cache)"
    parts.append(f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens")
    parts.append(f"{usage.seconds:.2f} s in models" + (f" of {seconds:.2f} s" if seconds is not None else ""))
    if usage.dollars:
        parts.append(f"${usage.dollars:.4f}")
    return parts


def role_lines(usage: Usage) -> list[Text]:
    """The cost of each role."""
    return [
        Text(f"  {printable(role)}: {'  '.join(_cost(part))}", "dim") for role, part in sorted(usage.by_role.items())
    ]


def _short(text: str, width: int) -> str:
    text = printable(text)
    return text if len(text) <= width else text[: width - 1] + "…"
