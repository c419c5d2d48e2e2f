"""Right replies: an engine that answers the steps of a program for questions with known answers.

    with gold_engine(program, questions) as (name, engine), lms.session(name):
        program(question=questions[0].question)

Each reply is computed from its prompt, the graph and the right answer, with one module per kind of step. `engine`
lists the steps, and why the replies to others cannot be computed.
"""

from triplecheck.optimize.traces.gold.engine import (
    NAME,
    GoldEngine,
    WorstEngine,
    check_computable,
    gold_engine,
    is_template,
    uncomputable,
)
from triplecheck.optimize.traces.gold.known import GoldReply, NoRightReplyError

__all__ = [
    "NAME",
    "GoldEngine",
    "GoldReply",
    "NoRightReplyError",
    "WorstEngine",
    "check_computable",
    "gold_engine",
    "is_template",
    "uncomputable",
]
