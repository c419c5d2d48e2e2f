"""Synthetic questions from a knowledge base, with answers, gold paths and several wordings, or with plans.

made = synthesise(KnowledgeBase.open("kbs/films"), 1_000, seed=0)
write_questions(made.questions, "films.jsonl")
planned = synthesise_plans(KnowledgeBase.open("kbs/films"), 50)
write_questions(planned.questions, "plans.jsonl")
"""

from triplecheck.optimize.synth.make import Synthesis, synthesise
from triplecheck.optimize.synth.plan_shapes import PLAN_KINDS
from triplecheck.optimize.synth.plans import synthesise_plans
from triplecheck.optimize.synth.shapes import KINDS

__all__ = ["KINDS", "PLAN_KINDS", "Synthesis", "synthesise", "synthesise_plans"]
