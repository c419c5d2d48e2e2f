"""A small SVG picture of triples, for notebooks: entities in columns, in the order in which the triples lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_MOST = 12  # triples drawn
_LONGEST = 26  # characters of a name
_WIDTH, _HEIGHT, _BETWEEN, _ABOVE = 170, 26, 130, 22  # pixels


class Evidence(list[dict[str, Any]]):
    """Rows of triples (`evidence_rows`); a notebook shows them as a picture."""

    def _repr_html_(self) -> str:
        return draw(self)


def draw(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first twelve triples as SVG, with a line on the rest.

    Args:
        rows: of `programs.outcome.evidence_rows`.
    """
    shown = rows[:_MOST]
    if not shown:
        return "<i>no triples</i>"
    names = {(row[end], _is_value(row, end)): row[f"{end}_label"] for row in shown for end in ("head", "tail")}
    places = _places(shown)
    columns = max(column for column, _ in places.values()) + 1
    lines = max(line for _, line in places.values()) + 1
    width, height = columns * (_WIDTH + _BETWEEN) - _BETWEEN + 4, lines * (_HEIGHT + _ABOVE) + _ABOVE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#888"/></marker></defs>'
    ]
    parts += [_arrow(row, places) for row in shown]
    for node, (column, line) in places.items():
        x, y = _corner(column, line)
        fill, round_ = ("#f4f4f4", 2) if node[1] else ("#e4eefb", 12)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="{round_}" fill="{fill}" stroke="#678"/>'
            f'<text x="{x + _WIDTH // 2}" y="{y + 17}" text-anchor="middle">{_short(names[node])}</text>'
        )
    more = f"<br><i>and {len(rows) - _MOST} more triples</i>" if len(rows) > _MOST else ""
    return "".join(parts) + "</svg>" + more


def properties_text(statements: Sequence[Mapping[str, str]]) -> str:
    """The properties of an edge: " (start: 1993; end: 1997)", one pair of parentheses per statement."""
    return "".join(f" ({'; '.join(f'{name}: {value}' for name, value in one.items())})" for one in statements)


def _is_value(row: Mapping[str, Any], end: str) -> bool:
    return end == "tail" and "tail_datatype" in row


def _ends(row: Mapping[str, Any]) -> tuple[tuple[str, bool], tuple[str, bool]]:
    return (row["head"], False), (row["tail"], _is_value(row, "tail"))


def _places(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, bool], tuple[int, int]]:
    """Column and line of each node: each triple places its new end beside the one that is known."""
    places: dict[tuple[str, bool], tuple[int, int]] = {}
    filled: dict[int, int] = {}

    def put(node: tuple[str, bool], column: int) -> None:
        places[node] = (column, filled.get(column, 0))
        filled[column] = filled.get(column, 0) + 1

    for row in rows:
        head, tail = _ends(row)
        if head not in places and tail not in places:
            put(head, 0)
        if tail not in places:
            put(tail, places[head][0] + 1)
        elif head not in places:
            put(head, places[tail][0] + 1)
    return places


def _corner(column: int, line: int) -> tuple[int, int]:
    return 2 + column * (_WIDTH + _BETWEEN), _ABOVE + line * (_HEIGHT + _ABOVE)


def _arrow(row: Mapping[str, Any], places: Mapping[tuple[str, bool], tuple[int, int]]) -> str:
    (head_at, head_line), (tail_at, tail_line) = (places[end] for end in _ends(row))
    (x1, y1), (x2, y2) = _corner(head_at, head_line), _corner(tail_at, tail_line)
    middle = _HEIGHT // 2
    x1, x2 = (x1 + _WIDTH, x2) if tail_at > head_at else (x1, x2 + _WIDTH) if tail_at < head_at else (x1 + 20, x2 + 20)
    line = f'<line x1="{x1}" y1="{y1 + middle}" x2="{x2}" y2="{y2 + middle}" stroke="#888" marker-end="url(#tip)"/>'
    label = f'<text x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2 + middle - 5}" text-anchor="middle" fill="#a3388f">'
    about = row["relation_label"] + properties_text(row.get("properties", ()))
    return f"{line}{label}{_short(row['relation_label'])}<title>{escape(about)}</title></text>"


def _short(text: str) -> str:
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
