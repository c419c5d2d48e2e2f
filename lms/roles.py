"""Roles, and the session that assigns models to them."""

from __future__ import annotations

import functools
import logging
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import dspy

from triplecheck.kg.errors import UserError
from triplecheck.lms.adapter import DEFAULT_ADAPTER
from triplecheck.lms.kinds import EXTRACTIVE
from triplecheck.lms.ledger import Budget, Ledger
from triplecheck.lms.metering import model_name
from triplecheck.lms.resolve import language_model, suited

LINK = "link"
"""The role that says what words of a question mean in a graph (schema linking)."""

ROLES = ("answer", "extract", LINK, "prune", "judge", "query", "rerank")
"""The roles that programs use, in addition to `knowledge.1`, `knowledge.2` ... (one per knowledge model)."""

_KNOWLEDGE = re.compile(r"knowledge\.[1-9][0-9]*")


def check_role(name: str) -> str:
    """Return `name` if it is a role; raise `UserError` listing the roles if it is not."""
    if name in ROLES or _KNOWLEDGE.fullmatch(name):
        return name
    raise UserError(f"unknown role {name!r}: the roles are {', '.join(ROLES)} and knowledge.1, knowledge.2 ...")


Model: TypeAlias = str | dspy.BaseLM
"""A model string, or a language model that the user made, such as `dspy.LM("openai/gpt-4o-mini", temperature=0.7)`."""


@dataclass(frozen=True, init=False, repr=False)
class Roles:
    """The model of each role: `Roles("openai/gpt-4o-mini", prune="extractive", answer=dspy.LM(...))`.

    Args:
        default: the model of every role that is not named.
        by_role: role to model, for roles such as `knowledge.1` that are not Python names.
        **roles: role to model.

    Raises:
        UserError: a role is unknown or named twice, or has no model.
    """

    default: Model
    """The model of every role that is not in `by_role`."""
    by_role: Mapping[str, Model] = field(hash=False)
    """Role to model. Do not change it after construction."""

    def __init__(self, default: Model = EXTRACTIVE, by_role: Mapping[str, Model] | None = None, **roles: Model) -> None:
        named = dict(by_role or {})
        for role in named.keys() & roles.keys():
            raise UserError(f"role {role!r} is given twice: {named[role]!r} and {roles[role]!r}; keep one")
        named |= roles
        for role in named:
            check_role(role)
        for role, model in {"default": default, **named}.items():
            if not isinstance(model, Model) or not str(getattr(model, "model", model)).strip():
                raise UserError(
                    f"role {role!r} has no model: give a model string such as 'openai/gpt-4o-mini', or a dspy.LM"
                )
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "by_role", named)

    @classmethod
    def parse(cls, items: Iterable[str], default: str = EXTRACTIVE) -> Roles:
        """Parse `role=model` items of a command line.

        An item without a role, or with the role `default`, names the default model. A role that is given twice
        is an error.

        Raises:
            UserError: a role is unknown or named twice, or a model is missing.
        """
        found: dict[str, str] = {}
        for item in items:
            role, separator, model = item.partition("=")
            if not separator or "/" in role:
                role, model = "default", item
            role, model = role.strip(), model.strip()
            if role in found:
                raise UserError(f"role {role!r} is given twice: {found[role]!r} and {model!r}; keep one")
            found[role] = model
        return cls(default=found.pop("default", default), by_role=found)

    def model(self, role: str) -> str:
        """The name of a role's model.

        Raises:
            UserError: the role is unknown.
        """
        return name_of(self.by_role.get(check_role(role), self.default))

    def lm(self, role: str) -> Any:
        """The language model of a role.

        Raises:
            UserError: the role is unknown.
            ModelUnavailableError: its model is unavailable.
        """
        model = self.by_role.get(check_role(role), self.default)
        return language_model(suited(model, dspy.settings.get("path_ranker"), dspy.settings.get("text_language")))

    def models(self) -> list[str]:
        """The names of all models, without duplicates, the default first."""
        return list(self.lms())

    def lms(self) -> dict[str, Model]:
        """The models by name, the default first."""
        return {name_of(model): model for model in (self.default, *self.by_role.values())}

    def __repr__(self) -> str:
        default, *named = (
            repr(name) if role == "default" else f"{role}={name!r}" for role, name in self.to_json().items()
        )
        return f"Roles({', '.join([default, *named])})"

    def to_json(self) -> dict[str, str]:
        """`{"default": ..., role: model ...}`: the form in manifests and reports."""
        named = {role: name_of(model) for role, model in sorted(self.by_role.items())}
        return {"default": name_of(self.default), **named}

    @classmethod
    def from_json(cls, row: Mapping[str, str]) -> Roles:
        """The roles that `to_json` wrote."""
        named = dict(row)
        return cls(named.pop("default"), named)


def name_of(model: Model) -> str:
    """A model as people see it: its model string."""
    return model if isinstance(model, str) else model_name(model)


REPLIES_IN_MEMORY = 10_000
"""Replies that DSPy's cache keeps in memory, about 85 MB; by default it keeps a million, 8 GB."""

BASELINE = Roles()
"""The roles where no model is configured at all."""


@contextmanager
def session(
    roles: Roles | Model | None = None,
    budget: Budget | None = None,
    *,
    ranker: Path | None = None,
    language: str | None = None,
) -> Iterator[Ledger]:
    """Set roles, adapter, budget and ledger for all code inside the block, `dspy.Parallel` included.

    The adapter of `dspy.configure(adapter=...)` is kept; without one replies are read by `TolerantAdapter`.
    Sessions nest: calls count in the inner and the outer ledgers, and all budgets apply. `dspy.Parallel` and
    `dspy.asyncify` pass a session on. Threads that you start yourself do not inherit it: a call there is refused while
    a session with models or a budget is open elsewhere.

    Args:
        roles: the models; a model string or a `dspy.LM` is the model of all roles. None keeps the roles of the
            enclosing session, else the model of `dspy.configure(lm=...)` has all roles, else `extractive`.
        budget: limits for the calls inside.
        ranker: file of the ranker of paths that `extractive` uses, unless its model string names another; None keeps
            that of the enclosing session.
        language: of the texts that `extractive` reads, likewise.

    Raises:
        ModelUnavailableError: the default model is unavailable.
        UserError: none of `roles` and an enclosing session names the models, and a session is open in another thread.
    """
    outer_roles: Roles | None = dspy.settings.get("lm_roles")
    outer_ledger: Ledger | None = dspy.settings.get("ledger")
    is_own = roles is not None or budget is not None
    if roles is None and outer_roles is None:
        check_thread()
    configured = dspy.settings.lm
    if isinstance(roles, Model):
        roles = Roles(roles)
    ledger = Ledger(budget, parent=outer_ledger)
    restrict_cache()
    # Optimizers copy `settings.lm` to vary it and run their own prompts on it: it is the default model.
    if roles is not None:
        default = language_model(roles.default)
    elif outer_roles is not None:
        roles, default = outer_roles, configured or language_model(outer_roles.default)
    elif configured is not None:
        roles, default = Roles(configured), configured
    else:
        roles, default = BASELINE, language_model(BASELINE.default)
    adapter = dspy.settings.adapter or DEFAULT_ADAPTER
    own = {"path_ranker": ranker, "text_language": language}
    own = {name: value for name, value in own.items() if value is not None}
    with (
        dspy.context(lm_roles=roles, ledger=ledger, lm=default, adapter=adapter, **own),
        _counted() if is_own else nullcontext(),
    ):
        yield ledger


_lock = threading.Lock()
_sessions: Counter[int] = Counter()
"""How many sessions with models or a budget are open, by thread."""


@contextmanager
def _counted() -> Iterator[None]:
    """Count a session of this thread while the block runs."""
    thread = threading.get_ident()
    with _lock:
        _sessions[thread] += 1
    try:
        yield
    finally:
        with _lock:
            _sessions[thread] -= 1


def check_thread() -> None:
    """Refuse a call outside of all sessions that was probably meant for a session of another thread.

    Raises:
        UserError: a session is open in another thread: this one would use other models, and no ledger would count.
    """
    here = threading.get_ident()
    with _lock:
        elsewhere = any(number > 0 for thread, number in _sessions.items() if thread != here)
    if elsewhere:
        raise UserError(
            "this thread has no session, and one is open in another thread: threads do not inherit sessions. Run many "
            "questions with dspy.Parallel, hand the session on with contextvars.copy_context().run, or open one here"
        )


@functools.cache
def warn_of_baseline() -> None:
    """Say once that the baseline answers, because no language model is configured."""
    logging.getLogger("triplecheck").warning(
        "no language model is configured: %r answers, a rule-based baseline; "
        "set a model with dspy.configure(lm=...) or triplecheck.session(...)",
        BASELINE.default,
    )


def restrict_cache() -> None:
    """Restrict DSPy's disk cache to plain data and its cache in memory to 10,000 replies, unless one is configured."""
    if "cache" in vars(dspy):
        return
    try:
        dspy.configure_cache(restrict_pickle=True, memory_max_entries=REPLIES_IN_MEMORY)
    except (OSError, sqlite3.Error):
        # The directory is not writable: the cache is in memory only.
        dspy.configure_cache(enable_disk_cache=False, restrict_pickle=True, memory_max_entries=REPLIES_IN_MEMORY)
