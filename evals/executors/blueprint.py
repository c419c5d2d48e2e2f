"""What another process needs to open the same program: names and paths, and no part of the program itself."""

from __future__ import annotations

import importlib
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triplecheck.evals.asking import Asker
from triplecheck.evals.configuration import describe, differences, plain
from triplecheck.evals.executors.base import Job
from triplecheck.evals.judge import Judge
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.lms import Roles
from triplecheck.programs import Program, Sources


@dataclass(frozen=True)
class Blueprint:
    """How to open a program over a knowledge base that lies on a path which all processes see.

    The knowledge base is mapped there, once per process, and not sent. Keys and addresses of models come from
    that process's environment.
    """

    module: str
    name: str
    """Qualified name of the program's class in its module."""
    arguments: dict[str, Any]
    """Constructor arguments, apart from the sources."""
    state: dict[str, Any]
    """Instructions and demonstrations, as an optimizer may have left them: `dspy.Module.dump_state`."""
    folder: str
    """The knowledge base."""
    kinds: tuple[bool, bool]
    """Whether the sources hold the vectors of relations, and the knowledge base itself."""
    configuration: dict[str, Any]
    """What the rows depend on: the opened program must describe itself in the same way."""
    names_in_base: bool
    """Whether gold names are looked up in the knowledge base's index."""
    timeout: float | None
    judged: bool
    """Whether a model judges answers that are not right by exact comparison."""
    search_path: tuple[str, ...]
    """Where Python looks for modules."""
    abstain_below: float | None = None
    """See `Program.abstain_below`."""

    @classmethod
    def of(cls, job: Job) -> Blueprint:
        """Describe the program of a job.

        Raises:
            UserError: it cannot be opened from a description; the message says why.
        """
        program = job.program
        kind, sources = type(program), program.sources
        if getattr(sys.modules.get(kind.__module__), kind.__name__, None) is not kind or kind.__module__ == "__main__":
            raise _cannot(program, f"its class {kind.__qualname__} cannot be imported from a module")
        base = job.knowledge_base or sources.knowledge_base
        if base is None or sources.graph is not base.graph or sources.linker is not base.linker:
            raise _cannot(program, "its graph and linker are not those of a knowledge base in a directory")
        return cls(
            module=kind.__module__,
            name=kind.__name__,
            arguments=_arguments(program),
            state=program.dump_state(),
            folder=str(Path(base.path).resolve()),
            kinds=(sources.relations is not None, sources.knowledge_base is not None),
            configuration=plain(job.configuration),
            names_in_base=job.knowledge_base is not None,
            timeout=job.timeout,
            judged=job.judge is not None,
            search_path=tuple(sys.path),
            abstain_below=program.abstain_below,
        )

    @property
    def roles(self) -> Roles:
        """Which models play which roles."""
        by_role = dict(self.configuration["roles"])
        return Roles(by_role.pop("default"), by_role)

    def open(self) -> Asker:
        """Open the program here.

        Raises:
            UserError: what opened is not what was described.
            TriplecheckError: it cannot be opened here.
        """
        sys.path += [place for place in self.search_path if place not in sys.path]
        base = KnowledgeBase.open(self.folder)
        with_relations, with_base = self.kinds
        relations = base.relation_vectors if with_relations else None
        sources = Sources(base.graph, base.linker, relations, base if with_base else None)
        program: Program = getattr(importlib.import_module(self.module), self.name)(sources, **self.arguments)
        program.load_state(self.state)
        if self.abstain_below is not None:
            program.abstain_below = self.abstain_below
        names, judge = base if self.names_in_base else None, Judge() if self.judged else None
        here = describe(program, self.roles, names, self.configuration["settings"])
        here |= {} if judge is None else {"judge": judge.prompts}
        differ = differences(self.configuration, plain(here))
        if differ:
            raise UserError(f"a worker process opened another program than was described: {'; '.join(differ)}")
        base.linker.mentions("warm up")  # what it loads at its first question is not on that question's time
        return Asker(program, names, self.timeout, judge)


def _arguments(program: Program) -> dict[str, Any]:
    """The options that the program was made with."""
    takes = list(inspect.signature(type(program).__init__).parameters.values())[1:]
    others = [argument.name for argument in takes if argument.name not in ("sources", "preset", "options")]
    if others:
        raise _cannot(program, f"it takes {others[0]!r}, which is not a field of its Options")
    return dict(vars(program.options))


def _cannot(program: Program, reason: str) -> UserError:
    return UserError(
        f"the program {program.name!r} cannot be opened by other processes: {reason}; run it with --executor threads"
    )
