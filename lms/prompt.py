"""Prompts and replies as text: fields under headers, and the step that a prompt belongs to."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from triplecheck.kg.errors import TriplecheckError
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.question import Question, read_question
from triplecheck.language.text import words_of
from triplecheck.signatures import Step
from triplecheck.signatures.notation import KnownName, read_known_name

HEADER = "[[ ## {name} ## ]]"
"""The header of a field, in prompts and in replies (DSPy's chat format)."""

COMPLETED = HEADER.format(name="completed")
"""The end of a reply."""

# Each pattern takes time linear in the text, also where it fails: replies of models that repeat themselves are long.
_THINK = re.compile(
    r"<(?P<end>/?)(?:think(?:ing)?|thoughts?|reasoning|reflection)>|\[(?P<other_end>/?)think\]", re.IGNORECASE
)
_ANY_HEADER = re.compile(r"\[\[\s*+##\s*+(?P<name>\w++)\s*+##\s*+\]\][*_`]*+[:：]?")
# Byte order marks, and what has no width at the ends of lines; inside a word it belongs to the script.
_WITHOUT_WIDTH = "[\\ufeff\\u200b-\\u200f\\u2060]"
_NO_WIDTH = re.compile(rf"^{_WITHOUT_WIDTH}++|(?<!{_WITHOUT_WIDTH}){_WITHOUT_WIDTH}++$", re.MULTILINE)
# Harmony's channels, also as a server leaves them that drops its special tokens.
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final\b[^\n]{0,40}?<\|message\|>")
_FINAL_WORDS = "assistantfinal"
_OTHER_CHANNELS = ("analysis", "commentary")
_BEGINNING = re.compile(r"(?:\s*+(?:<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>))++")
_END = re.compile(
    r"<\|(?:im_end|end|return|eot_id|endoftext|end_of_text|eom_id)\|>|<｜end▁of▁sentence｜>|<end_of_turn>|<eos>|</s>|<s>\s*+\Z"
)
_NUMBER = re.compile(r"\d++")
_COMPLETED = re.compile(r"\[\[\s*+##\s*+completed\s*+##\s*+\]\]", re.IGNORECASE)

_LONGEST_LOOP = 4
"""Lines that come again."""
_TIMES = 4


def split_fields(text: str, names: Iterable[str]) -> dict[str, str]:
    """The text under each header of a reply, for the fields of these names that have one.

    Headers may be bold, may be Markdown titles, and may be in the middle of a line. Text after
    `[[ ## completed ## ]]` or the end of a turn (`<|im_end|>`), in other channels than the final one and inside tags of
    thoughts (`<think>`) is ignored. If there is no such header, the keys of a JSON object
    are used, else lines that begin with `Field:` or `## Field`. The first section of each name counts.
    """
    wanted = list(names)
    text = bare_reply(text)
    found = _bracketed(text, wanted)
    # If there are well-formed headers, a line such as "Answer: ..." is part of a value.
    return found or _keyed(text, wanted) or _titled(text, wanted)


def bare_reply(text: str) -> str:
    """A reply without the thoughts before it and without its completion marker."""
    text = without_thoughts(text)
    end = _COMPLETED.search(text)
    return (_without_mark(text[: end.start()]) if end else text).strip()


def is_completed(text: str) -> bool:
    """Whether a reply has the completion marker."""
    return _COMPLETED.search(text) is not None


def without_repetitions(text: str) -> str | None:
    """A reply whose last lines come again and again, each of them once; None if it is no such reply.

    Small models get into such loops and leave them only at the length limit. Numbers may differ, as in a list that
    counts on. The last line is ignored, since it may be incomplete.
    """
    lines = text.splitlines()[:-1]
    alike = [_NUMBER.sub("0", line.strip()) for line in lines]
    for period in range(1, _LONGEST_LOOP + 1):
        once = alike[-period:]
        if not any(once):
            continue
        times = 1
        while alike[-period * (times + 1) : -period * times] == once:
            times += 1
        if times >= _TIMES:
            return "\n".join(lines[: len(lines) - period * (times - 1)])
    return None


def without_thoughts(text: str) -> str:
    """A reply without the thoughts before it and without the marks of a chat template."""
    text = _without_template(_NO_WIDTH.sub("", text))
    kept: list[str] = []
    start, opened = 0, None
    for tag in _THINK.finditer(text):
        if not (tag["end"] or tag["other_end"]):
            opened = tag.start() if opened is None else opened
            continue
        # An end without a beginning: all text before it is a thought.
        if opened is None:
            kept.clear()
        else:
            kept.append(text[start:opened])
        start, opened = tag.end(), None
    return "".join([*kept, text[start:]])


def _without_template(text: str) -> str:
    """The text of the last channel of a reply, up to the mark that ends a turn."""
    for channel in _FINAL_CHANNEL.finditer(text):
        text = channel.string[channel.end() :]
    if text.startswith(_OTHER_CHANNELS) and _FINAL_WORDS in text:
        text = text.rpartition(_FINAL_WORDS)[2]
    begun = _BEGINNING.match(text)
    text = text[begun.end() :] if begun else text
    end = _END.search(text)
    return text[: end.start()] if end and text[: end.start()].strip() else text


def _bracketed(text: str, wanted: list[str]) -> dict[str, str]:
    by_name = {name.casefold(): name for name in wanted}
    headers = []
    last = 0
    for match in _ANY_HEADER.finditer(text):
        before = text[last : match.start()]
        start = last + len(before.rstrip(" \t").rstrip("*_#>`").rstrip(" \t"))
        last = match.end()
        at_line_start = start == 0 or text[start - 1] == "\n"
        name = by_name.get(match["name"].casefold())
        # In the middle of a line and between back ticks, a header is only quoted.
        if at_line_start or (name is not None and "`" not in text[start:last]):
            headers.append((name, start, last))
    return _between(text, headers)


def _without_mark(text: str) -> str:
    """The text before a completion marker without the Markdown that belongs to the marker."""
    for mark in ("**", "__", "`"):
        if text.endswith(mark):
            return text.removesuffix(mark)
    return text[:-1].rstrip("#") if text.endswith("# ") else text


def _keyed(text: str, wanted: list[str]) -> dict[str, str]:
    """The fields of a reply that is a JSON object."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return {}
    try:
        value = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    by_name = {str(key).casefold().replace(" ", "_"): item for key, item in value.items()}
    found = {name: by_name[name.casefold()] for name in wanted if name.casefold() in by_name}
    return {
        name: item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for name, item in found.items()
    }


def _titled(text: str, wanted: list[str]) -> dict[str, str]:
    if not wanted:
        return {}
    options = "|".join(re.escape(name).replace("_", "[_ ]") for name in wanted)
    pattern = re.compile(
        rf"^[ \t]*+(?:#++[ \t]*+)?(?P<bold>\*\*|__)?(?:#++[ \t]*+)?(?P<name>{options})[ \t]*+"
        rf"(?:#++|[:：]?(?P=bold)?[:：]?)[ \t]*+(?=\n|$)|"
        rf"^[ \t]*+(?:[-*][ \t]++)?(?:\*\*|__)?(?P<inline>{options})(?:\*\*|__)?[ \t]*+[:：](?:\*\*|__)?[ \t]*+",
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


TASK = "Your task:\n"
"""The line before the instruction in the system message."""

# A header is alone on its line; header-like text in a label or question is not.
_HEADER = re.compile(r"^\[\[ ## (\w+) ## \]\]$", re.MULTILINE)
_NAME = re.compile(r"\[\[ ## (\w+) ## \]\]")
_ITEM = re.compile(r"^\[(\d+)\] (.*)$")


class ForeignPromptError(TriplecheckError):
    """A prompt matches no known step, or several."""


@dataclass(frozen=True)
class Prompt:
    """A parsed request.

    Attributes:
        inputs: text by input field.
        outputs: names of the output fields, in order.
        instructions: from the system message; empty if it has another form.
        language: of its texts, as `language.pipeline` names languages.
    """

    inputs: dict[str, str]
    outputs: tuple[str, ...]
    instructions: str = ""
    language: str = ENGLISH

    @property
    def signature(self) -> str:
        """The fields as DSPy writes them: "question, facts -> answers"."""
        return f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"

    def question(self, phrases: Iterable[str] = ()) -> Question:
        """The question, read with its topics, and with names of relations if there are any."""
        topics = self.items("topics") if "topics" in self.inputs else []
        return read_question(self.text("question"), topics, phrases, self.language)

    def text(self, name: str) -> str:
        """An input as text; empty if missing."""
        return self.inputs.get(name, "")

    def items(self, name: str) -> list[str]:
        """An input list, written one `[i] item` a line."""
        return [match[2] for line in self.text(name).splitlines() if (match := _ITEM.match(line))]

    def step(self, steps: Sequence[type[Step]]) -> type[Step]:
        """The step that this is a prompt of.

        A step is recognised by its fields, even if an optimizer has rewritten its instruction. Steps that share their
        fields are distinguished by their instructions, so they are not recognised after a rewrite.

        Raises:
            ForeignPromptError: no step matches, or several match.
        """
        alike = _by_fields(tuple(steps)).get(self.signature, [])
        same = [step for step in alike if step.instructions == self.instructions] if len(alike) > 1 else alike
        if len(same) == 1:
            return same[0]
        if alike:
            names = ", ".join(step.__name__ for step in alike)
            raise ForeignPromptError(f"the steps {names} share the fields {self.signature}; give one of them others")
        raise ForeignPromptError(f"no known step has these fields: {self.signature if self.outputs else 'none found'}")


def known_names(prompt: Prompt) -> list[KnownName]:
    """The known names of a prompt. Parentheses that the question itself writes belong to the name."""
    question = f" {' '.join(words_of(prompt.text('question')))} "
    return [_known_name(item, question) for item in prompt.items("known_names")]


def _known_name(item: str, question: str) -> KnownName:
    known = read_known_name(item)
    if known.types and f" {' '.join(words_of(item))} " in question:
        spelling = item if known.spelling == known.name else known.spelling
        return replace(known, name=item, spelling=spelling, types=())
    return known


Chat: TypeAlias = Sequence[tuple[str, str]]
"""(role, content) of each message, in order."""


def read_request(messages: Chat) -> Prompt:
    """The request at the end of a chat. A repair request has no inputs; it gets those of the request before it."""
    system = next((content for role, content in messages if role == "system"), "")
    requests = [read_prompt(content) for role, content in messages if role == "user"][-2:]
    if not requests:
        return Prompt({}, ())
    last = requests[-1]
    inputs = last.inputs or requests[0].inputs
    return Prompt(inputs, last.outputs, system.rpartition(TASK)[2].strip() if TASK in system else "")


def read_prompt(user_message: str) -> Prompt:
    """Parse the last user message of a request: input sections, then the reminder that names the outputs."""
    body, separator, reminder = user_message.rpartition("Reply with ")
    if not separator:
        body, reminder = user_message, ""
    outputs = tuple(name for name in _NAME.findall(reminder) if name != "completed")
    _, *sections = _HEADER.split(body)
    inputs: dict[str, str] = {}
    for name, text in zip(sections[::2], sections[1::2], strict=True):
        inputs.setdefault(name, text.strip())
    return Prompt(inputs, outputs)


@functools.lru_cache
def _by_fields(steps: tuple[type[Step], ...]) -> dict[str, list[type[Step]]]:
    found: dict[str, list[type[Step]]] = {}
    for step in steps:
        found.setdefault(step.signature, []).append(step)
    return found
