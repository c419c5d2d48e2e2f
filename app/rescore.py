"""`triplecheck rescore`: anyone's released predictions, scored strictly, with the lenient score beside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from triplecheck.app import options
from triplecheck.app.console import print_json, printable, stderr, stdout


def rescore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Predictions: JSON, JSON lines, CSV or TSV.")],
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="QUESTIONS", help="Questions with their answers (.jsonl), joined by id, else by their text."
        ),
    ] = None,
    id_field: Annotated[str, typer.Option(metavar="NAME", help="Field of the question's id.")] = "id",
    question_field: Annotated[str, typer.Option(metavar="NAME", help="Field of its text.")] = "question",
    prediction_field: Annotated[str, typer.Option(metavar="NAME", help="Field of what was answered.")] = "prediction",
    gold_field: Annotated[str, typer.Option(metavar="NAME", help="Field of the correct answers.")] = "gold",
    records: Annotated[str, typer.Option(metavar="NAME", help="Field of a JSON file in which its rows lie.")] = "",
    separator: Annotated[
        str, typer.Option(metavar="TEXT", help="Between several answers in one text; json: it is a JSON list.")
    ] = "",
    format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="json, jsonl, csv or tsv. Default: as the file's name ends.")
    ] = None,
    one_answer: Annotated[
        bool, typer.Option("--one-answer", help="The correct answers of a question are spellings of one.")
    ] = False,
    braces: Annotated[
        bool, typer.Option("--braces", help="The answer stands in braces, as in outputs of ToG and PoG.")
    ] = False,
    yes_no: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Where token F1 compares yes, no and noanswer as a whole: gold (where a correct answer is such a "
            "word), always (as HotpotQA), never (as SQuAD).",
        ),
    ] = "gold",
    json: options.JsonOption = False,
) -> None:
    """Score released predictions again: strict scores, and the lenient one of ToG and PoG beside them.

    Fields may lie deeper (output.answer). Rows that cannot be scored are told with the reason, and the
    empty predictions are counted.

    Examples:

        triplecheck rescore predictions.jsonl --prediction-field answer --gold-field answers

        triplecheck rescore ToG_cwq.jsonl --prediction-field results --braces --gold cwq.jsonl
    """
    from typing import get_args

    from triplecheck.app.progress import waiting
    from triplecheck.evals.metrics.answers import ClosedRule
    from triplecheck.evals.questions import read_questions
    from triplecheck.evals.rescore import FORMATS, Fields, report
    from triplecheck.evals.rescore import rescore as score

    form: Any = _one_of(format, FORMATS, "--format")
    closed: Any = _one_of(yes_no, get_args(ClosedRule), "--yes-no")
    with waiting(stderr(), "scoring"):
        found = score(
            file,
            Fields(id_field, question_field, prediction_field, gold_field, records, separator),
            form=form,
            gold=None if gold is None else read_questions(gold),
            one_answer=one_answer,
            braces=braces,
            closed=closed,
        )
    if json:
        print_json(found.to_json())
    else:
        for line in report(found).splitlines():
            stdout().print("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line), soft_wrap=True)


def _one_of(value: str | None, choices: tuple[str, ...], flag: str) -> str | None:
    from triplecheck.kg import UserError

    if value is not None and value not in choices:
        raise UserError(f"{flag} is {printable(value)!r}; it is one of {', '.join(choices)}")
    return value
