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


def _value(name: str, prompt: str) -> Any:
    facts = [(number, text, tail) for number, text, tail in _FACT.findall(prompt)]
    words = set(re.findall(r"\w{4,}", prompt.split("question", 1)[-1].split("[[")[0].lower()))
    best = max(facts, key=lambda fact: len(words & set(re.findall(r"\w{4,}", fact[1].lower()))), default=None)
    known: dict[str, Any] = {
        "topics": re.findall(r"\[\d+\] (.+)", prompt.partition("known_names")[2]) or ["Bernhard Heiden"],
        "domain": "unknown",
        "keep": list(range(1, 7)),
        "cited": [] if best is None else [int(best[0])],
        "operation": "none",
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
