"""`triplecheck kb match`: the nodes of a knowledge base that satisfy triple patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from triplecheck.app.console import columns, print_json, printable, remark, say, stderr, stdout, waiting
from triplecheck.app.opening import open_base
from triplecheck.app.options import LIMITS, JsonOption, KbArgument, argument, flag

if TYPE_CHECKING:
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.patterns import Match, Query


def match(
    kb: KbArgument,
    patterns: Annotated[
        str,
        argument(
            "PATTERNS",
            "Patterns `head relation tail`, separated by `;`. A variable is written ?film or, with its type, "
            "?film:Film; names of several words in quotes; * for any relation.",
        ),
    ],
    answer: Annotated[str | None, flag("--answer ?X", "The variable to list. Default: the first one.")] = None,
    exact: Annotated[
        bool, flag("--exact", "Join patterns that form a cycle, so that every node is in a solution.")
    ] = False,
    relax: Annotated[bool, flag("--relax", "If nothing satisfies all patterns, drop as few as possible.")] = False,
    limit: Annotated[int, flag("--limit N", "Maximum nodes to show.", LIMITS, min=1)] = 20,
    json: JsonOption = False,
) -> None:
    """Find the nodes that satisfy triple patterns, with the triples that prove it.

    Names are matched by label, alias or id, also misspelt; all homonyms are kept. Without --exact, patterns
    that form a cycle may return nodes that are in no complete solution; the output says so.

    Examples:

        triplecheck kb match kbs/films "?film directed_by 'Christopher Nolan'; ?film starring ?actor" --answer ?actor
        triplecheck kb match bundled "?person bornIn ?city; ?city * 'Germany'" --json
    """
    with waiting(stderr(), "loading"):
        from triplecheck.kg.patterns import parse_patterns

        parse_patterns(patterns)
    report = matched(
        open_base(kb),
        patterns,
        answer=answer,
        exact=exact,
        relax=relax,
        limit=limit,
    )
    for warning in report.pop("warnings"):
        remark(warning)
    if json:
        print_json(report)
    else:
        _show(report)


def matched(
    base: KnowledgeBase,
    patterns: str,
    *,
    answer: str | None = None,
    exact: bool = False,
    relax: bool = False,
    limit: int = 20,
) -> dict[str, Any]:
    """The nodes that satisfy patterns, as one plain object: what `triplecheck kb match --json` prints, and `warnings`.

    Args:
        base: the knowledge base; the others are the options of the command.

    Raises:
        UserError: the patterns cannot be read, or name what the graph does not have.
    """
    from triplecheck.kg import UserError
    from triplecheck.kg.patterns import Constants, bind, parse_patterns

    parsed = parse_patterns(patterns)
    query = bind(base.graph, parsed, Constants(base.graph, base.linker))
    if query.dropped:
        raise UserError("; ".join(f"{dropped.pattern}: {dropped.reason}" for dropped in query.dropped))
    variable = _variable(query, answer)
    found, left_out = _solve(base, query, variable, exact, relax)
    nodes = found.nodes(variable)
    return {
        "variable": variable,
        "count": found.count(variable),
        "exact": found.exact,
        "emptied_by": None if found.emptied_by is None else found.emptied_by.text,
        "left_out": left_out,
        "rounds": [dict(sizes) for sizes in found.rounds],
        "answers": [_answer(base, found, variable, node) for node in ([] if nodes is None else nodes[:limit].tolist())],
        "warnings": [str(warning) for warning in query.warnings],
    }


def _variable(query: Query, answer: str | None) -> str:
    from triplecheck.kg import UserError

    name = query.variables[0] if answer is None else answer.removeprefix("?")
    if name not in query.variables:
        there = ", ".join(f"?{variable}" for variable in query.variables)
        raise UserError(f"no variable ?{name} in the patterns; there are: {there}")
    return name


def _solve(base: KnowledgeBase, query: Query, variable: str, exact: bool, relax: bool) -> tuple[Match, list[str]]:
    from triplecheck.kg import patterns

    found = patterns.match(base.graph, query, exact=exact)
    if found.emptied_by is not None and relax:
        relaxed = patterns.relax(query, variable, lambda part: patterns.match(base.graph, part, exact=exact))
        if relaxed is not None:
            return relaxed.match, [pattern.text for pattern in relaxed.left_out]
    return found, []


def _answer(base: KnowledgeBase, found: Match, variable: str, node: int) -> dict[str, Any]:
    from triplecheck.kg.patterns import support

    graph = base.graph
    triples = support(graph, found, variable, node, per_pattern=1)
    return {
        "id": graph.node_id(node),
        "label": graph.label(node),
        "triples": [[graph.label(h), graph.relation(r).label, graph.label(t)] for h, r, t in triples],
    }


def _show(report: dict[str, Any]) -> None:
    from rich.text import Text

    if report["left_out"]:
        say(f"without: {'; '.join(report['left_out'])}")
    if not report["answers"]:
        by = f"; {report['emptied_by']} left nothing" if report["emptied_by"] else ""
        say(f"nothing satisfies the patterns{by}")
        return
    table = columns(f"?{report['variable']}", "because")
    for answer in report["answers"]:
        because = "; ".join(" → ".join(triple) for triple in answer["triples"])
        table.add_row(Text(printable(answer["label"])), Text(printable(because)))
    stdout().print(table)
    superset = (
        "" if report["exact"] else "; the patterns form a cycle, so some may be in no complete solution (--exact)"
    )
    say(f"{len(report['answers']):,} of {report['count']:,}{superset}")
