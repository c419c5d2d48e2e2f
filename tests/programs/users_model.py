"""A language model in the user's place: replies to the steps of KERAG, and to the prompts of DSPy's optimizers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from dspy.lm15 import Request, Response

from triplecheck.lms.engines import messages_of, reply

_FACT = re.compile(r"\[(\d+)\] (.+ → .+ → (.+))")
_ASKED = re.compile(r"(?:Reply|Respond) with .*", re.DOTALL)
_FIELD = re.compile(r"(?:\[\[ ## |`|<)(\w+)(?: ## \]\]|`|>)")


def users_reply(messages: Sequence[dict[str, Any]]) -> str:
    """The reply to a chat, in the format that its last message asks for.

    The cited fact is the one that shares the most words with the question; without numbers there is none to cite.
    """
    prompt = messages[-1]["content"]
    labelled = messages[0]["content"].partition("Reply in this form:\n")[2]
    if labelled and messages[0]["role"] == "system":
        lines = [f"{label}: {_line(label.lower(), prompt)}" for label in re.findall(r"^([A-Z]\w*): <", labelled, re.M)]
        return "\n".join(lines)
    asked = _ASKED.search(prompt)
    if asked is None:  # a prompt without fields, such as GEPA's
        return "```\nAnswer from the facts, and cite them.\n```"
    values = {name: _value(name, prompt) for name in dict.fromkeys(_FIELD.findall(asked[0])) if name != "completed"}
    if "JSON object" in asked[0]:
        return json.dumps(values)
    if "<" in asked[0]:
        return "".join(f"<{name}>{_text(value, json.dumps)}</{name}>" for name, value in values.items())
    written = json.dumps if "valid Python" in asked[0] else _listed
    fields = "".join(f"[[ ## {name} ## ]]\n{_text(value, written)}\n\n" for name, value in values.items())
    return f"{fields}[[ ## completed ## ]]"


def _line(name: str, prompt: str) -> str:
    """The value of a field in the format of labels, where items are named by their beginnings."""
    items = re.findall(r"^- (.+)$", prompt, re.M)
    if name == "keep":
        return "\n".join(items[:3])
    numbered = re.sub(
        r"^- ", "[1] ", prompt.replace("Known names:", "known_names").replace("Question:", "question"), flags=re.M
    )
    answers = _value("answers", numbered)
    if name == "cited":
        return "\n".join(item for item in items if answers and item.endswith(answers[0]))
    return _text(_value(name, numbered), _lines)


def _lines(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else json.dumps(value)


def _value(name: str, prompt: str) -> Any:
    facts = [(number, text, tail) for number, text, tail in _FACT.findall(prompt)]
    words = set(re.findall(r"\w{4,}", prompt.split("question", 1)[-1].split("[[")[0].lower()))
    best = max(facts, key=lambda fact: len(words & set(re.findall(r"\w{4,}", fact[1].lower()))), default=None)
    known: dict[str, Any] = {
        "topics": re.findall(r"\[\d+\] (?:.+ = )?(.+?)(?: \(.*\))?$", prompt.partition("known_names")[2], re.M)
        or ["Bernhard Heiden"],
        "domain": "unknown",
        "keep": list(range(1, 7)),
        "cited": [] if best is None else [int(best[0])],
        "operation": "none",
        "query": "none",
        "reasoning": "No fact tells it." if best is None else f"It is said: {best[1]}.",
        "answers": [] if best is None else [best[2]],
        "advice": {"summarize": "Cite one fact."},
        "module_advice": {"summarize": "Cite one fact."},
    }
    return known.get(name, "Answer from the facts, and cite them.")


def _text(value: Any, written: Callable[[Any], str]) -> str:
    return value if isinstance(value, str) else written(value)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)


class UsersEngine:
    """Behind a user's own `dspy.LM`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.before: Callable[[], object] = lambda: None

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        self.before()
        return reply(request, users_reply(messages_of(request)), prompt_tokens=10, completion_tokens=5)

    def __deepcopy__(self, memo: dict[int, object]) -> UsersEngine:
        return self
