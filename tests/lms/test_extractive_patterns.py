"""Patterns of the extractive engine."""

from __future__ import annotations

from triplecheck.kg.encode import load_encoder
from triplecheck.lms.extractive.exploration import extract_keywords
from triplecheck.lms.extractive.patterns import score_candidates, write_triplets
from triplecheck.lms.prompt import Prompt

ASKED = "who designed the Python programming language"
KNOWN = "[1] Python (programming language)\n[2] Ruby (Language)"


def test_a_name_whose_brackets_the_question_writes_is_one_name() -> None:
    inputs = {"question": ASKED, "known_names": KNOWN, "types": "none", "relations": "[1] designed by\n[2] successor"}
    written = write_triplets(Prompt(inputs, ("triplets", "answer")), load_encoder().encode)
    assert written == {"triplets": ["<Python (programming language)> <designed by> ?x"], "answer": "?x"}
    keywords = extract_keywords(Prompt({"question": ASKED, "known_names": KNOWN}, ("proofread", "keywords")))
    assert keywords["keywords"] == ["Python (programming language)"]


def test_where_the_question_names_no_relation_no_pattern_is_written() -> None:
    inputs = {"question": "why is Ruby so slow", "known_names": "[1] Ruby", "types": "none"}
    for relations, expected in (("[1] place of burial\n[2] mother", []), ("[1] slow", ["<Ruby> <slow> ?x"])):
        prompt = Prompt({**inputs, "relations": relations}, ("triplets", "answer"))
        assert write_triplets(prompt, load_encoder().encode)["triplets"] == expected


def test_words_that_facts_prove_tell_nothing_among_candidates() -> None:
    facts = "Facts: {0} → maintained by → Jane Roe"
    candidates = [f"ngrep (package). grep for network packets. {facts.format('ngrep')}", "ping. network packets by Roe"]
    listed = "\n".join(f"[{number}] {text}" for number, text in enumerate(candidates, 1))
    question = "network packets maintained by Jane Roe"
    verdicts = score_candidates(Prompt({"question": question, "candidates": listed}, ("verdicts",)))["verdicts"]
    assert verdicts == ["1: 1.00 network packets maintained jane roe", "2: 0.60 network packets roe"]
