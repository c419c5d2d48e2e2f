"""The trace: what a program did, as small typed events.

The command line streams them, the page draws them, the evaluator counts them and the collector of
fine-tuning data verifies them. Each is a frozen dataclass; `to_json` gives the plain form for
rows and `--json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One event of a trace. `kind`, the name of its class in lower case, names it in JSON."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__.lower()

    def to_json(self) -> dict[str, Any]:
        """The event as a plain object, its kind first."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Linked(TraceEvent):
    """A mention was linked to entities of the graph (an empty list: to none).

    `candidates` are (id, label, source, score), best first; `chosen` are the ids that were kept.
    """

    mention: str
    candidates: list[dict[str, Any]]
    chosen: list[str]


@dataclass(frozen=True, slots=True)
class Pruned(TraceEvent):
    """Relations (or paths of them) were offered at one hop, and some were kept.

    `by` says how they were chosen: by a model that saw the `schema` or `instances`, by a `model` that saw either, by
    vectors (`embedding`), because there were no more than wanted (`width`), or not at all (`none`).
    """

    hop: int
    offered: list[str]
    kept: list[str]
    by: str


@dataclass(frozen=True, slots=True)
class Expanded(TraceEvent):
    """Triples were fetched along one path. `total` counts what matched; more than `triples`: truncated."""

    hop: int
    path: str
    triples: int
    total: int


@dataclass(frozen=True, slots=True)
class Called(TraceEvent):
    """A function was called about an entity. `error` says why its facts are missing; it is empty if they are not."""

    function: str
    argument: str
    error: str


@dataclass(frozen=True, slots=True)
class Truncated(TraceEvent):
    """A limit cut something off."""

    what: str
    kept: int
    total: int


@dataclass(frozen=True, slots=True)
class Matched(TraceEvent):
    """Triple patterns were matched against the graph.

    `rounds` has the number of nodes that each variable can be bound to, before propagation and after each
    of its rounds (None: any node); `emptied_by` is the pattern that left nothing; if not `exact`,
    some nodes may be in no complete solution. `any_relation`, `any_direction`: edges of any relation or direction
    were accepted, whatever the patterns say.
    """

    patterns: list[str]
    target: str
    rounds: list[dict[str, int | None]]
    emptied_by: str | None
    exact: bool
    any_relation: bool = False
    any_direction: bool = False


@dataclass(frozen=True, slots=True)
class Ranked(TraceEvent):
    """A candidate got its place in a ranking, from 1.

    `by` says what made it a candidate: `patterns`, with the triples that support it, or `search`.
    A score is None if there was nothing to compare or the model gave no valid score.
    """

    place: int
    id: str
    label: str
    by: str
    triples: list[str]
    vector_score: float | None
    rerank_score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Scored(TraceEvent):
    """Things were scored: (name, score), best first."""

    what: str
    scores: list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Wrote(TraceEvent):
    """A language model wrote something: the outputs of one signature."""

    role: str
    model: str
    signature: str
    outputs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checked(TraceEvent):
    """Something was checked against the graph or against the prompt it came from."""

    what: str
    passed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Computed(TraceEvent):
    """Code computed a value over cited triples."""

    operation: str
    inputs: int
    result: str


@dataclass(frozen=True, slots=True)
class Planned(TraceEvent):
    """A query was written. `problem` says what is wrong with it; empty: it was run, gave `rows` and the `result`."""

    query: str
    problem: str
    rows: int
    result: str


@dataclass(frozen=True, slots=True)
class Consulted(TraceEvent):
    """A candidate reference of one turn, and its verdict.

    `origin` is the knowledge model's role or `corpus`, with `+ entities` if the query had related entities.
    `relevant` is None if that was not checked, `score` None if no triple of the
    passage has one; lower is more plausible. `verdict`: `kept`, `irrelevant`, `surplus` (relevant, but
    not among the best), `repeated`, or `empty`.
    """

    turn: int
    origin: str
    text: str
    relevant: bool | None
    score: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Weighed(TraceEvent):
    """The answer of one turn was scored against the graph.

    `triples` are those of the answer: `head`, `relation`, `tail` as written, `in_graph`, and `score` or
    why it was `skipped`. `score` is None if none could be scored, for the `reason` given; otherwise the
    loop stops if it is below the `threshold`. `decision`: `go_on`, `sure`, `last_turn` or `no_references`.
    """

    turn: int
    answer: str
    triples: list[dict[str, Any]]
    score: float | None
    reason: str
    threshold: float
    decision: str


@dataclass(frozen=True, slots=True)
class Assisted(TraceEvent):
    """An assist (`programs.assists`) changed what a step gave: `before` and `after`, in words."""

    name: str
    step: str
    before: list[str]
    after: list[str]


@dataclass(frozen=True, slots=True)
class Asked(TraceEvent):
    """A member of a cascade was asked: its `number` from 1, its program, and its models by role."""

    number: int
    program: str
    models: dict[str, str]


@dataclass(frozen=True, slots=True)
class Chosen(TraceEvent):
    """The answer of the member `number` of a cascade stands, of so many that were asked. `reason` says why."""

    number: int
    asked: int
    answer: str
    verdict: str
    confidence: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Answered(TraceEvent):
    """The program answered. `verdict` is that of the outcome."""

    answer: str
    grounded: bool
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Stopped(TraceEvent):
    """The program stopped without an answer, or before its end. `reason` is a short fixed word, `detail` free."""

    reason: str
    detail: str = ""


class Trace:
    """Steps in order; a listener gets each as it happens."""

    def __init__(self, listener: Callable[[TraceEvent], None] | None = None) -> None:
        self.steps: list[TraceEvent] = []
        self._listener = listener

    def add(self, step: TraceEvent) -> None:
        """Record a step and pass it to the listener."""
        self.steps.append(step)
        if self._listener is not None:
            self._listener(step)

    def note_cut(self, what: str, kept: int, total: int) -> None:
        """Record that a limit cut something off, if it did."""
        if kept < total:
            self.add(Truncated(what, kept, total))

    def branch(self) -> Trace:
        """An empty trace with the same listener, for steps that run at the same time as others."""
        return Trace(self._listener)


def in_words(step: TraceEvent) -> str:
    """An event in one line for people, without its kind."""
    match step:
        case Linked(mention, candidates, chosen):
            found = [c for c in candidates if c["id"] in chosen]
            shown = listed([f"{c['label']} <{c['id']}> by {c['source']} {c['score']:.2f}" for c in found])
            return f"{mention!r} → {shown or 'nothing'}{_others(len(candidates) - len(found))}"
        case Pruned(hop, offered, kept, by):
            return f"hop {hop}: {len(kept)} of {len(offered)} by {by}: {listed(kept) or 'nothing'}"
        case Expanded(hop, path, triples, total):
            return f"hop {hop}: {path}: {_counted(triples, total)}"
        case Called(function, argument, error):
            return f"{function} of {argument!r}: {f'no fact: {error}' if error else 'called'}"
        case Truncated(what, kept, total):
            return f"{what}: {kept} of {total}"
        case Matched(patterns, target, rounds, emptied_by, _):
            sizes = listed([_sizes(name, rounds) for name in (target, *_others_than(target, rounds[-1]))])
            end = f"; {emptied_by} left nothing" if emptied_by else ""
            return f"{sizes}{end}: {listed(patterns)}"
        case Ranked(place, _, label, by, triples, vector_score, score, reason):
            way = by if vector_score is None else f"{by}, search {vector_score:.2f}"
            rated = "" if score is None else f", rerank {score:.2f}{f' ({reason})' if reason else ''}"
            return f"{place}. {label} by {way}{rated}{f': {listed(triples)}' if triples else ''}"
        case Scored(what, scores):
            return f"{what}: " + listed([f"{name} {score:.2f}" for name, score in scores])
        case Wrote(role, model, signature, outputs):
            written = ", ".join(f"{name}={_value(value)}" for name, value in outputs.items() if value != "")
            return f"{model} as {role} ({signature}): {written}"
        case Checked(what, passed, reason):
            return f"{what}: {'; '.join(part for part in ('' if passed else 'failed', reason) if part) or 'passed'}"
        case Computed(operation, inputs, result):
            return f"{operation} of {inputs} = {result}"
        case Planned(query, problem, rows, result):
            return f"{query}: {problem or f'{rows} rows: {result}'}"
        case Consulted(turn, origin, text, _, score, verdict):
            return f"turn {turn}, {origin}: {verdict}{'' if score is None else f', {score:.2f}'}: {text}"
        case Weighed(turn, answer, triples, score, reason, threshold, decision):
            weight = reason if score is None else f"{score:.3g}"
            among = f"{sum(t['in_graph'] for t in triples)} of {len(triples)} triples in the graph"
            against = f"{'<' if decision == 'sure' else 'against'} {threshold:.3g}"
            return f"turn {turn}: {answer or 'no answer'}: {weight} {against}, {among}: {decision}"
        case Assisted(name, changed, before, after):
            return f"{name} ({changed}): {_changed(before, after)}"
        case Asked(number, program, models):
            return f"{number}. {program} with {listed(list(dict.fromkeys(models.values())))}"
        case Chosen(number, asked, answer, verdict, confidence, reason):
            sure = "" if confidence is None else f", confidence {confidence:.2f}"
            return f"{number} of {asked}: {answer or 'no answer'} ({verdict}{sure}): {reason}"
        case Answered(answer, _, verdict):
            return f"{answer} ({verdict})"
        case Stopped(reason, detail):
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


def _changed(before: Sequence[str], after: Sequence[str]) -> str:
    """What was added and what was left out; if neither, the new order."""
    added, left_out = [one for one in after if one not in before], [one for one in before if one not in after]
    parts = [f"{sign}{listed(some)}" for sign, some in (("+ ", added), ("- ", left_out)) if some]
    return "; ".join(parts) or f"in the order {listed(after)}"


def _counted(triples: int, total: int) -> str:
    return f"{triples}{f' of {total}' if total > triples else ''} triple{'' if triples == total == 1 else 's'}"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{listed([str(item) for item in value])}]"
    return str(value)


def listed(items: Sequence[str], top_k: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(items) - top_k} more" if len(items) > top_k else ""
    return ", ".join(items[:top_k]) + more


def _others(count: int) -> str:
    return f" (of {count} others)" if count > 0 else ""
