"""The proof of an answer as a file: a page that needs no server, an SVG picture, or GraphML.

All show the same picture as the page of `triplecheck serve`: what the program looked at, kept and proved.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from triplecheck.app.options import OUTPUT, flagged

if TYPE_CHECKING:
    from triplecheck.app.serve.service import Steps
    from triplecheck.app.serve.types import Answer, Picture, PictureEdge, PictureNode

_STATIC = Path(__file__).parent / "serve" / "static"
_MODULES = {
    "dom": "dom.js",
    "api": "offline.js",
    "cytoscape.min": "vendor/cytoscape/cytoscape.min.mjs",
    "picture": "picture.js",
    "answer": "answer.js",
}
"""The modules of the page by the names under which they import each other; without a server, `offline.js` answers."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, kw_only=True)
class ProofOptions:
    """Files to write the proof to."""

    html: Path | None = flagged(
        "--html FILE", "Write the answer, its proof and their picture as a page that needs no server.", OUTPUT
    )
    svg: Path | None = flagged("--svg FILE", "Write the picture of the proof.", OUTPUT)
    graphml: Path | None = flagged(
        "--graphml FILE", "Write the graph of the picture as GraphML (extra `frames`).", OUTPUT
    )

    @property
    def files(self) -> dict[Path, Callable[[Answer], bytes]]:
        """The files that were asked for, and what makes each of an answer."""
        made = ((self.html, page), (self.svg, svg), (self.graphml, graphml))
        return {path: make for path, make in made if path is not None}

    def steps(self) -> Steps | None:
        """What collects the steps of the question for the files; None if none was asked for."""
        if not self.files:
            return None
        from triplecheck.app.serve.service import Steps

        return Steps()

    def check(self) -> None:
        """Refuse what cannot be written before the question is asked.

        Raises:
            UserError: a folder is missing, or one file is named twice.
            MissingExtraError: GraphML needs the extra `frames`.
        """
        from triplecheck.kg.errors import UserError, extra

        if self.graphml is not None:
            with extra("frames", "GraphML"):
                import networkx  # noqa: F401
        named = [path for path in (self.html, self.svg, self.graphml) if path is not None]
        for path in named:
            if path.is_dir() or not path.absolute().parent.is_dir():
                raise UserError(f"{path}: name a file in a folder that exists")
            if named.count(path) > 1:
                raise UserError(f"{path}: is named twice; give each format a file of its own")

    def write(self, answer: Answer) -> None:
        """Write the files, each at once.

        Raises:
            StorageError: the disk is full or cannot be written.
        """
        from triplecheck.kg._atomic import write_bytes

        for path, make in self.files.items():
            write_bytes(path, make(answer))


def page(answer: Answer) -> bytes:
    """A page with the answer, its proof, its trace and their picture; it works without network."""
    fill = {
        "title": escape(answer.question),
        "licence": (_STATIC / "vendor" / "cytoscape" / "LICENSE").read_text("utf-8").replace("--", "- -"),
        "style": (_STATIC / "page.css").read_text("utf-8"),
        "answer": _in_script(answer.model_dump()),
        "modules": _in_script({"imports": {name: _module(file) for name, file in _MODULES.items()}}),
    }
    return Template((_STATIC / "proof.html").read_text("utf-8")).substitute(fill).encode()


def _module(file: str) -> str:
    """A module as a data URL. A module from a data URL imports others by name only."""
    source = (_STATIC / file).read_text("utf-8")
    source = re.sub(r'( from )"\./(?:[\w/]+/)?([\w.]+?)\.m?js"', r'\1"\2"', source)
    return "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()


def _in_script(value: Any) -> str:
    """JSON that cannot end the element that it is in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def graphml(answer: Answer) -> bytes:
    """The graph of the picture. Nodes have `label`, `weight` and `part`; edges `relation`, `label` and `weight`."""
    import networkx as nx

    picture = _picture(answer)
    network = nx.MultiDiGraph(question=_xml(answer.question), answer=_xml(answer.answer), verdict=answer.verdict)
    names = {node.id: _xml(f"value {node.id}: {node.node}" if node.is_value else node.node) for node in picture.nodes}
    for node in picture.nodes:
        about = {"value": _xml(node.node)} if node.is_value else {}
        network.add_node(names[node.id], label=_xml(node.label), weight=node.weight, part=node.part, **about)
    for edge in picture.edges:
        about = {"relation": _xml(edge.relation), "label": _xml(edge.label), "weight": edge.weight}
        network.add_edge(names[edge.source], names[edge.target], **about)
    file = io.BytesIO()
    nx.write_graphml_xml(network, file)
    return file.getvalue()


def _picture(answer: Answer) -> Picture:
    assert answer.picture is not None, "the answer was made without a picture"
    return answer.picture


def _xml(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


# --- SVG -----------------------------------------------------------------------------------------
_WIDTH, _HEIGHT, _BETWEEN, _ROW = 176, 30, 210, 52  # pixels: a box, the room between columns, a row
_TOP, _MARGIN = 96, 24
_LONGEST = {"node": 26, "edge": 30}  # characters
_EDGES = {
    "proved": 'stroke="#1b7a46" stroke-width="4"',
    "kept": 'stroke="#6f8fb8" stroke-width="2"',
    "looked_at": 'stroke="#9aa5b1" stroke-width="1" stroke-dasharray="4 3"',
}
_BOXES = {
    "proved": 'fill="#ffffff" stroke="#1b7a46" stroke-width="2.5"',
    "kept": 'fill="#ffffff" stroke="#6f8fb8" stroke-width="1.5"',
    "looked_at": 'fill="#ffffff" stroke="#9aa5b1" stroke-dasharray="4 3"',
}
_NAMES = {"proved": "proved", "kept": "kept", "looked_at": "looked at"}
_ORDER = list(_EDGES)

Place = tuple[int, int]


def svg(answer: Answer) -> bytes:
    """The picture: topics to the left, the proof in the first rows, what was only kept or looked at below."""
    from triplecheck.programs.outcome import no_answer

    picture = _picture(answer)
    places = _places(picture)
    columns = max((column for column, _ in places.values()), default=0) + 1
    rows = max((row for _, row in places.values()), default=0) + 1
    width = max(2 * _MARGIN + columns * (_WIDTH + _BETWEEN) - _BETWEEN // 3, 640)
    height = _TOP + rows * _ROW + _MARGIN
    told = f"{answer.answer} ({answer.verdict})" if not answer.abstained else no_answer(answer.reason)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="12" fill="#17202b">',
        f"<title>{_text(answer.question)}</title><desc>{_text(told)}</desc>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#55616f"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fbfcfe"/>',
        f'<text x="{_MARGIN}" y="28" font-size="15">{_text(_short(answer.question, 110))}</text>',
        f'<text x="{_MARGIN}" y="50" font-size="15" font-weight="700">{_text(_short(told, 110))}</text>',
        *_legend(picture),
    ]
    # The proof is drawn last, above the others.
    for edge, beside in sorted(_numbered(picture), key=lambda one: _ORDER.index(one[0].weight), reverse=True):
        parts.append(_arrow(edge, places[edge.source], places[edge.target], beside))
    parts += [_box(node, places[node.id]) for node in picture.nodes]
    return "\n".join([*parts, "</svg>", ""]).encode()


def _places(picture: Picture) -> dict[str, Place]:
    """Column and row of each node: columns by distance from the topics, first along the proof, then along the rest."""
    near: dict[str, dict[str, list[str]]] = {weight: defaultdict(list) for weight in _ORDER}
    for edge in picture.edges:
        near[edge.weight][edge.source].append(edge.target)
        near[edge.weight][edge.target].append(edge.source)
    columns: dict[str, int] = {}
    for node in sorted(picture.nodes, key=lambda node: (node.part != "topic", _ORDER.index(node.weight))):
        # A topic begins; so does a node that nothing leads to.
        if node.id in columns or (columns and node.part != "topic" and _led_to(node.id, near, columns)):
            continue
        columns[node.id] = 0
        for weight in _ORDER:
            ahead = list(columns)
            while ahead:
                at = ahead.pop(0)
                for other in near[weight][at]:
                    if other not in columns and not _is_topic(picture, other):
                        columns[other] = columns[at] + 1
                        ahead.append(other)
    places: dict[str, Place] = {}
    weights = {node.id: _ORDER.index(node.weight) for node in picture.nodes}
    for column in range(max(columns.values(), default=-1) + 1):
        members = [id for id, at in columns.items() if at == column]
        members.sort(key=lambda id: (weights[id], _row_before(id, near, places)))
        places |= {id: (column, row) for row, id in enumerate(members)}
    return places


def _led_to(id: str, near: dict[str, dict[str, list[str]]], columns: dict[str, int]) -> bool:
    return any(other in columns for by_weight in near.values() for other in by_weight[id])


def _is_topic(picture: Picture, id: str) -> bool:
    return any(node.id == id and node.part == "topic" for node in picture.nodes)


def _row_before(id: str, near: dict[str, dict[str, list[str]]], places: dict[str, Place]) -> float:
    """The mean row of the neighbours that are placed already."""
    rows = [places[other][1] for by_weight in near.values() for other in by_weight[id] if other in places]
    return sum(rows) / len(rows) if rows else 0.0


def _numbered(picture: Picture) -> Iterator[tuple[PictureEdge, int]]:
    """Each edge with the number of edges before it between the same nodes."""
    seen: dict[frozenset[str], int] = defaultdict(int)
    for edge in picture.edges:
        ends = frozenset((edge.source, edge.target))
        yield edge, seen[ends]
        seen[ends] += 1


def _corner(place: Place) -> Place:
    return _MARGIN + place[0] * (_WIDTH + _BETWEEN), _TOP + place[1] * _ROW


def _arrow(edge: PictureEdge, source: Place, target: Place, beside: int) -> str:
    """A curve from head to tail with its label, which stands beside the later node, where curves have spread."""
    (x1, y1), (x2, y2) = _corner(source), _corner(target)
    y1, y2 = y1 + _HEIGHT // 2 + 4 * beside, y2 + _HEIGHT // 2 + 4 * beside
    right, left = max(x1, x2), min(x1, x2)
    if source[0] == target[0]:
        x1 = x2 = x1 + _WIDTH
        bend = 44 + 26 * beside
        path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 + bend} {y2} {x2} {y2}"
        place, anchor = (x1 + bend * 3 // 4 + 4, (y1 + y2) // 2 + 4), "start"
    else:
        x1, x2 = (x1 + _WIDTH, x2) if x1 < x2 else (x1, x2 + _WIDTH)
        pull = (right - left - _WIDTH) // 2 * (1 if x1 < x2 else -1)
        path = f"M{x1} {y1}C{x1 + pull} {y1} {x2 - pull} {y2} {x2} {y2}"
        place, anchor = (right - 14, (y1 if x1 > x2 else y2) - 5 + 14 * beside), "end"
    label = edge.label + (f" (1 of {edge.more + 1:,})" if edge.more else "")
    weight = ' font-weight="600"' if edge.weight == "proved" else ""
    return (
        f'<path d="{path}" fill="none" {_EDGES[edge.weight]} marker-end="url(#tip)"/>'
        f'<text x="{place[0]}" y="{place[1]}" text-anchor="{anchor}" font-size="11"{weight} fill="#55616f" '
        f'stroke="#fbfcfe" stroke-width="3" paint-order="stroke">{_text(_short(label, _LONGEST["edge"]))}'
        f"<title>{_text(label)}</title></text>"
    )


def _box(node: PictureNode, place: Place) -> str:
    x, y = _corner(place)
    look, ink = _BOXES[node.weight], ""
    if node.part == "answer":
        look, ink = 'fill="#1b7a46" stroke="#1b7a46"', ' fill="#ffffff"'
    elif node.part == "topic":
        look = look.replace("#ffffff", "#e2ecfb")
    bold = ' font-weight="600"' if node.part or node.weight == "proved" else ""
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="{2 if node.is_value else 8}" {look}/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + 19}" text-anchor="middle"{bold}{ink}>'
        f"{_text(_short(node.label, _LONGEST['node']))}<title>{_text(node.label)}</title></text>"
    )


def _legend(picture: Picture) -> Iterator[str]:
    x = _MARGIN
    for weight in _ORDER:
        count = sum(edge.weight == weight for edge in picture.edges)
        yield (
            f'<path d="M{x} 70h28" {_EDGES[weight]}/><text x="{x + 34}" y="74" fill="#55616f">'
            f"{_NAMES[weight]} ({count})</text>"
        )
        x += 130
    if picture.left_out:
        yield f'<text x="{x}" y="74" fill="#55616f">{picture.left_out:,} more were kept</text>'


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(text: str) -> str:
    return escape(_xml(text))
