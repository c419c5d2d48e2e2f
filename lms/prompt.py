"""Reading a rendered prompt back: the inputs under their headers, the outputs asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# A header stands alone on its line; what a label or a question brings along does not.
_HEADER = re.compile(r"^\[\[ ## (\w+) ## \]\]$", re.MULTILINE)
_NAME = re.compile(r"\[\[ ## (\w+) ## \]\]")
_ITEM = re.compile(r"^\[(\d+)\] (.*)$")


@dataclass(frozen=True)
class Prompt:
    """One request as the engine sees it.

    Attributes:
        inputs: text by input field.
        outputs: names of the output fields, in order.
    """

    inputs: dict[str, str]
    outputs: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The fields as DSPy writes them: "question, facts -> answers"."""
        return f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"

    def text(self, name: str) -> str:
        """An input as text, empty where it is missing."""
        return self.inputs.get(name, "")

    def items(self, name: str) -> list[str]:
        """An input list, written one `[i] item` a line."""
        return [match[2] for line in self.text(name).splitlines() if (match := _ITEM.match(line))]


def read_request(user_messages: Sequence[str]) -> Prompt:
    """The request that a conversation ends with; one to mend a reply repeats no inputs, those before it count."""
    if not user_messages:
        return Prompt({}, ())
    last = read_prompt(user_messages[-1])
    if last.inputs or len(user_messages) < 2:
        return last
    return Prompt(read_prompt(user_messages[-2]).inputs, last.outputs)


def read_prompt(user_message: str) -> Prompt:
    """Take the last user message of a request apart: input sections, then the reminder naming the outputs."""
    body, separator, reminder = user_message.rpartition("Reply with ")
    if not separator:
        body, reminder = user_message, ""
    outputs = tuple(name for name in _NAME.findall(reminder) if name != "completed")
    _, *sections = _HEADER.split(body)
    inputs: dict[str, str] = {}
    for name, text in zip(sections[::2], sections[1::2], strict=True):
        inputs.setdefault(name, text.strip())
    return Prompt(inputs, outputs)
