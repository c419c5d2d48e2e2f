"""What a failed call means for the person who made it: the model, the place and the way out."""

from __future__ import annotations

import os
from typing import Any

from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMError,
    LMInvalidRequestError,
    LMNotConfiguredError,
    LMRateLimitError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedModelError,
)

from triplecheck.kg.errors import TriplecheckError
from triplecheck.lms.errors import ModelUnavailableError, PromptTooLongError
from triplecheck.lms.metering import is_free, model_name


def explain(error: LMError, lm: Any, role: str) -> TriplecheckError:
    """The error of Triplecheck that says what a DSPy error means here."""
    if isinstance(error.__cause__, TriplecheckError):
        return error.__cause__
    model = model_name(lm)
    if isinstance(error, ContextWindowExceededError):
        return PromptTooLongError(
            f"{model} (role {role}): the prompt is too long for the model ({_text(error)}); "
            "give it fewer or shorter facts, or use a model with a longer context",
            role=role,
            model=model,
        )
    return ModelUnavailableError(
        f"{model} (role {role}{_place(lm)}): {_what(error)} ({_text(error)}); {_way_out(error, lm)}", model=model
    )


def _what(error: LMError) -> str:
    # A read that takes too long is a transport error to DSPy's own client.
    if isinstance(error, LMTimeoutError) or (isinstance(error, LMTransportError) and "timed out" in str(error)):
        return "no answer in time"
    if isinstance(error, LMRateLimitError):
        return "too many requests"
    if isinstance(error, LMAuthError | LMNotConfiguredError):
        return "no access"
    if isinstance(error, LMBillingError):
        return "no credit"
    if isinstance(error, LMUnsupportedModelError):
        return "no such model"
    if isinstance(error, LMInvalidRequestError):
        return "the server refuses the request"
    if isinstance(error, LMTransportError):
        return "no connection"
    return "the call failed"


def _way_out(error: LMError, lm: Any) -> str:
    prefix = model_name(lm).split("/", 1)[0].upper()
    if is_free(lm):
        return "this is a fault of the engine inside this process"
    if isinstance(error, LMAuthError | LMNotConfiguredError):
        return f"set {prefix}_API_KEY (any word will do for a server of your own that asks for none)"
    if isinstance(error, LMBillingError):
        return "check the account, or use another model"
    if isinstance(error, LMRateLimitError):
        return "wait, use fewer threads, or raise the account's limit"
    if isinstance(error, LMUnsupportedModelError):
        return "check the model's name"
    if isinstance(error, LMInvalidRequestError):
        return "check the model's name, as the server knows it, and the settings of the call"
    return f"check that the server runs and that {prefix}_API_BASE is right, or use another model"


def _place(lm: Any) -> str:
    options = getattr(lm, "kwargs", {})
    prefix = model_name(lm).split("/", 1)[0].upper()
    base = options.get("api_base") or options.get("base_url")
    base = base or os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")
    return f", at {base}" if base and not is_free(lm) else ""


def _text(error: LMError) -> str:
    text = " ".join(str(error).split())
    if not error.message and error.status is not None:
        # DSPy's own client reads errors as OpenAI writes them, and nothing from other servers' ones.
        text = f"HTTP {error.status}, for a reason that cannot be read"
    return text if len(text) <= 300 else text[:297] + "..."
