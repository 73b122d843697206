"""Read answers of OpenAI's, vLLM's and other compatible services."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ...base.columns import failure_of
from ...base.errors import counted, shown
from ...base.warn import warn
from . import _json as js
from ._base import ListFile
from ._json import JsonReader

FILTERED = "content_filter"
"""Why an answer ended that the service held back."""
_REQUEST = "request_id"
"""vLLM's ids, which go on counting in a process."""


@dataclass(frozen=True)
class Openai(JsonReader):
    """Read answers with `choices`, of completions or chats: one a line, a batch, or a JSON list.

    vLLM's `outputs` with their `cumulative_logprob` are read too. The features are `logprob`, the
    sum over the tokens, and `tokens`, their number. Ask the service for log-probabilities. Choices
    are ordered by their `index`. An answer that ended by `content_filter` is none.

    Parameters
    ----------
    id
        Key of the segment id. Default: `custom_id` of a batch, or another that is usual, or vLLM's
        `request_id` if it is a number, of which the lowest is the first segment. Without one the
        n-th line is segment n - 1.
    features
        Keys of other scores in a choice, joined by `+`.
    """

    id: str = ""
    features: str = ""

    title: ClassVar[str] = "OpenAI-compatible"
    first_rank: ClassVar[int | None] = 0
    example: ClassVar[tuple[str, ...]] = (
        "",
        (
            '{"custom_id": "0", "response": {"body": {"choices": [{"text": "a b", "logprobs": '
            '{"token_logprobs": [-0.5, -1.0]}}]}}}\n'
        ),
        (
            '{"custom_id": "0", "response": {"body": {"choices": [{"message": {"content": "b"}, '
            '"logprobs": {"content": [{"token": "b", "logprob": -1.0}]}}]}}}\n'
        ),
        (
            '{"custom_id": "1", "response": {"body": {"choices": [{"text": "", "logprobs": '
            '{"token_logprobs": []}}]}}}\n'
        ),
    )

    def _requests(self, file: ListFile) -> Iterator[tuple[js.JsonObject, str]]:
        """Yield each answer and the id of its segment."""
        records = js.objects(file)
        first = next(records)
        keys = [self.id] if self.id else _usual_ids(first[1])
        if all(first[1].get(key) is None for key in keys) and not self.id:
            number = first[1].get(_REQUEST)
            if str(number).isdecimal() and file.names.known is None:
                yield from _by_request(file, [first, *records])
                return
        yield from js.identified(chain([first], records), keys, named=bool(self.id))

    def found(self, file: ListFile) -> Iterator[js.Hypothesis | js.Failed]:
        """Yield the hypotheses of a whole file, and the requests that failed."""
        withheld: dict[str, list[str]] = {}
        for item, segment in self._requests(file):
            if reason := failure_of(item.content):
                yield js.Failed(item.place, segment, reason)
                continue
            answer = item
            if "response" in item.content:
                body = item.get("response.body")
                if not isinstance(body, dict):
                    item.wrong("response.body", body, "an answer (did it fail?)")
                answer = js.JsonObject(file, item.place, body)
            choices = "choices" in answer.content or "outputs" not in answer.content
            key = "choices" if choices else "outputs"
            if answer.get(key) == []:
                yield js.Failed(item.place, segment, js.no_answer(answer, key) or "")
                continue
            found = answer.entries(key, dict, "a list of objects")
            reasons = [reason for reason in map(_withheld, found) if reason]
            if reasons and (len(reasons) == len(found) or not file.names.drop):
                yield js.Failed(item.place, segment, reasons[0])
                continue
            if reasons:
                withheld[segment] = reasons
            found = [one for one in found if not _withheld(one)]
            for choice in sorted_by_index([js.JsonObject(file, item.place, one) for one in found]):
                text = choice.text("text" if "text" in choice.content else "message.content")
                names, values = choice.features(self.features)
                names, sums = (("logprob", 1), ("tokens", 1), *names), _logprobs(choice)
                values = [*sums, *values]
                index = choice.content.get("index")
                yield js.Hypothesis(
                    item.place,
                    segment,
                    text,
                    names,
                    values,
                    sums[0],
                    record=choice.content,
                    rank=index if type(index) is int else None,
                )
        _warn_withheld(file, withheld)


def _warn_withheld(file: ListFile, reasons: Mapping[str, list[str]]) -> None:
    """Say how many hypotheses of each segment are left out, if any are."""
    if reasons:
        warn(
            f"{file.where}: {counted(sum(map(len, reasons.values())), 'hypothesis')} of "
            f"{counted(len(reasons), 'segment')} left out; the first is of "
            f"'{next(iter(reasons))}': {next(iter(reasons.values()))[0]}"
        )


def _withheld(choice: dict[str, Any]) -> str:
    """Return why a choice is no answer; nothing if it is one."""
    if choice.get("finish_reason") == FILTERED:
        return f"an answer ended by {FILTERED}"
    message = choice.get("message")
    if isinstance(message, dict) and message.get("content", ...) is None:
        refusal = message.get("refusal")
        return f"the model refused: {shown(str(refusal))}" if refusal else "an answer without text"
    return ""


def _usual_ids(item: js.JsonObject) -> list[str]:
    """Return the keys that may have ids; `id` is mostly a service's own."""
    own, known = str(item.get("id")), item.file.names.known or {}
    is_id = own.isdecimal() or own in known
    return ["custom_id", *(key for key in js.IDS if key != "id" or is_id)]


def _by_request(
    file: ListFile, records: list[tuple[int, js.JsonObject]]
) -> Iterator[tuple[js.JsonObject, str]]:
    """Yield records whose ids are those that vLLM counts."""
    items = [item for _, item in records]
    numbers = [int(item.segment(_REQUEST, None)) for item in items]
    first = min(numbers)
    whole = sorted(numbers) == list(range(first, first + len(numbers)))
    for place, (item, number) in enumerate(zip(items, numbers, strict=True)):
        if not whole and (file.names.drop or (place and number <= numbers[place - 1])):
            file.fail(
                item.place,
                f"'{_REQUEST}' is {number}: these ids are not in order, and some are missing or "
                f"stand twice, so which segments are they of? if they count segments from 0, give "
                f"--nbest-format openai:id={_REQUEST}, else another key",
            )
        yield item, str(number - first if whole else place)


def sorted_by_index(choices: list[js.JsonObject]) -> list[js.JsonObject]:
    """Return choices in the order of their numbers; without numbers as they stand."""
    if not any("index" in choice.content for choice in choices):
        return choices
    known: dict[float, js.JsonObject] = {}
    for choice in choices:
        index = choice.number("index")
        if index in known:
            choice.file.fail(choice.place, f"two choices have the index {index:g}")
        known[index] = choice
    return [known[index] for index in sorted(known)]


def _logprobs(choice: js.JsonObject) -> list[float]:
    """Return the sum of the tokens' log-probabilities, and how many tokens there are."""
    if "cumulative_logprob" in choice.content:
        total, ids = choice.number("cumulative_logprob"), choice.get("token_ids")
        if not isinstance(ids, list):
            choice.wrong("token_ids", ids, "a list of tokens")
        return [total, float(len(ids))]
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        expected = "log-probabilities of tokens; ask the service for them (logprobs)"
        choice.wrong("logprobs", given, expected)
    tokens, key = given.get("content"), "logprobs.content"
    if tokens is None:
        tokens, key = given.get("token_logprobs"), "logprobs.token_logprobs"
    if not isinstance(tokens, list):
        js.JsonObject(choice.file, choice.place, given).wrong(
            key, tokens, "a list, one entry a token"
        )
    numbers = []
    for n, token in enumerate(tokens, 1):
        value = token.get("logprob") if isinstance(token, dict) else token
        if value is None:
            choice.file.fail(
                choice.place,
                f"token {n} of '{key}' has no log-probability; is it the prompt's? ask for "
                f"answers without it (echo)",
            )
        numbers.append(choice.number(f"{key}, token {n}", value))
    return [sum(numbers), float(len(numbers))]
