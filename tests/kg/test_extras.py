"""The optional extras: what runs without them, and what says which line installs them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from triplecheck.kg import KnowledgeBase, MissingExtraError, TriplecheckError, UnavailableError
from triplecheck.kg.embedding.models import TrainingOptions, make_model
from triplecheck.kg.encode import SentenceTransformerEncoder
from triplecheck.kg.errors import extra, require

ROOT = Path(__file__).parents[2]
NEVER = ("torch", "sentence_transformers", "pykeen", "datasets", "matplotlib", "scipy", "litellm")
ANSWER = """
import sys
from triplecheck import KERAG, KnowledgeBase, session
with session():
    program = KERAG(KnowledgeBase.open("bundled"), assist=sys.argv[1])
    found = program(question="What was the nationality of Bernhard Heiden's teacher?")
print(found.answer)
print(*sorted(set(sys.modules) & set(sys.argv[2:])))
"""


@pytest.mark.parametrize(
    ("assist", "never"),
    [("all", NEVER), ("-plans", (*NEVER, "pandas"))],  # a query makes Arrow arrays, for which pyarrow imports pandas
)
def test_answering_a_bundled_question_imports_nothing_of_the_extras(
    bundled: KnowledgeBase, assist: str, never: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, assist, *never], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.splitlines() == ["German", ""]


def hidden(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)


def test_what_needs_an_extra_says_which_line_installs_it(
    bundled: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pandas", "networkx", "torch", "sentence_transformers"):
        hidden(monkeypatch, package)
    with pytest.raises(MissingExtraError, match=r"needs pandas.*: pip install 'triplecheck\[frames\]'"):
        bundled.to_pandas()
    with pytest.raises(MissingExtraError, match=r"needs networkx.*: pip install 'triplecheck\[frames\]'"):
        bundled.to_networkx()
    with pytest.raises(MissingExtraError, match=r"needs torch.*: pip install 'triplecheck\[train\]'"):
        make_model(TrainingOptions(), 2, 1)
    with pytest.raises(MissingExtraError, match=r"needs sentence_transformers.*: pip install 'triplecheck\[train\]'"):
        SentenceTransformerEncoder("some-model")


def test_a_missing_extra_is_an_error_of_its_own() -> None:
    with pytest.raises(MissingExtraError) as raised, extra("plots", "A figure"):
        import no_such_package.inner  # noqa: F401
    assert (raised.value.package, raised.value.extra) == ("no_such_package", "plots")
    assert isinstance(raised.value, UnavailableError) and isinstance(raised.value, TriplecheckError)
    with pytest.raises(MissingExtraError, match="Training needs no_such_package, which is not installed"):
        require("train", "Training", "numpy", "no_such_package")


def test_a_missing_module_of_our_own_is_not_taken_for_an_extra() -> None:
    with pytest.raises(ModuleNotFoundError), extra("plots", "A figure"):
        import triplecheck.no_such_module  # noqa: F401


def test_errors_name_extras_that_exist() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = set(about["project"]["optional-dependencies"])
    folders = ("kg", "lms", "programs", "evals", "optimize", "app")
    texts = [path.read_text("utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"\b(?:extra|require)\(\"([a-z-]+)\"", text)}
    named |= {name for text in texts for name in re.findall(r"triplecheck\[([a-z-]+)\]", text)}
    assert len(named) > 8
    assert named <= extras
