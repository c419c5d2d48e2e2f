"""Roles: a program asks for `answer` or `prune`, a person decides which model that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from triplecheck.kg.errors import UserError

ROLES = ("answer", "extract", "link", "prune", "judge", "query", "rerank")
"""The roles that programs use; besides them `knowledge.1`, `knowledge.2` ... (one per knowledge model)."""

DEFAULT_MODEL = "extractive"
"""What answers where nothing is configured: the embedded engine that is not a language model."""

_KNOWLEDGE = re.compile(r"knowledge\.[1-9][0-9]*")


def check_role(name: str) -> str:
    """Return `name` if it is a role; raise `UserError` listing the roles if it is not."""
    if name in ROLES or _KNOWLEDGE.fullmatch(name):
        return name
    raise UserError(f"unknown role {name!r}: the roles are {', '.join(ROLES)} and knowledge.1, knowledge.2 ...")


@dataclass(frozen=True)
class Roles:
    """Which model plays which role.

    Raises:
        UserError: a role is unknown or a model string is empty.
    """

    default: str = DEFAULT_MODEL
    """Model string of every role that is not named in `by_role`."""
    by_role: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Role to model string. Not to be changed after construction."""

    def __post_init__(self) -> None:
        for role, model in {"default": self.default, **self.by_role}.items():
            if role != "default":
                check_role(role)
            if not isinstance(model, str) or not model.strip():
                raise UserError(f"role {role!r} has no model: give one, such as {role}=openai/gpt-4o-mini")
        object.__setattr__(self, "by_role", dict(self.by_role))

    @classmethod
    def parse(cls, items: Iterable[str], default: str = DEFAULT_MODEL) -> Roles:
        """Read `role=model` items as a command line gives them.

        An item without a role, or with the role `default`, names the default model. Later items do
        not override earlier ones: a role that is given twice is refused.

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
        """The model string of a role; the default where the role has none of its own.

        Raises:
            UserError: there is no such role.
        """
        return self.by_role.get(check_role(role), self.default)

    def models(self) -> list[str]:
        """Every model string named here, each once, the default first."""
        return list(dict.fromkeys([self.default, *self.by_role.values()]))

    def to_json(self) -> dict[str, str]:
        """`{"default": ..., role: model ...}`: the form in manifests and reports."""
        return {"default": self.default, **dict(sorted(self.by_role.items()))}
