"""Plans: queries in SPARQL with labels for names, executed exactly and with proofs.

names = PlanNames(kb.graph, kb.linker)
plan = read_plan("SELECT ?boat { ?boat a <boat> ; <crew> ?n } ORDER BY DESC(?n) LIMIT 1", names)
answers = run_plan(kb.graph, plan)
answers.rows, answers.ties, answers.edges(0), answers.looked_through
"""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily
from triplecheck.kg.errors import PlanError

if TYPE_CHECKING:
    from triplecheck.kg.plans.answers import Answers, Cell, run_plan
    from triplecheck.kg.plans.hints import Hint, check, excluding_nothing
    from triplecheck.kg.plans.names import PlanNames
    from triplecheck.kg.plans.notation import write_label, write_value
    from triplecheck.kg.plans.plan import Named, Operation, Plan, read_plan
    from triplecheck.kg.plans.proofs import Looked

__all__ = [
    "Answers",
    "Cell",
    "Hint",
    "Looked",
    "Named",
    "Operation",
    "Plan",
    "PlanError",
    "PlanNames",
    "check",
    "excluding_nothing",
    "read_plan",
    "run_plan",
    "write_label",
    "write_value",
]

__getattr__ = lazily(__name__)
