"""Right replies: an engine that plays a program's roles for questions whose answers are known.

    with gold_engine(program, questions) as (name, engine), lms.session(name):
        program(question=questions[0].question)

Each reply is computed from its prompt, the graph and the right answer: one module per kind of step.
`steps` says which steps there are, and why others cannot be computed.
"""

from triplecheck.optimize.traces.gold.engine import NAME, GoldEngine, check_computable, gold_engine, uncomputable
from triplecheck.optimize.traces.gold.known import GoldReply

__all__ = ["NAME", "GoldEngine", "GoldReply", "check_computable", "gold_engine", "uncomputable"]
