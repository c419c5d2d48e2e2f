"""Steps, answers and proofs as text for people, without the control characters of graphs and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from triplecheck.app.console import printable
from triplecheck.lms import Usage
from triplecheck.programs import steps
from triplecheck.programs.steps import TraceEvent

_KIND_WIDTH = 10
_LISTED = 3  # names shown of a list
_ANSWERS_LISTED = 10
_PROOF_SHOWN = 12  # triples
_LONGEST = 160  # characters of one step


def step_lines(step: TraceEvent, *, full: bool = False) -> list[Text]:
    """One step on one line, or in full.

    Args:
        step: of a trace.
        full: add every field of the step, one value per line.
    """
    failed = isinstance(step, steps.Stopped) or (isinstance(step, steps.Checked) and not step.passed)
    line = Text.assemble((f"  {step.kind:<{_KIND_WIDTH}}", "cyan"), (_short(_say(step)), "red" if failed else ""))
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


def answer_lines(result: Any) -> list[Text]:
    """The answer, and the triples that prove it.

    Args:
        result: the prediction of a program.
    """
    lines = [Text()]
    if result.abstained:
        lines.append(Text.assemble(("No answer", "bold yellow"), f" ({printable(result.reason)})"))
    else:
        lines.append(Text.assemble(("Answer  ", "bold"), (printable(result.answer), "bold green")))
        known = [f"{printable(found['label'])} <{printable(found['id'])}>" for found in result.answers]
        if known:
            lines.append(Text(f"        {_listed(known, _ANSWERS_LISTED)}", "dim"))
        if not result.grounded:
            lacks = "its triples do not prove all of it" if result.evidence else "no triple of the graph supports it"
            lines.append(Text(f"        not grounded: {lacks}", "yellow"))
    if result.evidence:
        lines.append(Text("Proof" if result.grounded else "Triples", "bold"))
        lines += [proof_line(row) for row in result.evidence[:_PROOF_SHOWN]]
        if len(result.evidence) > _PROOF_SHOWN:
            lines.append(Text(f"  and {len(result.evidence) - _PROOF_SHOWN} more triples (--json gives all)", "dim"))
    return lines


def proof_line(row: dict[str, str]) -> Text:
    """One triple of a proof by its labels."""
    head, relation, tail = (printable(row[f"{part}_label"]) for part in ("head", "relation", "tail"))
    return Text.assemble(f"  {head}", (f" —{relation}→ ", "magenta"), tail)


def usage_line(usage: Usage, program: str | None = None, seconds: float | None = None) -> Text:
    """The program, its models and what they cost.

    Args:
        usage: of all calls.
        program: the program's name.
        seconds: wall-clock time.
    """
    parts = [] if program is None else [program]
    parts.append(f"model: {', '.join(models(usage)) or 'none'}")
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


def models(usage: Usage) -> list[str]:
    """The models that were called."""
    return sorted(usage.by_model)


def _say(step: TraceEvent) -> str:
    match step:
        case steps.Linked(mention, candidates, chosen):
            found = [c for c in candidates if c["id"] in chosen]
            shown = _listed([f"{c['label']} <{c['id']}> by {c['source']} {c['score']:.2f}" for c in found])
            return f"{mention!r} → {shown or 'nothing'}{_others(len(candidates) - len(found))}"
        case steps.Pruned(hop, offered, kept, by):
            return f"hop {hop}: {len(kept)} of {len(offered)} by {by}: {_listed(kept) or 'nothing'}"
        case steps.Expanded(hop, path, triples, total):
            return f"hop {hop}: {path}: {_counted(triples, total)}"
        case steps.Truncated(what, kept, total):
            return f"{what}: {kept} of {total}"
        case steps.Matched(patterns, target, rounds, emptied_by, _):
            sizes = _listed([_sizes(name, rounds) for name in (target, *_others_than(target, rounds[-1]))])
            end = f"; {emptied_by} left nothing" if emptied_by else ""
            return f"{sizes}{end}: {_listed(patterns)}"
        case steps.Ranked(place, _, label, by, triples, vector_score, score, reason):
            way = by if vector_score is None else f"{by}, search {vector_score:.2f}"
            rated = "" if score is None else f", rerank {score:.2f}{f' ({reason})' if reason else ''}"
            return f"{place}. {label} by {way}{rated}{f': {_listed(triples)}' if triples else ''}"
        case steps.Scored(what, scores):
            return f"{what}: " + _listed([f"{name} {score:.2f}" for name, score in scores])
        case steps.Wrote(role, model, signature, outputs):
            return f"{model} as {role} ({signature}): " + ", ".join(f"{k}={_value(v)}" for k, v in outputs.items())
        case steps.Checked(what, passed, reason):
            return f"{what}: {'yes' if passed else 'no'}{f', {reason}' if reason else ''}"
        case steps.Computed(operation, inputs, result):
            return f"{operation} of {inputs} = {result}"
        case steps.Consulted(turn, origin, text, _, score, verdict):
            return f"turn {turn}, {origin}: {verdict}{'' if score is None else f', {score:.2f}'}: {text}"
        case steps.Weighed(turn, answer, triples, score, reason, threshold, decision):
            weight = reason if score is None else f"{score:.3g}"
            among = f"{sum(t['in_graph'] for t in triples)} of {len(triples)} triples in the graph"
            against = f"{'<' if decision == 'sure' else 'against'} {threshold:.3g}"
            return f"turn {turn}: {answer or 'no answer'}: {weight} {against}, {among}: {decision}"
        case steps.Answered(answer, grounded):
            return f"{answer}{'' if grounded else ' (not grounded)'}"
        case steps.Stopped(reason, detail):
            return f"{reason}: {detail}" if detail else reason
    plain = {name: value for name, value in step.to_json().items() if name != "kind"}
    return ", ".join(f"{name}={_value(value)}" for name, value in plain.items())


def _sizes(variable: str, rounds: Sequence[Mapping[str, int | None]]) -> str:
    """The number of candidates for a variable, before the first round and after each: "?x any → 12 → 3"."""
    sizes = [sizes.get(variable) for sizes in rounds]
    return f"?{variable} {' → '.join('any' if size is None else f'{size:,}' for size in sizes)}"


def _others_than(target: str, sizes: Mapping[str, int | None]) -> list[str]:
    """The other variables, without constants, whose names are in quotes."""
    return [name for name in sizes if name != target and name.isidentifier()]


def _counted(triples: int, total: int) -> str:
    return f"{triples}{f' of {total}' if total > triples else ''} triple{'' if triples == total == 1 else 's'}"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{_listed([str(item) for item in value])}]"
    return str(value)


def _listed(items: Sequence[str], top_k: int = _LISTED) -> str:
    more = f" and {len(items) - top_k} more" if len(items) > top_k else ""
    return ", ".join(items[:top_k]) + more


def _others(count: int) -> str:
    return f" (of {count} others)" if count > 0 else ""


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
