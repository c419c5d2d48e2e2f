"""Language models by role: engines, ledger and budgets, and the adapter that reads what they write."""

from lms.adapter import TolerantAdapter
from lms.budget import Budget
from lms.check import CheckReport, check
from lms.errors import BudgetExceededError, ModelReplyError, ModelUnavailableError, PromptTooLongError
from lms.ledger import Ledger
from lms.predict import RolePredict
from lms.resolve import language_model, register_engine, unregister_engine
from lms.roles import ROLES, Roles
from lms.session import session
from lms.streaming import StreamListener
from lms.usage import Usage

__all__ = [
    "ROLES",
    "Budget",
    "BudgetExceededError",
    "CheckReport",
    "Ledger",
    "ModelReplyError",
    "ModelUnavailableError",
    "PromptTooLongError",
    "RolePredict",
    "Roles",
    "StreamListener",
    "TolerantAdapter",
    "Usage",
    "check",
    "language_model",
    "register_engine",
    "session",
    "unregister_engine",
]
