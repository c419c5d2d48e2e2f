"""Language models by role: engines, ledger and budgets, and the adapter that reads what they write."""

from triplecheck.lms.adapter import LabelAdapter, TolerantAdapter
from triplecheck.lms.check import CheckReport, check
from triplecheck.lms.errors import BudgetExceededError, ModelReplyError, ModelUnavailableError, PromptTooLongError
from triplecheck.lms.ledger import Budget, Ledger, Usage
from triplecheck.lms.predict import Doubt, RolePredict, StreamListener, doubted_reply
from triplecheck.lms.resolve import language_model, register_engine, unregister_engine
from triplecheck.lms.roles import ROLES, Roles, session

__all__ = [
    "ROLES",
    "Budget",
    "BudgetExceededError",
    "CheckReport",
    "LabelAdapter",
    "Ledger",
    "ModelReplyError",
    "ModelUnavailableError",
    "PromptTooLongError",
    "Doubt",
    "RolePredict",
    "Roles",
    "StreamListener",
    "TolerantAdapter",
    "Usage",
    "check",
    "doubted_reply",
    "language_model",
    "register_engine",
    "session",
    "unregister_engine",
]
