"""Sections: cut a reply into the fields that its headers name."""

from __future__ import annotations

import re
from collections.abc import Iterable

HEADER = "[[ ## {name} ## ]]"
"""How a field is headed, in prompts and in replies (DSPy's chat format)."""

COMPLETED = HEADER.format(name="completed")
"""What ends a reply."""

_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_MARKS = r"[ \t]*[*_#>`]*[ \t]*"
_ANY_HEADER = re.compile(rf"{_MARKS}\[\[\s*##\s*(?P<name>\w+)\s*##\s*\]\][*_`]*:?")
_COMPLETED = re.compile(r"(?:\*\*|__|`|#+ )?\[\[\s*##\s*completed\s*##\s*\]\]", re.IGNORECASE)


def split_fields(text: str, names: Iterable[str]) -> dict[str, str]:
    """The text under each header of a reply, for the fields of these names that have one.

    Headers may be bold, may be titles, and may stand in the middle of a line; what follows
    `[[ ## completed ## ]]` is no part of the reply, nor is what stands between `<think>` marks.
    Only where no such header is found are they looked for in the form `Field:` or `## Field` at the
    start of a line. The first section of a name counts.
    """
    wanted = list(names)
    text = without_thoughts(text)
    end = _COMPLETED.search(text)
    text = text[: end.start()] if end else text
    found = _bracketed(text, wanted)
    # Where some headers are as they should be, a line such as "Answer: ..." is part of a value.
    return found or _titled(text, wanted)


def is_completed(text: str) -> bool:
    """Whether a reply says itself that it is complete."""
    return _COMPLETED.search(text) is not None


def without_thoughts(text: str) -> str:
    """A reply without what the model thought aloud before it."""
    text = _THOUGHT.sub("", text)
    return _END_OF_THOUGHT.sub("", text)


def _bracketed(text: str, wanted: list[str]) -> dict[str, str]:
    by_name = {name.casefold(): name for name in wanted}
    headers = []
    for match in _ANY_HEADER.finditer(text):
        at_line_start = match.start() == 0 or text[match.start() - 1] == "\n"
        name = by_name.get(match["name"].casefold())
        # In the middle of a line and between back ticks, a header is only spoken of.
        if at_line_start or (name is not None and "`" not in match.group()):
            headers.append((name, match.start(), match.end()))
    return _between(text, headers)


def _titled(text: str, wanted: list[str]) -> dict[str, str]:
    if not wanted:
        return {}
    options = "|".join(re.escape(name).replace("_", "[_ ]") for name in wanted)
    pattern = re.compile(
        rf"^[ \t]*(?:#+[ \t]*)?(?P<bold>\*\*|__)?(?:#+[ \t]*)?(?P<name>{options})[ \t]*"
        rf"(?:[ \t]*#+|:?(?P=bold)?:?)[ \t]*(?=\n|$)|"
        rf"^[ \t]*(?:[-*][ \t]+)?(?:\*\*|__)?(?P<inline>{options})(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*",
        re.MULTILINE | re.IGNORECASE,
    )
    by_name = {name.casefold().replace("_", " "): name for name in wanted}
    headers: list[tuple[str | None, int, int]] = []
    for match in pattern.finditer(text):
        name = (match["name"] or match["inline"]).casefold().replace("_", " ")
        headers.append((by_name[name], match.start(), match.end()))
    return _between(text, headers)


def _between(text: str, headers: list[tuple[str | None, int, int]]) -> dict[str, str]:
    sections: dict[str, str] = {}
    for index, (name, _, end) in enumerate(headers):
        stop = headers[index + 1][1] if index + 1 < len(headers) else len(text)
        if name is not None:
            sections.setdefault(name, text[end:stop].strip())
    return sections
