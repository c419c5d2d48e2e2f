"""A compiled program on disk: `program.json`, its state, and `manifest.json`, what it was compiled with.

Both are plain JSON. On loading, a bundle whose steps have other fields than the program has now is refused, with a
list of the changes. Other differences that may change answers (models, versions) are listed by `Bundle.notes`.
Adapters of distilled models, and students, are copied into the bundle (`models/`) and loaded from there. Their weights
have a hash; the code of students and of the rules is that of the version.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NotRequired

import dspy
from pydantic import StringConstraints
from typing_extensions import TypedDict

from triplecheck.evals.configuration import switches
from triplecheck.kg import ReadError, UserError
from triplecheck.kg._atomic import replaced_directory
from triplecheck.kg.values import parse_json
from triplecheck.lms import Roles, TolerantAdapter, session
from triplecheck.lms.kinds import EXTRACTIVE, STUDENT, folder_of_student
from triplecheck.lms.local.weights import ADAPTER_CONFIG, LLAMA_CPP, PREFIX, adapter_files, find_weights
from triplecheck.lms.resolve import language_model
from triplecheck.optimize.state import asked_for, checker, state_of, steps_of, text_of, with_state
from triplecheck.programs import Program, Sources, resolve_program
from triplecheck.programs.base import AnySources, make_program
from triplecheck.programs.options import check_options

# Adapters of distilled models, and students, inside a bundle.

FOLDER, RANKER = "models", "ranker.safetensors"

Carried = dict[str, dict[str, str]]
"""By model string: `folder`, its folder in the bundle, and `sha256`, a hash of its files."""


def carry(models: Iterable[str], bundle: Path) -> Carried:
    """Copy the adapters and students among these models into a bundle that is being written."""
    carried: Carried = {}
    for model in models:
        trained = _folder_of(model)
        if trained is None:
            continue
        digest = _hash_weights(trained)
        folder = bundle / FOLDER / digest[:12]
        if not folder.is_dir():
            shutil.copytree(trained, folder, ignore=shutil.ignore_patterns(".*"))
        carried[model] = {"folder": f"{FOLDER}/{digest[:12]}", "sha256": digest}
    return carried


def carried_models(carried: Mapping[str, Mapping[str, str]], bundle: Path) -> dict[str, str]:
    """For each model that the bundle holds, its model string there.

    Raises:
        ReadError: one is missing, or is not the one that was saved.
    """
    found = {}
    for model, about in carried.items():
        folder = bundle / about["folder"]
        try:
            digest = _hash_weights(folder)
        except OSError as error:
            raise ReadError(folder, None, f"the weights of {model} are missing ({error.strerror})") from error
        if digest != about["sha256"]:
            raise ReadError(folder, None, f"these are not the saved weights of {model}; restore them")
        kind = next((kind for kind in (LLAMA_CPP, STUDENT) if model.startswith(kind)), PREFIX)
        found[model] = f"{kind}{folder}"
    return found


def _folder_of(model: str) -> Path | None:
    """The folder of an adapter or of a student; None for another model."""
    if model.startswith(STUDENT):
        return folder_of_student(model)
    return find_weights(model).adapter if model.startswith((PREFIX, LLAMA_CPP)) else None


def _hash_weights(folder: Path) -> str:
    digest = hashlib.sha256()
    students = [] if (folder / ADAPTER_CONFIG).is_file() else sorted(folder.glob("*.safetensors"))
    for path in students or adapter_files(folder):
        digest.update(f"{path.name}:{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


FORMAT, VERSION = "triplecheck-bundle", 2
_LIBRARIES = ("triplecheck", "dspy")


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read and checked; `program` makes the program."""

    path: Path
    program_name: str
    """Program class, by its registered name."""
    options: Mapping[str, Any]
    """Its constructor arguments."""
    roles: Roles
    """The models that it was compiled for."""
    state: Mapping[str, Any]
    signatures: Mapping[str, Mapping[str, Any]]
    """By step: its `fields`, and `text`, a hash of its words."""
    model_ids: Mapping[str, str]
    """Of models that are neither in the bundle nor the rules."""
    adapter: str
    versions: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict)
    """How it was compiled, and its scores."""
    ranker: Path | None = None
    """The file of its own ranker of paths, if it was compiled with one."""

    def program(self, sources: AnySources, options: Mapping[str, Any] | None = None) -> Program:
        """The compiled program on a graph.

        Args:
            sources: a knowledge base, its directory, `bundled`, or `Sources`.
            options: options that override those it was compiled with.

        Steps that the options exclude are left out, and steps that only these options have are as written.

        Raises:
            UserError: a step has other fields than when it was compiled; the message lists them.
        """
        sources = Sources.of(sources)
        if self.ranker is not None:
            sources = sources.with_ranker(self.ranker)
        bare = self._bare(sources, {})
        self._check(bare)
        bare = self._bare(sources, options) if options else bare
        written = state_of(bare)
        state = {name: self.state.get(name, row) for name, row in written.items()}
        program: Program = with_state(bare, state)
        return program

    def notes(self, sources: Sources, roles: Roles | None = None) -> list[str]:
        """Differences from the time of compiling that do not keep the program from running.

        Args:
            sources: as for `program`.
            roles: the models to run with; None: those it was compiled for.
        """
        notes = [
            f"compiled with {name} {was}, this is {now}"
            for name, was in self.versions.items()
            if name in _LIBRARIES and (now := version(name)) != was
        ]
        if self.adapter != adapter_fingerprint():
            notes.append("the prompt format has changed since this was compiled")
        bare = self._bare(sources, {})
        words = {name: text_of(step.signature) for name, step in steps_of(bare).items()}
        notes += [
            f"the text of step {name!r} has changed in the program; the bundle keeps the compiled text"
            for name, was in self.signatures.items()
            if words.get(name, was["text"]) != was["text"]
        ]
        if roles is not None and roles.to_json() != self.roles.to_json():
            return [*notes, f"compiled for {_listed(self.roles)}, run with {_listed(roles)}"]
        ids = {name: (was, str(language_model(name).model)) for name, was in self.model_ids.items()}
        # What does not depend on the place of a model is the hash after the `@`, or the whole id.
        changed = [name for name, (was, now) in ids.items() if was.rpartition("@")[2] != now.rpartition("@")[2]]
        return notes + [f"the model {name} has changed since this was compiled" for name in changed]

    def _bare(self, sources: Sources, options: Mapping[str, Any]) -> Program:
        program = resolve_program(self.program_name)
        changed = dict(options)
        below = {name: changed.pop(name) for name in ("abstain_below",) if name in changed}
        return make_program(program, sources, {**self.options, **check_options(program, changed), **below})

    def _check(self, bare: Program) -> None:
        now = {name: asked_for(step.signature) for name, step in steps_of(bare).items()}
        fields = {name: about["fields"] for name, about in self.signatures.items()}
        changed = []
        for name in sorted({*now, *fields}):
            was, is_now = fields.get(name), now.get(name)
            if was is None or is_now is None:
                changed.append(f"step {name!r} is {'new' if was is None else 'gone'}")
                continue
            for one in dict.fromkeys([*was, *is_now]):
                if was.get(one) != is_now.get(one):
                    changed.append(f"{name}.{one} was {was.get(one, 'not there')}, is {is_now.get(one, 'not there')}")
            if was == is_now and list(was) != list(is_now):
                changed.append(f"{name} has its fields in another order")
        if changed:
            raise UserError(
                f"{self.path}: compiled for other steps than this version of {self.program_name!r} has: "
                f"{'; '.join(changed)}. Compile it again"
            )


def save_bundle(
    program: Program,
    path: Path | str,
    roles: Roles | None = None,
    bare: Program | None = None,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write a compiled program atomically; an existing bundle is replaced.

    Args:
        program: the compiled program.
        path: directory of the bundle.
        roles: the models that it was compiled for; None: as in `lms.session`.
        bare: the program before compiling; its steps are compared on loading. None: a new one with its options.
        about: plain data on how it was compiled.

    Raises:
        UserError: `path` holds something else, or it is no program of this package or its state is not plain data.
    """
    path = Path(path)
    if not isinstance(program, Program):
        raise UserError(
            f"{type(program).__name__} is no program of this package: keep it with its `save`, or its parts as bundles"
        )
    if path.exists() and not (path / "manifest.json").is_file():
        raise UserError(f"{path}: exists and is not a bundle; choose another directory")
    if roles is None:
        with session():
            roles = dspy.settings.lm_roles
    if bare is None:
        bare = make_program(type(program), program.sources, switches(program))
    steps = steps_of(bare)
    state = state_of(program)
    text = json.dumps(state, indent=1, ensure_ascii=False) + "\n"
    on_steps = {name: name for name in sorted({row["model"] for row in state.values() if "model" in row})}
    models = {name: model for one in (roles, *program.own_roles) for name, model in one.lms().items()} | on_steps
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": bare.name,
        "options": switches(bare),
        "roles": roles.to_json(),
        "model_ids": {name: str(language_model(model).model) for name, model in models.items()},
        "signatures": {
            name: {"fields": asked_for(step.signature), "text": text_of(step.signature)} for name, step in steps.items()
        },
        "adapter": adapter_fingerprint(),
        "versions": {name: version(name) for name in _LIBRARIES},
        "sha256": _hash(text.encode("utf-8", "surrogatepass")),
        "about": dict(about or {}),
    }
    ranker = program.sources.given_ranker
    with replaced_directory(path) as new:
        manifest["models"] = carry(manifest["model_ids"], new)
        if ranker is not None:
            shutil.copy(ranker, new / RANKER)
            manifest["ranker"] = _hash((new / RANKER).read_bytes())
        (new / "program.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        (new / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def load_bundle(path: Path | str) -> Bundle:
    """Read a bundle.

    Raises:
        ReadError: it is missing, damaged, of another version, or `program.json` was changed after saving.
    """
    path = Path(path)
    file, program = path / "manifest.json", path / "program.json"
    manifest, _ = _json(file)
    state, content = _json(program)
    if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
        raise ReadError(file, None, f"is not a bundle of version {VERSION}; compile again")
    if manifest.get("sha256") != _hash(content):
        raise ReadError(program, None, "is not the one that manifest.json was written for; restore it or compile again")
    try:
        manifest = checker(_Manifest).validate_python(manifest)
    except ValueError as error:
        raise ReadError(file, None, f"is damaged ({error}); compile again") from error
    try:
        here = carried_models(manifest.get("models", {}), path)
        models = {role: here.get(model, model) for role, model in manifest["roles"].items()}
        for row in state.values():
            if "model" in row:
                row["model"] = here.get(row["model"], row["model"])
        for member in manifest["options"].get("members", ()):  # of a cascade
            if member[1] is not None:
                member[1] = {role: here.get(model, model) for role, model in member[1].items()}
        return Bundle(
            path=path,
            program_name=manifest["program"],
            roles=Roles.from_json(models),
            state=state,
            model_ids={name: was for name, was in manifest["model_ids"].items() if name not in (EXTRACTIVE, *here)},
            ranker=_ranker_of(path, manifest.get("ranker")),
            **{name: manifest[name] for name in ("options", "signatures", "adapter", "versions", "about")},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ReadError(file, None, f"lacks something ({error}); compile again") from error


def _ranker_of(bundle: Path, sha256: str | None) -> Path | None:
    if sha256 is None:
        return None
    file = bundle / RANKER
    if not file.is_file() or _hash(file.read_bytes()) != sha256:
        raise ReadError(file, None, "is missing, or is not the ranker that the bundle was saved with; restore it")
    return file.absolute()


class _Carried(TypedDict):
    # Nothing outside of the bundle: a bundle may come from a stranger.
    folder: Annotated[str, StringConstraints(pattern=rf"^{FOLDER}/[0-9a-f]{{12}}$")]
    sha256: str


class _Signature(TypedDict):
    fields: dict[str, str]
    text: str


class _Manifest(TypedDict):
    version: int
    program: str
    options: dict[str, Any]
    roles: dict[str, str | bool]
    models: NotRequired[dict[str, _Carried]]
    model_ids: dict[str, str]
    signatures: dict[str, _Signature]
    adapter: str
    versions: dict[str, str]
    about: dict[str, Any]
    ranker: NotRequired[str]


class _Shape(dspy.Signature):  # type: ignore[misc]
    """Say."""

    question: str = dspy.InputField()
    lines: list[str] = dspy.InputField()
    numbers: list[int] = dspy.OutputField()
    sure: bool = dspy.OutputField()


def adapter_fingerprint() -> str:
    """A hash of the format of a small prompt with a demonstration."""
    row = {"question": "q", "lines": ["a", "b"], "numbers": [1], "sure": True}
    messages = TolerantAdapter().format(_Shape, [row], {"question": "q", "lines": []})
    return f"{TolerantAdapter.__name__}@{_hash(json.dumps(messages, sort_keys=True).encode())[:12]}"


def _listed(roles: Roles) -> str:
    return ", ".join(f"{role}={model}" for role, model in roles.to_json().items())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        content = path.read_bytes()
        value = parse_json(content)
    except FileNotFoundError:
        raise ReadError(path, None, "no such file; name the directory of a bundle") from None
    except (OSError, ValueError) as error:
        raise ReadError(path, None, f"is damaged ({error})") from error
    if not isinstance(value, dict):
        raise ReadError(path, None, "is damaged (not an object)")
    return value, content
