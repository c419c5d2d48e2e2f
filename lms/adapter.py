"""The tolerant adapters: write DSPy's chat format plainly and read replies leniently.

`TolerantAdapter` departs from `dspy.ChatAdapter` in three ways. Values are written in short forms that small
models can follow (lists with one item per line, `none` for an empty list), and type hints are plain words. Replies
may have common mistakes: bold headers, thoughts, `**Yes**` for `yes`, bullets, JSON instead of lines. A reply that
still cannot be read raises an error at once, without a second call in another format: the caller decides what to
do (see `RolePredict`).

`LabelAdapter` writes the same with a label before each field (`Question: ...`) instead of a header in brackets.
`RolePredict` uses it for language models in general, and `TolerantAdapter` for the embedded engines and the models
distilled in this project, which were made for its headers.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import dspy
from dspy.adapters.types.base_type import Type
from dspy.adapters.utils import apply_output_field_defaults, format_field_value
from dspy.utils.exceptions import AdapterParseError

from triplecheck.kg.errors import UserError
from triplecheck.kg.values import valid
from triplecheck.lms.metering import is_general, reply_was_cut
from triplecheck.lms.prompt import COMPLETED, HEADER, bare_reply, is_completed, split_fields, without_repetitions
from triplecheck.lms.values import SCORES, hint, is_list, read, render, render_numbered
from triplecheck.signatures.notation import BACKWARD, FORWARD, beginning, items_named
from triplecheck.signatures.step import Numbers, hint_of, step_of

LONGEST_REPLY = 1_000_000
"""Characters of a reply, thoughts included. A longer one is refused."""

_LONGEST_REPEATED_REPLY = 2_000
_OPENING = re.compile(r"\[\[(?=\s*##)")


class UnreadableReplyError(AdapterParseError):
    """A reply that cannot be parsed as the requested fields; `problem` says why."""

    def __init__(self, signature: type[dspy.Signature], reply: str, problem: str, parsed: dict[str, Any]) -> None:
        super().__init__("TolerantAdapter", signature, reply, problem, parsed or None)
        self.problem = problem


class TolerantAdapter(dspy.ChatAdapter):
    """Writes prompts and reads replies, for models of any size."""

    def __init__(self) -> None:
        super().__init__(use_json_adapter_fallback=False)
        self._repair: tuple[str, str] | None = None

    def repairing(self, reply: str, problem: str) -> TolerantAdapter:
        """An adapter for the second try: its prompts say what is wrong with the first reply."""
        other = copy.copy(self)
        if len(reply) > _LONGEST_REPEATED_REPLY:
            reply = reply[:_LONGEST_REPEATED_REPLY] + " ..."
        other._repair = (reply, problem)
        return other

    def format(
        self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """The chat messages for one call."""
        messages: list[dict[str, Any]] = super().format(signature, demos, inputs)
        if self._repair is not None:
            messages = self.asking_again(signature, messages, *self._repair)
        # A graph or an earlier reply may hold half a surrogate pair, which no request can carry.
        return [
            {**message, "content": valid(content)} if isinstance(content := message["content"], str) else message
            for message in messages
        ]

    def asking_again(
        self, signature: type[dspy.Signature], messages: list[dict[str, Any]], reply: str, problem: str
    ) -> list[dict[str, Any]]:
        """The messages of the second try: those of the first, the reply, and what is wrong with it."""
        request = f"This reply cannot be read: {problem}\n\n{self.user_message_output_requirements(signature)}"
        return [*messages, {"role": "assistant", "content": reply or "..."}, {"role": "user", "content": request}]

    def format_field_description(self, signature: type[dspy.Signature]) -> str:
        """The fields by name, with their descriptions, for the system message."""
        inputs = "\n".join(_listed(name, field) for name, field in signature.input_fields.items())
        outputs = "\n".join(_listed(name, field) for name, field in signature.output_fields.items())
        return f"Your input fields are:\n{inputs}\nYour output fields are:\n{outputs}"

    def format_field_structure(self, signature: type[dspy.Signature]) -> str:
        """The shape of a prompt and of a reply, for the system message."""
        lines = ["All interactions have this form:"]
        lines += [f"{HEADER.format(name=name)}\n{{{name}}}" for name in signature.input_fields]
        for name, field in signature.output_fields.items():
            kind = hint(field.annotation)
            lines.append(f"{HEADER.format(name=name)}\n{{{name}{': ' + kind if kind else ''}}}")
        return "\n\n".join([*lines, COMPLETED])

    def format_task_description(self, signature: type[dspy.Signature]) -> str:
        """The instruction, for the system message."""
        return f"Your task:\n{signature.instructions.strip()}"

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """The inputs under their headers; for the request itself, also the required reply format."""
        parts = [prefix]
        for name, field in signature.input_fields.items():
            if name in inputs:
                parts.append(f"{HEADER.format(name=name)}\n{_render_input(field, inputs[name])}")
        if main_request:
            parts.append(self.user_message_output_requirements(signature))
        return "\n\n".join([*parts, suffix]).strip()

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str:
        """The reminder of the format at the end of a request."""
        fields = []
        for name, field in signature.output_fields.items():
            kind = hint(field.annotation)
            fields.append(f"`{HEADER.format(name=name)}`{f' ({kind})' if kind else ''}")
        return f"Reply with {', then '.join(fields)}, and end with `{COMPLETED}`."

    def format_assistant_message_content(
        self, signature: type[dspy.Signature], outputs: dict[str, Any], missing_field_message: str | None = None
    ) -> str:
        """A well-formed reply: each output, without optional ones that are empty."""
        parts = []
        for name, field in signature.output_fields.items():
            value = outputs.get(name, missing_field_message)
            if field.is_required() or value not in (None, field.default):
                parts.append(self.format_output(signature, name, value, outputs))
        return self.join_outputs(parts)

    def mark_of(self, name: str) -> str:
        """What stands before the value of a field."""
        return HEADER.format(name=name)

    def format_output(self, signature: type[dspy.Signature], name: str, value: Any, outputs: dict[str, Any]) -> str:
        """One field of a reply: its mark and its value."""
        return f"{self.mark_of(name)}\n{render(signature.output_fields[name].annotation, value)}"

    def join_outputs(self, parts: list[str]) -> str:
        """A reply of these fields."""
        return "\n\n".join([*parts, COMPLETED]) + "\n"

    def format_finetune_data(
        self,
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
        outputs: dict[str, Any],
    ) -> dict[str, list[Any]]:
        """One training conversation: system, user, assistant.

        Raises:
            UserError: the reply would not be parsed back as `outputs`, so the training row would be wrong.
        """
        data: dict[str, list[Any]] = super().format_finetune_data(signature, demos, inputs, outputs)
        parsed = self.parse(signature, data["messages"][-1]["content"])
        for name, field in signature.output_fields.items():
            value = outputs.get(name, None if field.is_required() else field.default)
            wanted = value.strip() if isinstance(value, str) else value
            if parsed[name] != wanted and not self.means_the_same(signature, name, parsed[name], wanted, inputs):
                raise UserError(
                    f"field {name!r} of a training row is {value!r} but would be read back as "
                    f"{parsed[name]!r}: leave the row out or mend the value"
                )
        return data

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """Read a reply as typed fields.

        Raises:
            AdapterParseError: a field is missing or is not of its type, or the reply is too long.
        """
        parsed: dict[str, Any] = {}
        completion = valid(completion)
        if len(completion) > LONGEST_REPLY:
            problem = f"it has {len(completion):,} characters, and at most {LONGEST_REPLY:,} are read; write less"
            raise UnreadableReplyError(signature, completion[:_LONGEST_REPEATED_REPLY], problem, {})
        found = split_fields(completion, signature.output_fields)
        required = [name for name, field in signature.output_fields.items() if field.is_required()]
        if not found and len(required) == 1 and self.is_bare(signature, required[0]):
            found = {required[0]: bare_reply(completion)}
        for name, text in found.items():
            try:
                parsed[name] = self.read_field(signature, name, text)
            except (ValueError, RecursionError) as error:
                problem = f"the field `{name}` is not as asked for: {error}"
                raise UnreadableReplyError(signature, completion, problem, parsed) from error
        parsed = apply_output_field_defaults(signature, parsed)
        missing = [self.mark_of(name) for name in signature.output_fields if name not in parsed]
        if missing:
            raise UnreadableReplyError(signature, completion, f"{', '.join(missing)} is missing", parsed)
        return parsed

    def means_the_same(
        self, signature: type[dspy.Signature], name: str, parsed: Any, written: Any, inputs: dict[str, Any]
    ) -> bool:
        """Whether a value may be read back as another one."""
        return False

    def is_bare(self, signature: type[dspy.Signature], name: str) -> bool:
        """Whether the only field of a reply may be without its mark: text would take an apology for the value."""
        return signature.output_fields[name].annotation not in (str, list[str])

    def read_field(self, signature: type[dspy.Signature], name: str, text: str) -> Any:
        """The value of an output field.

        Raises:
            ValueError: it is not of the field's type.
        """
        return read(signature.output_fields[name].annotation, text)

    def _call_postprocess(
        self,
        processed_signature: type[dspy.Signature],
        original_signature: type[dspy.Signature],
        outputs: list[dict[str, Any] | str],
        lm: Any,
        lm_kwargs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        if not outputs:
            raise UnreadableReplyError(original_signature, "", "the reply is empty", {})
        if reply_was_cut():
            outputs = [_whole(original_signature, output) for output in outputs]
        values: list[dict[str, Any]] = super()._call_postprocess(
            processed_signature, original_signature, outputs, lm, lm_kwargs
        )
        return values


def _whole(signature: type[dspy.Signature], output: dict[str, Any] | str) -> dict[str, Any] | str:
    """A reply that was cut at its length limit, which DSPy caches like any other.

    Its last field may be incomplete, so it is read only if it has the completion marker, or if all that was cut off is
    repetitions.

    Raises:
        UnreadableReplyError: it has neither.
    """
    text = (output.get("text") if isinstance(output, dict) else output) or ""
    if is_completed(text):
        return output
    whole = without_repetitions(text)
    if whole is None:
        raise UnreadableReplyError(signature, text, "it was cut off because it is too long; write less", {})
    return {**output, "text": whole} if isinstance(output, dict) else whole


class LabelAdapter(TolerantAdapter):
    """Writes each field after its label, as in `Question: Who designed it?`, and asks for replies of this form.

    A model names an item of a list by copying its beginning, not by its number, which small language models often get
    wrong. Items of a long text keep their numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self._inputs: dict[str, Any] = {}

    def __call__(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: Any, inputs: dict[str, Any]) -> Any:
        """Format, call, and read the reply with the inputs that it refers to."""
        return super(LabelAdapter, self._about(inputs)).__call__(lm, lm_kwargs, signature, demos, inputs)

    async def acall(
        self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: Any, inputs: dict[str, Any]
    ) -> Any:
        """Like calling it, without blocking."""
        return await super(LabelAdapter, self._about(inputs)).acall(lm, lm_kwargs, signature, demos, inputs)

    def _about(self, inputs: dict[str, Any]) -> LabelAdapter:
        other = copy.copy(self)
        other._inputs = inputs
        return other

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        """The instruction, the input fields that need explaining, and the form of a reply."""
        described = ((name, _description(name, field)) for name, field in signature.input_fields.items())
        inputs = [f"{label_of(name)}: {text}" for name, text in described if text]
        parts = [signature.instructions.strip()]
        if inputs:
            parts.append("\n".join(["The input:", *inputs]))
        return "\n\n".join([*parts, f"Reply in this form:\n{_form_of_reply(signature)}"])

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """The inputs after their labels. The form of the reply is in the system message and in the examples."""
        copied = {hint.of for name in signature.output_fields if (hint := _copied(signature, name))}
        parts = [prefix] if prefix else []
        for name, field in signature.input_fields.items():
            if name in inputs:
                text = _render_input(field, inputs[name])
                parts.append(self._labelled(name, _NUMBER.sub("- ", text) if name in copied else text))
        return "\n".join([*parts, suffix] if suffix else parts).strip()

    def asking_again(
        self, signature: type[dspy.Signature], messages: list[dict[str, Any]], reply: str, problem: str
    ) -> list[dict[str, Any]]:
        """The messages of the first try; the request also says what is wrong with the reply.

        The reply is not shown. A small model takes it, and the message about it, for the next of the worked examples,
        and goes on with those in place of the question.
        """
        *before, request = messages
        said = f"An earlier reply could not be used: {problem}.\n\n{self.user_message_output_requirements(signature)}"
        return [*before, {**request, "content": f"{request['content']}\n\n{said}"}]

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str:
        """The form of the reply, for a second try."""
        return f"Reply again, in exactly this form:\n{_form_of_reply(signature)}"

    def mark_of(self, name: str) -> str:
        """The label of a field."""
        return f"{label_of(name)}:"

    def format_output(self, signature: type[dspy.Signature], name: str, value: Any, outputs: dict[str, Any]) -> str:
        """One field of a reply: its label and its value, or the beginnings of the items that it names."""
        text = self._copies(signature, name, value, outputs)
        return self._labelled(name, render(signature.output_fields[name].annotation, value) if text is None else text)

    def join_outputs(self, parts: list[str]) -> str:
        """A reply of these fields, one per line."""
        return "\n".join(parts)

    def format_finetune_data(self, signature: Any, demos: Any, inputs: dict[str, Any], outputs: Any) -> Any:
        """One training conversation; see `TolerantAdapter`."""
        return super(LabelAdapter, self._about(inputs)).format_finetune_data(signature, demos, inputs, outputs)

    def means_the_same(
        self, signature: type[dspy.Signature], name: str, parsed: Any, written: Any, inputs: dict[str, Any]
    ) -> bool:
        """Whether both are numbers of items that begin alike: no reply can tell these apart."""
        texts = [self._copies(signature, name, value, inputs) for value in (parsed, written)]
        return texts[0] is not None and texts[0] == texts[1] and set(written) <= set(parsed)

    def is_bare(self, signature: type[dspy.Signature], name: str) -> bool:
        """As the tolerant adapter; also one text for a signature that is no step, such as an optimizer's request."""
        is_text = signature.output_fields[name].annotation is str and step_of(signature) is None
        return is_text or super().is_bare(signature, name)

    def read_field(self, signature: type[dspy.Signature], name: str, text: str) -> Any:
        """The value of a field; the beginnings of items are read as their numbers."""
        numbers = _copied(signature, name)
        items = self._inputs.get(numbers.of) if numbers else None
        if numbers is None or not isinstance(items, list) or not re.search(r"[^\W\d]", text):
            return super().read_field(signature, name, text)
        if not items:  # nothing is on offer
            return {} if signature.output_fields[name].annotation == SCORES else []
        lines, listed = read(list[str], text), list(map(str, items))
        if signature.output_fields[name].annotation != SCORES:
            found = [number for line in lines for number in items_named(line, listed, numbers.items)]
            return list(dict.fromkeys(self._some(found, lines, numbers.of)))
        scored = [
            (line[: match.start()].rstrip(), match[1]) if (match := _SCORE.search(line)) else (line, "")
            for line in lines
        ]
        if not all(score for _, score in scored) and any(score for _, score in scored):
            raise ValueError(f"some of the {numbers.of} have no score; write a colon and the score after each")
        scores: dict[int, float] = {}
        for line, score in scored:
            for number in items_named(line, listed, numbers.items):
                scores.setdefault(number, float(score or 1))
        return self._some(scores, lines, numbers.of)

    def _some(self, found: _Found, lines: Sequence[str], what: str) -> _Found:
        """The items of the list that a reply names.

        A sentence that says that nothing fits, such as "The facts do not give the height.", names none. Nor does a
        second reply that names only items that are not in the list.

        Raises:
            ValueError: none was found.
        """
        are_paths = [FORWARD in line or BACKWARD in line for line in lines]
        if found or not lines or (not any(are_paths) and all(map(_DENIES.search, lines))):
            return found
        others = {str(item) for value in self._inputs.values() if isinstance(value, list) for item in value}
        if self._repair is not None and all(
            path or line in others for path, line in zip(are_paths, lines, strict=True)
        ):
            return found
        raise ValueError(f"{lines[0][:80]!r} is none of the {what}; copy the beginning of one")

    def _labelled(self, name: str, text: str) -> str:
        listed = "\n" in text or text.startswith(("[1] ", "- "))
        return f"{self.mark_of(name)}{chr(10) if listed else ' '}{text}"

    def _copies(self, signature: type[dspy.Signature], name: str, value: Any, row: dict[str, Any]) -> str | None:
        """The items of these numbers by their beginnings; None for a field of another kind."""
        numbers = _copied(signature, name)
        items = (row.get(numbers.of) or self._inputs.get(numbers.of)) if numbers else None
        if numbers is None or not isinstance(items, list) or not isinstance(value, list | Mapping):
            return None
        scores = {int(number): f": {score}" for number, score in value.items()} if isinstance(value, Mapping) else {}
        lines = [
            f"- {beginning(str(items[number - 1]), numbers.items)}{scores.get(number, '')}"
            for number in scores or value
            if 0 < number <= len(items)
        ]
        return "\n".join(dict.fromkeys(lines)) or "none"


_NUMBER = re.compile(r"^\[\d+\] ", re.MULTILINE)
_DENIES = re.compile(r"\b(no|none|not|nothing|neither)\b", re.IGNORECASE)
_SCORE = re.compile(r"[:：=(]\s*(\d+(?:\.\d+)?|\.\d+)\)?\.?$")
_Found = TypeVar("_Found", bound=Collection[int])


def _copied(signature: type[dspy.Signature], name: str) -> Numbers | None:
    """The hint of an output field that names items by copying them; None for another field."""
    numbers = hint_of(signature, name)
    return numbers if isinstance(numbers, Numbers) and numbers.items != "text" else None


def label_of(name: str) -> str:
    """The label of a field: `known_names` becomes `Known names`."""
    return name.replace("_", " ").capitalize()


def _form_of_reply(signature: type[dspy.Signature]) -> str:
    lines = []
    for name, field in signature.output_fields.items():
        kind = hint(field.annotation)
        if _copied(signature, name):
            scored = ", each with a colon and its score" if field.annotation == SCORES else ""
            kind = f"their beginnings{scored}, one per line, or none"
        what = "; ".join(filter(None, (_description(name, field), kind)))
        lines.append(f"{label_of(name)}: <{what or 'text'}>")
    return "\n".join(lines)


def _description(name: str, field: Any) -> str:
    """The description that a signature gives its field; empty for DSPy's default."""
    text = (field.json_schema_extra or {}).get("desc") or ""
    return str(text) if text != f"${{{name}}}" else ""


def _listed(name: str, field: Any) -> str:
    text = _description(name, field)
    return f"- `{name}`: {text}" if text else f"- `{name}`"


def _render_input(field: Any, value: Any) -> str:
    if isinstance(value, Type):
        return str(format_field_value(field_info=field, value=value))
    is_numbered = isinstance(value, list) and (is_list(field.annotation) or field.annotation is str)
    text = render_numbered(value) if is_numbered else str(format_field_value(field_info=field, value=value))
    # Text from a graph or a document must not be parsed as a header.
    return _OPENING.sub("[ [", text)


class AdapterOfModel(TolerantAdapter):
    """The adapter whose form the model of a call reads best."""

    def __call__(self, lm: Any, *args: Any, **kwargs: Any) -> Any:
        """Format, call, and read the reply."""
        return adapter_of(lm)(lm, *args, **kwargs)

    async def acall(self, lm: Any, *args: Any, **kwargs: Any) -> Any:
        """Like calling it, without blocking."""
        return await adapter_of(lm).acall(lm, *args, **kwargs)


def adapter_of(lm: Any) -> TolerantAdapter:
    """The adapter whose form a model reads best."""
    return LabelAdapter() if is_general(lm) else TolerantAdapter()


DEFAULT_ADAPTER = AdapterOfModel()
"""The adapter of sessions where the user has set none."""


class _WithParseErrors:
    """Goes before the class of an adapter: what its parser cannot read is an `AdapterParseError`."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """Read a reply as typed fields."""
        try:
            fields: dict[str, Any] = super().parse(signature, completion)  # type: ignore[misc]
        except (ValueError, RecursionError) as error:
            raise UnreadableReplyError(signature, completion, f"{type(error).__name__}: {error}", {}) from error
        return fields

    def _make_json_adapter_fallback(self) -> Any:
        return with_parse_errors(super()._make_json_adapter_fallback())  # type: ignore[misc]


def with_parse_errors(adapter: Any) -> Any:
    """A copy of an adapter of DSPy or of the user whose `parse` fails with an `AdapterParseError` only.

    Parsers of DSPy's adapters also raise other errors, for deep nesting and half a surrogate pair. The adapters of
    this project need no such copy.
    """
    if isinstance(adapter, TolerantAdapter):
        return adapter
    other = copy.copy(adapter)
    other.__class__ = _class_with_parse_errors(type(adapter))  # type: ignore[arg-type]
    return other


@functools.cache
def _class_with_parse_errors(kind: type[Any]) -> type[Any]:
    made: Any = type(kind.__name__, (_WithParseErrors, kind), {})
    # DSPy has wrapped both once more for its callbacks.
    made.format, made.parse = kind.format, _WithParseErrors.parse
    return made  # type: ignore[no-any-return]
