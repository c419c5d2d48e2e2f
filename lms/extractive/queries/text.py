"""The text of a query, built pattern by pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from triplecheck.kg.plans.notation import write_label
from triplecheck.signatures.query_notation import variable

_NAME_OR_VARIABLE = re.compile(r"<[^<>]*>|\?\w+")


class QueryText:
    """Patterns and filters, and the variables that they use."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._groups: list[list[str]] = [[]]

    def variable(self, name: str) -> str:
        """A new variable, named after what it stands for."""
        base = variable(name.casefold())
        base = f"x_{base}" if base[0].isdigit() else base
        found, number = base, 1
        while found in self._taken:
            number += 1
            found = f"{base}{number}"
        self._taken.add(found)
        return f"?{found}"

    def of_class(self, variable: str, names: Sequence[str]) -> None:
        """A variable stands for things of one of some classes."""
        options = [f"{variable} a {write_label(name)}" for name in names]
        self.add(options[0] if len(options) == 1 else " UNION ".join(f"{{ {option} }}" for option in options))

    def triple(self, head: str, relation: str, tail: str) -> None:
        """A pattern."""
        self.add(f"{head} {write_label(relation)} {tail}")

    def add(self, pattern: str) -> None:
        """A pattern or a filter, once."""
        if pattern not in self._groups[-1]:
            self._groups[-1].append(pattern)

    def add_outside(self, pattern: str) -> None:
        """A filter outside of what must not hold, once."""
        if pattern not in self._groups[0]:
            self._groups[0].append(pattern)

    def for_each(self, variable: str, names: Sequence[str]) -> None:
        """Say all of each of some things, in place of any of them: a variable stands for one of `names` so far."""
        said = [pattern for pattern in self._groups[0] if not pattern.startswith(f"VALUES {variable} ")]
        self._groups[0] = []
        for number, name in enumerate(names):
            new = {variable: name}
            rename = partial(self._renamed, new, number)
            for pattern in said:
                self.add(_NAME_OR_VARIABLE.sub(rename, pattern))

    def _renamed(self, new: dict[str, str], number: int, match: re.Match[str]) -> str:
        """A variable in one of several copies of the same patterns; a name as it is."""
        text = match[0]
        if text.startswith("<"):
            return text
        if text not in new:
            new[text] = self.variable(text[1:]) if number else text
        return new[text]

    def begin_denied(self) -> None:
        """What follows must not hold."""
        self._groups.append([])

    def end_denied(self) -> None:
        """End of what must not hold."""
        inside = " . ".join(self._groups.pop())
        self.add(f"FILTER NOT EXISTS {{ {inside} }}")

    def has(self, relation: str) -> bool:
        """Whether a pattern has a relation."""
        return any(f" {write_label(relation)} " in pattern for pattern in self._groups[0])

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not self._groups[0]

    @property
    def where(self) -> str:
        """The patterns and filters in braces."""
        return f"{{ {' . '.join(self._groups[0])} }}"
