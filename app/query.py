"""`triplecheck kb query`: a query in SPARQL with labels, answered exactly."""

from __future__ import annotations

import csv as csv_format
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import columns, print_json, printable, remark, rows_of, say, stderr, stdout, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import LIMITS, OUTPUT, JsonOption, KbArgument, argument, flag

if TYPE_CHECKING:
    from triplecheck.kg import Graph, KnowledgeBase
    from triplecheck.kg.plans import Answers, Named
    from triplecheck.kg.types import Edge

_PROVED_ROWS, _EDGES = 3, 5
_LONGEST_NAME = 255


def query(
    kb: KbArgument,
    text: Annotated[
        str,
        argument(
            "QUERY",
            "SELECT or ASK in SPARQL; relations, classes and things may be labels in angle brackets, such as "
            "`<flows into>`. Or a file with the query, or `-` for standard input.",
        ),
    ],
    explain: Annotated[
        bool, flag("--explain", "Also show what the names stand for, what was looked through, and triples.", OUTPUT)
    ] = False,
    csv: Annotated[bool, flag("--csv", "Print CSV, with labels for nodes.", OUTPUT)] = False,
    seconds: Annotated[
        float,
        flag("--seconds N", "Maximum processor time; on a server: maximum time.", LIMITS, min=0),
    ] = 10.0,
    rows: Annotated[int, flag("--rows N", "Maximum rows to show.", LIMITS, min=1)] = 1000,
    json: JsonOption = False,
) -> None:
    """Answer a query: conditions, counts, sums, extremes, negation, in SPARQL with labels for names.

    Nothing is guessed: a name that the graph does not have is an error.

    Examples:

        triplecheck kb query bundled "SELECT ?river { ?river <flows into> <North Sea> }"
        triplecheck kb query bundled "SELECT (COUNT(?r) AS ?n) { ?r a <River> ; <flows through> <Germany> }" --explain
        triplecheck kb query kbs/films query.rq --csv
    """
    from triplecheck.kg import UserError

    if json and csv:
        raise UserError("--json and --csv exclude each other; keep one")
    written = _read(text)
    base = open_base(kb)
    with waiting(stderr(), "running the query"):
        answers = base.query(written, seconds=seconds, rows=rows)
    for note in (*answers.notes, *_hints(base, answers)):
        remark(note)
    if json:
        print_json(report(base, answers, explain))
    elif csv:
        sys.stdout.write(_as_csv(answers))
    else:
        _show(base, answers, explain)


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    may_be_file = "{" not in text and len(text) <= _LONGEST_NAME and "\n" not in text
    if may_be_file and Path(text).is_file():
        return Path(text).read_text("utf-8")
    return text


def _hints(base: KnowledgeBase, answers: Answers) -> tuple[str, ...]:
    """Why there is no answer."""
    from triplecheck.kg.plans import check

    if answers.rows or answers.boolean:
        return ()
    return tuple(hint.text for hint in check(base.graph, answers.plan))


# --- one plain object ----------------------------------------------------------------------------
def report(base: KnowledgeBase, answers: Answers, explain: bool) -> dict[str, Any]:
    """What `--json` prints."""
    found: dict[str, Any] = {
        "columns": list(answers.columns),
        "rows": [[_cell(base.graph, cell) for cell in row] for row in answers.rows],
        "total": answers.total,
        "answer": answers.boolean,
        "ties": answers.ties,
        "notes": list(answers.notes),
    }
    if explain:
        found["names"] = [
            {"name": one.text, "place": one.place, "ids": _ids(base.graph, one), "negated": one.negated}
            for one in answers.plan.names
        ]
        found["looked_through"] = [
            {
                "kind": one.kind,
                "text": one.text,
                "seen": one.seen,
                "kept": one.kept,
                "triples": _triples(base.graph, one.edges),
            }
            for one in answers.looked_through
        ]
        found["triples"] = [_triples(base.graph, answers.edges(row)) for row in range(len(answers.rows) or 1)]
    return found


def _cell(graph: Graph, cell: Any) -> Any:
    if isinstance(cell, int):
        value = graph.literal(cell)
        if value is None:
            return {"id": graph.node_id(cell), "label": graph.label(cell)}
        cell = value
    return None if cell is None else {"value": cell.lexical, "datatype": cell.datatype}


def _ids(graph: Graph, name: Named) -> list[str]:
    relations = (graph.relation(number).id for number in name.relations)
    return [*relations, *name.classes, *(graph.node_id(node) for node in name.nodes)]


def _triples(graph: Graph, edges: Any) -> list[list[str]]:
    return [[graph.label(head), graph.relation(relation).label, graph.label(tail)] for head, relation, tail in edges]


def _as_csv(answers: Answers) -> str:
    out = io.StringIO()
    rows = csv_format.writer(out, lineterminator="\n")
    if answers.boolean is not None:
        rows.writerow(["answer"])
        rows.writerow(["yes" if answers.boolean else "no"])
    else:
        rows.writerow(answers.columns)
        rows.writerows(answers.texts())
    return out.getvalue()


# --- a table -------------------------------------------------------------------------------------
def _show(base: KnowledgeBase, answers: Answers, explain: bool) -> None:
    from rich.text import Text

    out = stdout()
    if answers.boolean is not None:
        say("yes" if answers.boolean else "no (in this graph)")
    elif not answers.rows:
        say("nothing found")
    else:
        table = columns(*(f"?{name}" for name in answers.columns))
        for row in answers.texts():
            table.add_row(*(Text(printable(cell)) for cell in row))
        out.print(table)
    if answers.truncated:
        say(f"{len(answers.rows):,} of {answers.total:,} rows; --rows shows more")
    if answers.ties:
        more = "row equals" if answers.ties == 1 else "rows equal"
        say(f"{answers.ties:,} more {more} the first or the last in what they are sorted by")
    if explain:
        _explain(base.graph, answers)


def _explain(graph: Graph, answers: Answers) -> None:
    from rich.text import Text

    out = stdout()
    names = [(f"{one.text} ({one.place})", ", ".join(_ids(graph, one))) for one in answers.plan.names]
    if names:
        out.print(Text("\nnames", style="bold"))
        out.print(rows_of((printable(name), printable(ids)) for name, ids in names))
    if answers.looked_through:
        out.print(Text("\nlooked through", style="bold"))
        for one in answers.looked_through:
            _lines(graph, printable(one.sentence), one.edges, len(one.edges))
    proved = [(row, *answers.support(row, _EDGES)) for row in range(min(_PROVED_ROWS, len(answers.rows) or 1))]
    if any(edges for _, edges, _ in proved):
        out.print(Text("\ntriples", style="bold"))
        for row, edges, total in proved:
            shown = ", ".join(answers.texts()[row]) if answers.rows else "yes"
            _lines(graph, printable(shown), edges, total)


def _lines(graph: Graph, title: str, edges: list[Edge] | tuple[Edge, ...], total: int) -> None:
    from rich.text import Text

    out = stdout()
    out.print(Text(title), soft_wrap=True)
    for triple in _triples(graph, edges):
        out.print(Text(f"  {printable(' → '.join(triple))}"), soft_wrap=True)
    if total > len(edges):
        say(f"  ... {total - len(edges):,} more")
