"""`RolePredict`: a `dspy.Predict` that asks a role, not a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from triplecheck.lms.adapter import TolerantAdapter
from triplecheck.lms.errors import ModelReplyError
from triplecheck.lms.failures import explain
from triplecheck.lms.metering import MeteredLM, metered, model_name, watching
from triplecheck.lms.resolve import language_model
from triplecheck.lms.roles import Roles, check_role


class RolePredict(dspy.Predict):
    """One LLM step: a signature and the role that plays it.

    The model is found when the step is called: in `dspy.settings.lm_roles`, which `lms.session` sets.
    Nothing about models is therefore saved with a program, and an optimizer may deepcopy it, reset it
    or run it as a teacher with other roles (`teacher_settings={"lm_roles": Roles(...)}`). A model that
    somebody puts into `lm`, as around fine-tuning, or passes as `lm=`, is used instead. Where there is
    no session, `dspy.settings.lm` is used, or the default model.

    A reply that cannot be read is answered once with what is wrong with it; a second one is an error.

    Args:
        signature: what to ask.
        role: who is asked; see `lms.roles.ROLES`.
        callbacks: DSPy callbacks.
        **config: settings for the model's calls, such as `temperature` and `max_tokens`.

    Calling it raises:
        ModelReplyError: two replies could not be read.
        ModelUnavailableError: the model cannot be reached or refuses.
        PromptTooLongError: the prompt does not fit the model.
        BudgetExceededError: the session's budget is used up.
    """

    def __init__(
        self,
        signature: str | type[dspy.Signature],
        role: str = "answer",
        callbacks: list[Any] | None = None,
        **config: Any,
    ) -> None:
        super().__init__(signature, callbacks=callbacks, **config)
        self.role = check_role(role)

    def forward(self, **kwargs: Any) -> dspy.Prediction:
        """Ask the model, and once more if its reply cannot be read."""
        attempt = self._attempt(kwargs)
        with self._around(attempt):
            try:
                return super().forward(**attempt.kwargs)
            except AdapterParseError as error:
                attempt = attempt.again(error)
        with self._around(attempt):
            try:
                return super().forward(**attempt.kwargs)
            except AdapterParseError as error:
                raise self._unreadable(error, attempt) from error

    async def aforward(self, **kwargs: Any) -> dspy.Prediction:
        """Like `forward`, without blocking."""
        attempt = self._attempt(kwargs)
        with self._around(attempt):
            try:
                return await super().aforward(**attempt.kwargs)
            except AdapterParseError as error:
                attempt = attempt.again(error)
        with self._around(attempt):
            try:
                return await super().aforward(**attempt.kwargs)
            except AdapterParseError as error:
                raise self._unreadable(error, attempt) from error

    def _attempt(self, kwargs: dict[str, Any]) -> _Attempt:
        lm = kwargs.pop("lm", None) or self.lm
        config = {**self.config, **kwargs.pop("config", {})}
        if lm is None:
            lm = self._lm_of_role()
            # An optimizer varies its runs by a rollout id and a temperature on `settings.lm`.
            varied = getattr(dspy.settings.lm, "kwargs", {})
            if varied.get("rollout_id") is not None:
                config = {key: varied[key] for key in ("rollout_id", "temperature") if key in varied} | config
        rollout = config.get("rollout_id", getattr(lm, "kwargs", {}).get("rollout_id"))
        if isinstance(lm, MeteredLM) and lm.embedded and rollout is not None:
            # DSPy keeps rollout ids from engines; a sampling engine varies with the seed.
            config.setdefault("seed", rollout)
        return _Attempt(lm, config, kwargs, dspy.settings.adapter or TolerantAdapter())

    def _lm_of_role(self) -> Any:
        roles: Roles | None = dspy.settings.get("lm_roles")
        if roles is None and dspy.settings.lm is not None:
            return dspy.settings.lm
        return language_model((roles or Roles()).model(self.role))

    @contextmanager
    def _around(self, attempt: _Attempt) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(dspy.context(lm_role=self.role, adapter=attempt.adapter))
            stack.enter_context(watching())
            if not isinstance(attempt.lm, MeteredLM):
                stack.enter_context(metered(attempt.lm))
            try:
                yield
            except LMError as error:
                raise explain(error, attempt.lm, self.role) from error

    def _unreadable(self, error: AdapterParseError, attempt: _Attempt) -> ModelReplyError:
        model, problem = model_name(attempt.lm), problem_of(error)
        shown = " ".join(str(error.lm_response).split())
        return ModelReplyError(
            f"{model} (role {self.role}, {self.signature.__name__}): two replies cannot be read; {problem}. "
            f"The last one was {shown[:200]!r}. Use a model that keeps to the format; `triplecheck lm check` tells",
            role=self.role,
            model=model,
            reply=str(error.lm_response),
            problem=problem,
            signature=error.signature,
        )


@dataclass
class _Attempt:
    """One try at a reply."""

    lm: Any
    config: dict[str, Any]
    inputs: dict[str, Any]
    adapter: Any

    @property
    def kwargs(self) -> dict[str, Any]:
        return {**self.inputs, "lm": self.lm, "config": dict(self.config)}

    def again(self, error: AdapterParseError) -> _Attempt:
        """The second try: the model is told what was wrong, and no cached reply to the first is used.

        The rollout id makes the request a new one for DSPy's cache, so that the second reply is kept
        apart from the first, and a repeated run finds both.
        """
        config, adapter = dict(self.config), self.adapter
        if isinstance(adapter, TolerantAdapter):
            adapter = adapter.repairing(str(error.lm_response), problem_of(error))
        temperature = config.get("temperature", getattr(self.lm, "kwargs", {}).get("temperature"))
        if temperature != 0:
            rollout = config.get("rollout_id") or getattr(self.lm, "kwargs", {}).get("rollout_id") or 0
            config["rollout_id"] = rollout + _SECOND_TRY
            if "seed" in config:
                config["seed"] += _SECOND_TRY
        return _Attempt(self.lm, config, self.inputs, adapter)


_SECOND_TRY = 1_000_003
"""Far from the small numbers that optimizers use for rollouts."""


def problem_of(error: AdapterParseError) -> str:
    """What is wrong with a reply, in one line."""
    problem = getattr(error, "problem", None)
    return str(problem) if problem else "the reply is empty" if not error.lm_response else str(error).split("\n\n")[0]
