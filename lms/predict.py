"""`RolePredict`: a `dspy.Predict` that calls the model of a role; errors of calls, explained."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.streaming import StreamListener as _StreamListener
from dspy.utils.exceptions import (
    AdapterParseError,
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
from pydantic_core import to_jsonable_python

from triplecheck.kg.errors import TriplecheckError, UserError
from triplecheck.kg.redaction import redacted
from triplecheck.kg.values import valid
from triplecheck.lms.adapter import (
    DEFAULT_ADAPTER,
    LabelAdapter,
    TolerantAdapter,
    UnreadableReplyError,
    adapter_of,
    label_of,
    with_parse_errors,
)
from triplecheck.lms.copying import copies_example, names_of_examples, texts_of
from triplecheck.lms.errors import ModelReplyError, ModelUnavailableError, PromptTooLongError
from triplecheck.lms.metering import (
    MeteredLM,
    address_of,
    is_free,
    is_general,
    kept_apart,
    metered,
    model_name,
    watching,
)
from triplecheck.lms.resolve import language_model, suited
from triplecheck.lms.roles import BASELINE, Roles, check_role, check_thread, name_of, warn_of_baseline
from triplecheck.lms.values import numbered_lists
from triplecheck.signatures import demonstrations, step_of
from triplecheck.signatures.demonstrations import WORKED, is_worked, restored
from triplecheck.signatures.notation import read_facts, read_known_name, separated
from triplecheck.signatures.step import CopiedFrom, NamesIn, Numbers, hint_of


def explain(error: LMError, lm: Any, role: str) -> TriplecheckError:
    """The Triplecheck error for a DSPy error, with its cause and a fix."""
    if isinstance(error.__cause__, TriplecheckError):
        return error.__cause__
    model = model_name(lm)
    if isinstance(error, ContextWindowExceededError):
        return PromptTooLongError(
            f"{model} (role {role}): the prompt is too long for the model ({_text(error, lm)}); "
            "give it fewer or shorter facts, or use a model with a longer context",
        )
    what, way_out = _diagnosis(error, model)
    address = "" if is_free(lm) else address_of(lm)
    place = f", at {address}" if address else ""
    if is_free(lm):
        way_out = "this is a fault of the engine inside this process"
    return ModelUnavailableError(f"{model} (role {role}{place}): {what} ({_text(error, lm)}); {way_out}")


def _diagnosis(error: LMError, model: str) -> tuple[str, str]:
    """What is wrong with a call, and what helps."""
    prefix, text = model.split("/", 1)[0].upper(), str(error)
    # DSPy's own client reports a read timeout as a transport error.
    if isinstance(error, LMTimeoutError) or (isinstance(error, LMTransportError) and "timed out" in text):
        more = f"allow more seconds, as in {model}?timeout=1200, or ask fewer questions at once (--workers)"
        return "no answer in time", more
    if isinstance(error, LMRateLimitError):
        return "too many requests", "wait, ask fewer questions at once (--workers), or raise the account's limit"
    if isinstance(error, LMAuthError | LMNotConfiguredError):
        return "no access", f"set {prefix}_API_KEY (any word will do for a server of your own that asks for none)"
    if isinstance(error, LMBillingError):
        return "no credit", "check the account, or use another model"
    if isinstance(error, LMInvalidRequestError) and "temperature" in text.casefold():
        return "the server refuses the request", f"set another temperature, as in {model}?temperature=1"
    if isinstance(error, LMUnsupportedModelError):
        return "no such model", "check the model's name"
    if isinstance(error, LMInvalidRequestError):
        check = "check the model's name, as the server knows it, and the settings of the call"
        return "the server refuses the request", check
    what = "no connection" if isinstance(error, LMTransportError) else "the call failed"
    return what, f"check that the server runs and that {prefix}_API_BASE is right, or use another model"


def _text(error: LMError, lm: Any) -> str:
    text = redacted(" ".join(str(error).split()), [getattr(lm, "kwargs", {}).get("api_key")])
    if not error.message and error.status is not None:
        # DSPy's own client parses errors in OpenAI's format only.
        text = f"HTTP {error.status}, for a reason that cannot be read"
    return text if len(text) <= 300 else text[:297] + "..."


class Doubt(str):
    """What may be wrong with a reply: the model is asked once more, and its second reply stands."""

    __slots__ = ()


def doubted_reply(reply: dspy.Prediction) -> Mapping[str, Any] | None:
    """What a model replied before it was asked once more, by output field; None if its first reply stands."""
    doubted: Mapping[str, Any] | None = getattr(reply, "_doubted", None)
    return doubted


class RolePredict(dspy.Predict):
    """One LLM step: a signature and a role.

    The model is looked up at call time, in `dspy.settings.lm_roles`, which `lms.session` sets. So no model is
    saved with a program, and an optimizer can deep-copy it, reset it, or run it as a teacher with other roles
    (`teacher_settings={"lm_roles": Roles(...)}`). The attribute `lm` (set for example by fine-tuning) and the
    argument `lm=` take precedence. Without a session, `dspy.settings.lm` is used, else the default model.

    It is made with the worked examples of its step (`signatures.demonstrations`) as `demos`, each with the mark
    `worked` (`is_worked` tells). Optimizers may keep, drop and replace them; what is in `demos` is what is shown.
    `without_worked_examples` takes them away for good.

    DSPy's optimizers of demonstrations reset a copy of the program and assign what they found, or nothing, to `demos`.
    So that they start from what is there, `reset` takes only the demonstrations away that an optimizer bootstrapped
    (DSPy marks them as `augmented`), and the first assignment after it puts the new ones behind the others.

    Worked examples are for models that follow instructions (`MeteredLM.general`). A model made for the prompts of this
    project, such as the baseline or a distilled model, is shown all demonstrations but these. The prompts of a general
    model have labels (`LabelAdapter`), unless the user has configured an adapter.

    A demonstration without an output that the step requires teaches nothing and is not shown; DSPy's optimizers put
    whole training questions into every step (`max_labeled_demos`).

    Lists among the inputs and in the demonstrations are written with numbers by every adapter, DSPy's own included.

    If a reply cannot be parsed, the model is asked once more with the reason; a second failure is an error. DSPy's
    trace gets one entry for each call, with the reply that was accepted.

    Args:
        signature: the step.
        role: the role whose model is called; see `lms.roles.ROLES`.
        check: says what is wrong with a reply of the right format, from the inputs and the reply; None if nothing is.
            A reply with a problem counts as one that cannot be parsed; a `Doubt` is raised once, the second reply
            stands.
        **config: settings for the model's calls, such as `temperature` and `max_tokens`; `callbacks` of `dspy.Predict`.

    Attributes:
        has_examples: whether it is made with worked examples, and takes some from a saved state.

    Calling it raises:
        ModelReplyError: two replies could not be read.
        ModelUnavailableError: the model cannot be reached or rejects the call.
        PromptTooLongError: the prompt does not fit the model.
        BudgetExceededError: the session's budget is used up.
        UserError: this thread has no session, and one is open in another thread.
    """

    _kept: tuple[Any, ...] = ()  # the demonstrations of a step that was reset, until others are assigned

    def __init__(
        self,
        signature: str | type[dspy.Signature],
        role: str = "answer",
        check: Callable[[Mapping[str, Any], dspy.Prediction], str | None] | None = None,
        **config: Any,
    ) -> None:
        self.has_examples = True
        super().__init__(signature, **config)  # calls `reset`
        self.role = check_role(role)
        self._check = check

    def forward(self, **kwargs: Any) -> dspy.Prediction:
        """Call the model, with one retry if the reply cannot be parsed."""
        attempt = self._attempt(kwargs)
        while True:
            with self._around(attempt):
                try:
                    with _traced_if_accepted():
                        return self._accepted(attempt, super().forward(**attempt.kwargs))
                except AdapterParseError as error:
                    attempt = self._again(attempt, error)

    async def aforward(self, **kwargs: Any) -> dspy.Prediction:
        """Like `forward`, without blocking."""
        attempt = self._attempt(kwargs)
        while True:
            with self._around(attempt):
                try:
                    with _traced_if_accepted():
                        return self._accepted(attempt, await super().aforward(**attempt.kwargs))
                except AdapterParseError as error:
                    attempt = self._again(attempt, error)

    def _sound(self, prediction: dspy.Prediction) -> dspy.Prediction:
        """The prediction without half surrogate pairs, which JSON can spell.

        Raises:
            UnreadableReplyError: a number is not finite.
        """
        for name, value in prediction.items():
            for number in value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]:
                if isinstance(number, float) and not math.isfinite(number):
                    raise UnreadableReplyError(self.signature, str(value), f"{name} has {number}: no finite number", {})
            prediction[name] = _valid(value)
        return prediction

    def _accepted(self, attempt: _Attempt, reply: dspy.Prediction) -> dspy.Prediction:
        """The reply, cleaned.

        Raises:
            UnreadableReplyError: a number is not finite, the step's own check finds a problem, or the reply is about
                an example.
        """
        reply = self._separated(self._sound(reply), attempt)
        problem = None if self._check is None else self._check(attempt.inputs, reply)
        if problem is None and attempt.inputs["demos"]:
            names = names_of_examples(texts_of(dict(reply.items())), attempt.inputs)
            if names:
                listed = ", ".join(sorted(names))
                problem = Doubt(f"it names {listed}, which only an example does; answer what is asked here")
        if problem is None or (attempt.is_last and isinstance(problem, Doubt)):
            reply._doubted = attempt.doubted
            return reply
        outputs = dict(reply.items())
        text = attempt.adapter.format_assistant_message_content(self.signature, attempt.inputs | outputs)
        raise UnreadableReplyError(self.signature, text, problem, outputs)

    def _attempt(self, kwargs: dict[str, Any]) -> _Attempt:
        lm = kwargs.pop("lm", None) or self.lm
        config = {**self.config, **kwargs.pop("config", {})}
        if isinstance(lm, MeteredLM):
            lm = suited(lm, dspy.settings.get("path_ranker"), dspy.settings.get("text_language"))
        elif lm is None:
            lm = self._lm_of_role()
            # Optimizers vary runs by a rollout id and a temperature on `settings.lm`.
            varied = getattr(dspy.settings.lm, "kwargs", {})
            if varied.get("rollout_id") is not None:
                config = {key: varied[key] for key in ("rollout_id", "temperature") if key in varied} | config
        rollout = config.get("rollout_id", getattr(lm, "kwargs", {}).get("rollout_id"))
        if isinstance(lm, MeteredLM) and is_free(lm) and rollout is not None:
            # DSPy does not pass rollout ids to engines; a sampling engine varies with the seed.
            config.setdefault("seed", rollout)
        demos = kwargs.pop("demos", self.demos)
        required = [name for name, field in self.signature.output_fields.items() if field.is_required()]
        whole = [demo for demo in demos if all(demo.get(name) is not None for name in required)]
        shown = [as_shown(self.signature, demo) for demo in whole if is_general(lm) or not is_worked(demo)]
        numbered = numbered_lists(self.signature.input_fields, kwargs)
        return _Attempt(lm, config, kwargs | numbered | {"demos": shown}, _adapter_for(lm))

    def _separated(self, prediction: dspy.Prediction, attempt: _Attempt) -> dspy.Prediction:
        """The prediction, with known names that the model joined in one text taken apart."""
        step = step_of(self.signature)
        if step is None:
            return prediction
        for name in step.output_fields:
            match hint_of(step, name):
                case NamesIn(of=items):
                    named = (read_known_name(str(line)) for line in attempt.inputs.get(items) or ())
                    known = {text for one in named for text in (one.name, one.spelling)}
                case CopiedFrom(cited=cited) if isinstance(numbers := hint_of(step, cited), Numbers):
                    facts = read_facts(map(str, attempt.inputs.get(numbers.of) or ()))
                    known = {text for fact in facts for text in (fact.anchor, *fact.values)}
                case _:
                    continue
            if isinstance(texts := prediction.get(name), list):
                prediction[name] = separated(texts, known)
        return prediction

    def _lm_of_role(self) -> Any:
        roles: Roles | None = dspy.settings.get("lm_roles")
        if roles is None:
            check_thread()
        if roles is None and dspy.settings.lm is not None:
            return dspy.settings.lm
        if roles is None or roles is BASELINE:
            warn_of_baseline()
        return (roles or BASELINE).lm(self.role)

    @property
    def adapter(self) -> Any:
        """The adapter that a call here and now would use."""
        return _adapter_for(self.lm or self._lm_of_role())

    @property
    def model(self) -> str:
        """The name of the model that a call here and now would go to."""
        roles: Roles | None = dspy.settings.get("lm_roles")
        if self.lm is None and roles is not None:
            return roles.model(self.role)
        return name_of(self.lm or dspy.settings.lm or BASELINE.default)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The state that `program.save(FILE)` writes: also the settings of the calls and the names of the fields."""
        own: Any = vars(self)["lm"]
        self.lm = None if isinstance(own, MeteredLM) else own
        try:
            state: dict[str, Any] = super().dump_state(json_mode)
        finally:
            self.lm = own
        if json_mode:  # JSON has no keys that are numbers; `restored` knows the types of the fields
            state["demos"] = [to_jsonable_python(demo, fallback=lambda value: value) for demo in state["demos"]]
        # Models that are made from a model string are made again from it.
        model = {"model": own.name} if isinstance(own, MeteredLM) else {}
        return state | {"config": dict(self.config), "names": list(self.signature.fields), **model}

    def load_state(self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False) -> RolePredict:
        """Take a state that `dump_state` or `dspy.Predict` gave.

        Raises:
            UserError: it is the state of a step with other fields.
        """
        state = dict(state)
        now, saved = list(self.signature.fields), state.pop("names", None)
        if len(now) != len(state["signature"]["fields"]) or saved not in (None, now):
            raise UserError(
                f"the saved state is of a step with the fields {saved or 'of another version'}, and "
                f"{self.signature.__name__} has {now}: compile the program again"
            )
        model = state.pop("model", None)
        self._kept = ()
        super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state)
        found = restored(self.signature, state["demos"])
        self.demos = [demo for demo in found if self.has_examples or not is_worked(demo)]
        if model is not None:
            self.lm = language_model(model)
        return self

    @property
    def demos(self) -> list[Any]:
        """The demonstrations that prompts show."""
        return self._demos

    @demos.setter
    def demos(self, demos: Iterable[Any]) -> None:
        kept, self._kept, given = self._kept, (), list(demos)
        self._demos = [*(demo for demo in kept if demo not in given), *given]

    def reset(self) -> None:
        """Forget what was learned: demonstrations that an optimizer bootstrapped.

        A model from `set_lm` stays: it is not learned.
        """
        made = "_demos" in vars(self)  # DSPy resets a step while it makes it
        own, demos = vars(self).get("lm"), self._demos if made else self._worked_examples()
        super().reset()
        self.lm, self._kept = own, ()
        self.demos = [demo for demo in demos if not demo.get("augmented")]
        self._kept = tuple(self.demos) if made else ()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: not that it was reset, so that its demonstrations are replaced when others are assigned."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept"}

    def _worked_examples(self) -> list[dspy.Example]:
        step = step_of(self.signature)
        return [demo.copy(**{WORKED: True}) for demo in demonstrations(step)] if step else []

    def without_worked_examples(self) -> None:
        """Take the worked examples away, also from states that are loaded; others stay."""
        self.has_examples = False
        self._kept = ()
        self.demos = [demo for demo in self.demos if not is_worked(demo)]

    @contextmanager
    def _around(self, attempt: _Attempt) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(dspy.context(lm_role=self.role, adapter=attempt.adapter))
            stack.enter_context(watching())
            if is_free(attempt.lm) and not hasattr(attempt.lm.engine, "stream"):
                stack.enter_context(dspy.context(send_stream=None))
            if not isinstance(attempt.lm, MeteredLM):
                stack.enter_context(metered(attempt.lm))
            try:
                yield
            except LMError as error:
                raise explain(error, attempt.lm, self.role) from error

    def _again(self, attempt: _Attempt, error: AdapterParseError) -> _Attempt:
        """The attempt after one whose reply cannot be read.

        Raises:
            ModelReplyError: it was the last one.
        """
        if not attempt.is_last:
            return attempt.again(error)
        shown = " ".join(str(error.lm_response).split())
        raise ModelReplyError(
            f"{model_name(attempt.lm)} (role {self.role}, {self.signature.__name__}): two replies cannot be read; "
            f"{problem_of(error)}. The last one was {shown[:200]!r}. Use a model that keeps to the format; "
            "`triplecheck lm check` tells",
            reply=str(error.lm_response),
            signature=error.signature,
        ) from error


@contextmanager
def _traced_if_accepted() -> Iterator[None]:
    """Adds a call inside the block to DSPy's trace when the block ends without an error.

    Optimizers make demonstrations and training rows of what is in the trace.
    """
    trace = dspy.settings.trace
    with dspy.context(trace=None if trace is None else []):
        yield
        calls = dspy.settings.trace
    if trace is not None:
        trace += calls
        del trace[: max(0, len(trace) - dspy.settings.max_trace_size)]


def _adapter_for(lm: Any) -> Any:
    """The user's adapter; without one, the one whose format the model reads best."""
    configured = dspy.settings.adapter
    if configured is not None and configured is not DEFAULT_ADAPTER:
        return with_parse_errors(configured)
    return adapter_of(lm)


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return valid(value)
    return [_valid(item) for item in value] if isinstance(value, list) else value


class StreamListener(_StreamListener):
    """A `dspy.streaming.StreamListener` that knows the formats of this project.

    DSPy finds the field delimiters by the class name of the configured adapter; a `RolePredict` may use another one.
    Fields with other headers than the adapter asks for, such as bold ones, are not streamed; they are in the final
    prediction.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.adapter_identifiers[TolerantAdapter.__name__] = self.adapter_identifiers["ChatAdapter"]
        label = label_of(self.signature_field_name)
        self.adapter_identifiers[LabelAdapter.__name__] = {
            "start_identifier": f"{label}:",
            "end_identifier": re.compile(r"\n[A-Z][a-z ]*+:"),
            "start_indicator": label[0],
            "end_pattern_prefixes": ["\n"],
            "end_pattern_contains": "\n",
        }

    def receive(self, chunk: Any) -> Any:
        """See `dspy.streaming.StreamListener`."""
        if not isinstance(self.predict, RolePredict):
            return super().receive(chunk)
        with dspy.context(adapter=self.predict.adapter):
            return super().receive(chunk)


def as_shown(signature: type[dspy.Signature], demo: Mapping[str, Any] | dspy.Example) -> dict[str, Any]:
    """A demonstration as prompts show it: the fields of the step, with numbered lists."""
    fields = {name: value for name, value in demo.items() if name in signature.fields}
    return fields | numbered_lists(signature.input_fields, fields)


@dataclass
class _Attempt:
    """One attempt."""

    lm: Any
    config: dict[str, Any]
    inputs: dict[str, Any]
    adapter: Any
    doubted: Mapping[str, Any] | None = None
    is_last: bool = False

    @property
    def kwargs(self) -> dict[str, Any]:
        # The models of this project keep servers apart themselves.
        config = kept_apart(self.lm, self.config) if type(self.lm) is dspy.LM else dict(self.config)
        if "rollout_id" in config and "rollout_id" not in self.config:
            self.lm._warned_zero_temp_rollout = True  # it is no try of its own
        return {**self.inputs, "lm": self.lm, "config": config}

    def again(self, error: AdapterParseError) -> _Attempt:
        """The second attempt: the prompt says what was wrong, and the cached first reply is not used.

        A model that answered an example in place of the question gets no examples. The rollout id gives the request its
        own key in DSPy's cache, so a repeated run finds both replies.
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
        copied = copies_example(str(error.lm_response), self.inputs)
        inputs = self.inputs | {"demos": []} if copied else self.inputs
        doubted = error.parsed_result if isinstance(getattr(error, "problem", None), Doubt) else None
        return _Attempt(self.lm, config, inputs, adapter, doubted, is_last=True)


_SECOND_TRY = 1_000_003
"""Outside the range of rollout ids that optimizers use."""


def problem_of(error: AdapterParseError) -> str:
    """Why a reply could not be parsed, in one line."""
    problem = getattr(error, "problem", None)
    return str(problem) if problem else "the reply is empty" if not error.lm_response else str(error).split("\n\n")[0]
