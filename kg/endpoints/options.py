"""`EndpointOptions`: where a graph is that is asked by queries, and how: an endpoint."""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from triplecheck.kg.cypher.dialects import BOLT_SCHEMES, LADYBUG
from triplecheck.kg.errors import UserError

_URL = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*://|{LADYBUG}:")
_ONLY_SPARQL = ("headers", "default_graph", "statements", "language", "requests_per_second")
_ONLY_CYPHER = ("database", "key", "relations")


def is_url(text: object) -> bool:
    """Whether a text is a URL, or names an embedded database, rather than a directory."""
    return isinstance(text, str) and _URL.match(text) is not None


@dataclass(frozen=True)
class EndpointOptions:
    """An endpoint. The defaults suit a server of your own; give a rate for a public one.

    Attributes:
        url: of the query service, such as `https://host/sparql`; of a Bolt server, such as `neo4j://host:7687`; or
            `ladybug:PATH`, an embedded database.
        profile: its `kg.sparql.profiles.PROFILES` or `kg.cypher.DIALECTS`; None: detected.
        user_env, key_env: environment variables with the user and the password.
        headers: sent with each query; `$NAME` in a value is replaced from the environment.
        default_graph: IRI of the named graph that is queried.
        statements: how statements about edges are written, `kg.sparql.profiles.STATEMENTS`; None: as in the profile.
        database: database of a Bolt server; None: the user's.
        key: property with the ids of nodes in a property graph; None: found.
        relations: table that describes the relations of a property graph, as `kb build --relations` reads it.
        types, labels, aliases, descriptions: the predicates or properties that describe; empty: the profile's.
        ignored: further predicates or properties that are not edges.
        language: preferred language of labels.
        seconds, rows, megabytes: limits of one query.
        requests_per_second: most queries a second; None: no limit.
        retries: further tries if the server is busy or fails for the moment.
        cache_hours: age from which a cached reply is asked for again; 0: no cache.
        index: directory that `triplecheck kb index` wrote; None: the default place for the URL, if there is one.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    url: str
    profile: str | None = None
    user_env: str | None = None
    key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    default_graph: str | None = None
    statements: str | None = None
    database: str | None = None
    key: str | None = None
    relations: Path | None = None
    types: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    language: str | None = None
    seconds: float = 60.0
    rows: int = 1_000_000
    megabytes: int = 512
    requests_per_second: float | None = None
    retries: int = 3
    cache_hours: float = 1.0
    cache_megabytes: int = 256
    index: Path | None = None

    def __post_init__(self) -> None:
        if self.scheme not in ("http", "https", LADYBUG, *BOLT_SCHEMES):
            raise UserError(
                f"{self.name}: neither the URL of a SPARQL endpoint, such as https://host/sparql, nor of a Bolt "
                f"server, such as neo4j://host:7687, nor {LADYBUG}:PATH"
            )
        other, kind = (_ONLY_SPARQL, "a SPARQL endpoint") if self.is_cypher else (_ONLY_CYPHER, "a property graph")
        if wrong := [name for name in other if getattr(self, name)]:
            raise UserError(f"{self.name}: {wrong[0]} is a setting of {kind}; leave it out")
        for name in ("seconds", "rows", "megabytes", "requests_per_second"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UserError(f"{self.name}: {name} is {value}; it must be greater than 0")
        for name in ("retries", "cache_hours", "cache_megabytes"):
            if getattr(self, name) < 0:
                raise UserError(f"{self.name}: {name} is {getattr(self, name)}; it must not be less than 0")

    @property
    def scheme(self) -> str:
        """The scheme of the URL."""
        return urllib.parse.urlsplit(self.url).scheme

    @property
    def is_cypher(self) -> bool:
        """Whether it is asked in Cypher."""
        return self.scheme == LADYBUG or self.scheme in BOLT_SCHEMES

    @property
    def path(self) -> Path:
        """Where an embedded database is."""
        return Path(self.url.removeprefix(f"{LADYBUG}:").removeprefix("//")).expanduser().absolute()

    @property
    def name(self) -> str:
        """The URL without user, password and parameters, for messages."""
        if self.scheme == LADYBUG:
            return f"{LADYBUG}:{self.path}"
        parts = urllib.parse.urlsplit(self.url)
        return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @property
    def identity(self) -> dict[str, Any]:
        """What determines which graph is read; without anything secret."""
        described = {n: getattr(self, n) for n in ("types", "labels", "aliases", "descriptions", "ignored")}
        parameters = urllib.parse.urlsplit(self.url).query
        about = {
            "endpoint": self.name,
            "parameters": parameters,
            "profile": self.profile,
            "default_graph": self.default_graph,
            "database": self.database,
            "key": self.key,
            "relations": None if self.relations is None else str(self.relations.absolute()),
            "language": self.language,
            **{name: list(values) for name, values in described.items()},
        }
        return {name: value for name, value in about.items() if value}

    @property
    def credentials(self) -> tuple[str | None, str | None]:
        """User and password from the environment.

        Raises:
            UserError: a named variable is not set.
        """
        return _from_environment(self.user_env, self.name), _from_environment(self.key_env, self.name)


def headers_from_environment(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """Headers in which `$NAME` is replaced from the environment.

    Args:
        name: of what they are sent to, for messages.

    Raises:
        UserError: a named variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        return _from_environment(match[1], name) or ""

    return {header: re.sub(r"\$(\w+)", value, text) for header, text in headers.items()}


def _from_environment(variable: str | None, name: str) -> str | None:
    if variable is None:
        return None
    if variable not in os.environ:
        raise UserError(f"{name}: the environment variable {variable} is not set; set it, or name another one")
    return os.environ[variable]
