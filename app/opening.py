"""Opens what options and configuration name: knowledge base, models, budget, questions, program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.app.console import remark, reporting, stderr, waiting

if TYPE_CHECKING:
    from rich.console import Console

    from triplecheck.app.config import Settings
    from triplecheck.app.options import BatchOptions
    from triplecheck.evals.questions import Question
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.endpoints import EndpointOptions
    from triplecheck.kg.progress import ProgressCallback
    from triplecheck.lms import Budget, Roles
    from triplecheck.programs import Program, Sources

_WITH_RULES_FIRST = ("kerag", "anchorrag")


@dataclass(frozen=True)
class Setup:
    """What a command runs with."""

    settings: Settings
    kb: KnowledgeBase
    program: Program
    roles: Roles
    budget: Budget
    """Of one question; of the whole run for a batch."""


@dataclass(frozen=True)
class Batch(Setup):
    """What a command runs with over many questions."""

    questions: list[Question]
    source: str
    """What to call the questions in the name of a run."""


def open_setup(settings: Settings, err: Console) -> Setup:
    """Open what one question is answered with.

    Args:
        err: where progress is shown.

    Raises:
        UserError: there is no such program, role or bundle, or the program has no such option.
        KnowledgeBaseError: the knowledge base is missing or damaged.
    """
    with waiting(err, "loading"):
        from triplecheck.lms import Budget

        models, limits = roles(settings), Budget(**settings.budget.model_dump())
    with reporting(err, "opening the knowledge base") as tell:
        kb = open_knowledge_base(settings, tell)
        return Setup(settings, kb, open_program(with_bar(settings), kb, tell), models, limits)


def open_batch(
    settings: Settings, run: BatchOptions, bundled: Sequence[str], err: Console, *, cascades: bool = False
) -> Batch:
    """Open what many questions are answered with. The budget is that of the flags alone.

    Args:
        bundled: splits of the bundled questions that are used by default.
        err: where progress is shown.
        cascades: open the configured cascade, if there is one; else the program that it ends with.

    Raises:
        UserError: as `open_setup`, or the options exclude each other, or there are no questions.
        KnowledgeBaseError: the knowledge base is missing or damaged.
    """
    with waiting(err, "loading"):
        from triplecheck.lms import Budget

        models = roles(settings)
        questions, source = read_questions(settings, run, bundled)
    with reporting(err, "opening the knowledge base") as tell:
        kb = open_knowledge_base(settings, tell)
        program = (
            open_program(settings, kb, tell) if cascades else _open_alone(settings, with_functions(settings, kb), tell)
        )
    return Batch(settings, kb, program, models, Budget(**run.budget), questions, source)


def open_knowledge_base(settings: Settings, progress: ProgressCallback | None = None) -> KnowledgeBase:
    """The configured knowledge base or endpoint, or the bundled knowledge base, with the configured documents.

    Raises:
        UserError: there is no such language.
        KnowledgeBaseError: it is missing or damaged, or there are no documents at their place.
        GraphUnavailableError: the endpoint does not answer.
        UnavailableError: the server of the documents does not answer.
    """
    if settings.language is not None:
        from triplecheck.language.pipeline import check_language

        check_language(settings.language)
    base = _opened_base(settings, progress)
    base.language = settings.language or base.language
    if settings.documents is not None:
        from triplecheck.kg.document_stores import open_documents

        base.documents_elsewhere = open_documents(settings.documents)
    return base


def _opened_base(settings: Settings, progress: ProgressCallback | None) -> KnowledgeBase:
    from triplecheck.kg import KnowledgeBase
    from triplecheck.kg.knowledge_base import BUNDLED, open_bundled, open_remote
    from triplecheck.kg.progress import no_progress

    if settings.kb is None or settings.kb == BUNDLED:
        return open_bundled(settings.cache, progress or no_progress)
    endpoint = endpoint_options(settings, settings.kb)
    if endpoint is not None:
        return open_remote(endpoint, settings.cache)
    return KnowledgeBase.open(Path(settings.kb).expanduser())


def endpoint_options(settings: Settings, kb: str) -> EndpointOptions | None:
    """The endpoint that a name or a URL means; None if it is neither.

    A URL is asked as the named endpoint with this URL is, if there is one.
    """
    from triplecheck.kg.endpoints import EndpointOptions, is_url

    if is_url(kb):
        same = [endpoint for endpoint in settings.endpoints.values() if endpoint.url == kb]
        return same[0] if same else EndpointOptions(kb)
    return settings.endpoints.get(kb)


def open_base(kb: str, *, with_documents: bool = False) -> KnowledgeBase:
    """The knowledge base that an argument names: a directory, an endpoint, or `bundled`.

    Args:
        with_documents: as `open_knowledge_base`; else the documents in its directory are all it has.

    Raises:
        KnowledgeBaseError: it is missing or damaged.
        GraphUnavailableError: the endpoint does not answer.
    """
    with reporting(stderr(), "opening the knowledge base") as tell:
        from triplecheck.app.config import load_settings

        settings = load_settings(kb=kb)
        return open_knowledge_base(settings, tell) if with_documents else _opened_base(settings, tell)


def open_program(settings: Settings, kb: KnowledgeBase | Sources, progress: ProgressCallback | None = None) -> Program:
    """The configured program, on a knowledge base; the compiled one if a bundle is named; a cascade if it is wanted.

    Args:
        progress: called while what the first question needs is made; None: it is made with the first question.

    Raises:
        UserError: there is no such program, it has no such option, the bundle is of another program, or a member of the
            cascade is neither a model nor a bundle, or is there twice.
    """
    from triplecheck.kg import UserError
    from triplecheck.programs import Cascade

    sources, names = with_functions(settings, kb), asked_first(settings)
    if not names:
        return _open_alone(settings, sources, progress)
    first = [_before(settings, name) for name in names]
    asked = [(one.bundle, roles(one)) for one in (*first, settings)]
    for at, one in enumerate(asked):
        if one in asked[:at]:
            models = ", ".join(one[1].models())
            raise UserError(
                f"--cascade: {models} would be asked twice, in the same way; name another model with --lm or --role"
            )
    members = [(_open_alone(one, sources, progress), roles(one)) for one in first]
    return Cascade([*members, _open_alone(settings, sources, progress)])


def asked_first(settings: Settings) -> list[str]:
    """The models and bundles that are asked before the configured model.

    Without a configured cascade, the programs in `_WITH_RULES_FIRST` ask the rules before a language model, unless
    roles, options or a bundle are configured.
    """
    from triplecheck.lms.kinds import EXTRACTIVE, is_no_language_model
    from triplecheck.programs import resolve_program

    if settings.cascade is not None:
        return settings.cascade
    is_told = bool(settings.roles or settings.options or settings.bundle)
    if settings.lm is None or is_no_language_model(settings.lm) or is_told:
        return []
    return [EXTRACTIVE] if resolve_program(settings.program).name in _WITH_RULES_FIRST else []


def _before(settings: Settings, name: str) -> Settings:
    """The configuration of a member of a cascade that is asked before the configured model: a model or a bundle."""
    from triplecheck.kg import UserError
    from triplecheck.lms.kinds import is_extractive

    alone: dict[str, Any] = {"cascade": [], "lm": None, "roles": {}, "bundle": None}
    if Path(name).is_dir():
        from triplecheck.optimize.bundle import load_bundle

        own = {"bundle": Path(name), "program": load_bundle(name).program_name, "options": {}}
        return settings.model_copy(update=alone | own)
    if not (is_extractive(name) or "/" in name):
        raise UserError(
            f"--cascade {name}: is neither a model, such as extractive, local/smollm2 or openai/gpt-4o-mini, nor the "
            "directory of a bundle"
        )
    return settings.model_copy(update=alone | {"lm": name})


def with_functions(settings: Settings, kb: KnowledgeBase | Sources) -> Sources:
    """The knowledge base, with the functions of the configured OpenAPI files."""
    from triplecheck.programs import Sources

    sources = Sources.of(kb)
    if settings.openapi:
        from triplecheck.kg.endpoints.options import headers_from_environment
        from triplecheck.kg.functions import read_openapi

        functions = []
        for one in settings.openapi:
            headers = headers_from_environment(one.headers, str(one.file))
            functions += read_openapi(one.file, server=one.server, headers=headers, only=one.only)
        sources = sources.with_functions(functions, settings.function_limits)
    return sources


def _open_alone(settings: Settings, sources: Sources, progress: ProgressCallback | None = None) -> Program:
    """The configured program without the members of a cascade that are asked before it."""
    from triplecheck.kg import UserError
    from triplecheck.programs import resolve_program
    from triplecheck.programs.base import make_program

    if settings.bundle is None:
        program = make_program(resolve_program(settings.program), sources, arguments(settings))
    else:
        from triplecheck.optimize.bundle import load_bundle

        bundle = load_bundle(settings.bundle)
        if "program" in settings.model_fields_set and resolve_program(settings.program).name != bundle.program_name:
            raise UserError(f"{settings.bundle}: contains {bundle.program_name!r}, not {settings.program!r}")
        for note in bundle.notes(sources, roles(settings)):
            remark(f"note: {note}")
        program = bundle.program(sources, arguments(settings))
    if progress is not None:
        program.prepare(progress)
    return program


def with_bar(settings: Settings) -> Settings:
    """The configuration for a person who asks: unless another bar is set, answers must be `likely`.

    A program that never reads the graph for its answer gives any answer.
    """
    from triplecheck.programs import resolve_program

    if settings.verdict is not None:
        return settings
    name = settings.program
    if settings.bundle is not None:
        from triplecheck.optimize.bundle import load_bundle

        name = load_bundle(settings.bundle).program_name
    bar = "likely" if resolve_program(name).cites_graph else "any"
    return settings.model_copy(update={"verdict": bar})


def arguments(settings: Settings) -> dict[str, Any]:
    """The configured options of the program."""
    from triplecheck.programs import resolve_program

    given: dict[str, Any] = {} if settings.hops is None else {"hops": settings.hops}
    if settings.verdict is not None:
        given["verdict"] = settings.verdict
    alone = settings.bundle is None
    if not settings.ranker and alone and hasattr(resolve_program(settings.program).Options(), "ranker"):
        given["ranker"] = False
    if alone or "grounded_only" in settings.model_fields_set:
        given["grounded_only"] = settings.grounded_only
    return given | settings.options


def roles(settings: Settings) -> Roles:
    """The model of each role.

    Raises:
        UserError: there is no such role.
    """
    from triplecheck.lms import Roles
    from triplecheck.lms.kinds import EXTRACTIVE

    if settings.bundle is not None and settings.lm is None and not settings.roles:
        from triplecheck.optimize.bundle import load_bundle

        found = load_bundle(settings.bundle).roles
    else:
        default = {} if settings.lm is None else {"default": settings.lm}
        found = Roles(**default, by_role=settings.roles)
    if settings.ranker:
        return found

    def without(model: Any) -> Any:
        return f"{EXTRACTIVE}?ranker=none" if model == EXTRACTIVE else model

    by_role = {role: without(model) for role, model in found.by_role.items()}
    return Roles(without(found.default), by_role)


def read_questions(settings: Settings, run: BatchOptions, bundled: Sequence[str]) -> tuple[list[Question], str]:
    """The questions of a batch, and what to call them in the name of a run.

    Args:
        settings: name the knowledge base.
        run: name the questions: a file, a published data set, a part, a sample.
        bundled: splits of the bundled questions that are used by default.

    Raises:
        UserError: the options exclude each other, or there are no questions.
    """
    from triplecheck.evals import read_questions as read_file
    from triplecheck.evals.questions import check_limit, sampled
    from triplecheck.kg import UserError

    check_limit(run.limit)
    if run.data is None and (run.split is not None or run.path is not None):
        raise UserError("--split and --path choose from a data set: name it with --data")
    if run.data is not None and run.questions is not None:
        raise UserError("--questions and --data exclude each other; keep one")
    if run.data is not None:
        from triplecheck.evals.datasets.load import load_dataset

        found = load_dataset(run.data, run.split, path=run.path)
        source = "-".join(filter(None, (run.data, run.split)))
    elif run.questions is not None:
        found, source = read_file(run.questions), run.questions.name.split(".")[0]
    else:
        found, source = _bundled(settings, bundled)
    if run.part is not None:
        found, source = [question for question in found if question.part == run.part], f"{source}-{run.part}"
        if not found:
            raise UserError(f"no question is in the part {run.part}: add questions, or leave --part out")
    return found if run.limit is None else sampled(found, run.limit, run.seed), source


def _bundled(settings: Settings, splits: Sequence[str]) -> tuple[list[Question], str]:
    from triplecheck.evals import bundled_questions
    from triplecheck.evals import read_questions as read_file
    from triplecheck.kg import UserError
    from triplecheck.kg.knowledge_base import BUNDLED

    if settings.kb is not None and settings.kb != BUNDLED:
        raise UserError(f"--questions is missing: the bundled questions are not about {settings.kb}")
    return [question for name in splits for question in read_file(bundled_questions(name))], BUNDLED
