"""The configuration of an evaluation: everything that its rows depend on. Runs with the same one can share rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question
from triplecheck.kg import Graph, KnowledgeBase
from triplecheck.kg.functions import FunctionGraph
from triplecheck.kg.ranker import load_ranker
from triplecheck.lms import Roles
from triplecheck.lms.resolve import language_model
from triplecheck.programs import Cascade, Program


def describe(
    program: Program, roles: Roles, knowledge_base: KnowledgeBase | None, settings: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the configuration of a run as JSON-serialisable values.

    Raises:
        ModelUnavailableError: a model of the roles is not available.
    """
    if knowledge_base is not None:
        graph: dict[str, Any] = knowledge_base.identity
    else:
        there = program.graph
        graph = {"nodes": there.num_nodes, "relations": there.num_relations, "triples": there.num_triples}
    all_roles = (roles, *program.own_roles)
    return {
        "program": program.name,
        "switches": switches(program),
        "thresholds": dict(program.thresholds) or None,
        "prompts": _prompts(program),
        "roles": roles.to_json(),
        # The id of an embedded model contains a hash of its weights.
        "models": {name: str(language_model(model).model) for one in all_roles for name, model in one.lms().items()},
        "knowledge_base": graph,
        "functions": _functions(program.graph),
        "rankers": _given_rankers(program),
        "language": program.sources.language,
        "settings": plain(dict(settings or {})),
    }


def _prompts(program: Program) -> str:
    """A hash of the predictors: instructions, demonstrations, and the models set on single predictors."""
    own = {name: str(step.lm.model) for name, step in program.named_predictors() if step.lm is not None}
    if not own:
        return digest(program.dump_state())
    # An embedded model cannot dump its state; its id contains a hash of its weights.
    bare = program.deepcopy()
    bare.set_lm(None)
    return digest([bare.dump_state(), own])


def _functions(graph: Graph) -> list[str] | None:
    """The ids of the relations that functions add to a graph; None if there are none."""
    if not isinstance(graph, FunctionGraph):
        return None
    return [graph.relation(number).id for number in range(graph.stored.num_relations, graph.num_relations)]


def _given_rankers(program: Program) -> list[str] | None:
    """The fingerprints of the rankers that were given to a program or to the members of a cascade; None without any."""
    programs = program.programs if isinstance(program, Cascade) else [program]
    return [load_ranker(path).fingerprint for one in programs if (path := one.sources.given_ranker)] or None


def switches(program: Program) -> dict[str, Any]:
    """The options of a program, and `abstain_below`."""
    options = {**vars(program.options), "abstain_below": program.abstain_below}
    return {name: plain(value) for name, value in sorted(options.items())}


def plain(value: Any) -> Any:
    """Return a value as JSON-serialisable data. Any other object becomes the name of its type."""
    if value is None or isinstance(value, str | bool | int | float):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def digest(value: Any) -> str:
    """Return a short hash of JSON-serialisable data."""
    text = json.dumps(plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def configuration_digest(configuration: Mapping[str, Any]) -> str:
    """Return a short hash of a configuration. As in `differences`, a null equals a missing key."""
    return digest(_without_nulls(plain(configuration)))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def row_key(question: Question, of_configuration: str) -> str:
    """Return the content key of a row: a hash of the configuration, the question and its gold fields."""
    return digest(
        [
            of_configuration,
            question.id,
            question.question,
            question.answers,
            question.answer_labels,
            question.one_answer,
            question.computed,
            question.topic,
            *filter(None, (question.answer_aliases, question.topic_labels)),
        ]
    )


def differences(there: Any, here: Any, name: str = "") -> list[str]:
    """Return the differences between two configurations, one line each. A null equals a missing key."""
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for key in sorted({*there, *here}):
            place = f"{name}.{key}" if name else key
            found += differences(there.get(key), here.get(key), place)
        return found
    return [] if there == here else [f"{name} was {json.dumps(there)} and is now {json.dumps(here)}"]
