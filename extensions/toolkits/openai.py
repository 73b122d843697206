"""Read answers of OpenAI's, vLLM's and other compatible services."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base import options
from portmert.tuner.base.columns import failure_of
from portmert.tuner.base.errors import counted, shown
from portmert.tuner.base.warn import warn
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._json import JsonReader
from portmert.tuner.nbest.records import Failed, Hypothesis, ListFile, Record

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
            if str(number).isdecimal() and file.names.in_references is None:
                yield from _by_request(file, [first, *records])
                return
        yield from js.identified(chain([first], records), keys, must_have_ids=bool(self.id))

    def records(self, file: ListFile) -> Iterator[Record]:
        """Yield the hypotheses of a whole file, and the requests that failed."""
        withheld: dict[str, list[str]] = {}
        keys = options.names(self.features, "+")
        for item, segment in self._requests(file):
            if reason := failure_of(item.content):
                yield Failed(item.place, segment, reason)
                continue
            answer = item
            if "response" in item.content:
                body = item.get("response.body")
                if not isinstance(body, dict):
                    item.wrong("response.body", body, "an answer (did it fail?)")
                answer = js.JsonObject(file, item.place, body)
            has_outputs = "outputs" in answer.content and "choices" not in answer.content
            key = "outputs" if has_outputs else "choices"
            if answer.get(key) == []:
                yield Failed(item.place, segment, js.no_answer(answer, key) or "")
                continue
            choices = [
                js.JsonObject(file, item.place, content)
                for content in answer.entries(key, dict, "a list of objects")
            ]
            reasons = [reason for choice in choices if (reason := _withheld(choice.content))]
            if reasons and (len(reasons) == len(choices) or not file.names.drop):
                yield Failed(item.place, segment, reasons[0])
                continue
            if reasons:
                withheld[segment] = reasons
            answers = [choice for choice in choices if not _withheld(choice.content)]
            for choice in sorted_by_index(answers):
                text = choice.text("text" if "text" in choice.content else "message.content")
                sums = _logprobs(choice)
                index = choice.content.get("index")
                yield Hypothesis(
                    item.place,
                    segment,
                    text,
                    choice.features(keys, sums),
                    sums["logprob"],
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
    value = str(item.get("id"))
    is_id = value.isdecimal() or value in (item.file.names.in_references or {})
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
    by_index: dict[float, js.JsonObject] = {}
    for choice in choices:
        index = choice.number("index")
        if index in by_index:
            choice.file.fail(choice.place, f"two choices have the index {index:g}")
        by_index[index] = choice
    return [by_index[index] for index in sorted(by_index)]


def _logprobs(choice: js.JsonObject) -> dict[str, float]:
    """Return the sum of the tokens' log-probabilities, and how many tokens there are."""
    if "cumulative_logprob" in choice.content:
        total, ids = choice.number("cumulative_logprob"), choice.get("token_ids")
        if not isinstance(ids, list):
            choice.wrong("token_ids", ids, "a list of tokens")
        return {"logprob": total, "tokens": float(len(ids))}
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        expected = "log-probabilities of tokens; ask the service for them (logprobs)"
        choice.wrong("logprobs", logprobs, expected)
    tokens, key = logprobs.get("content"), "logprobs.content"
    if tokens is None:
        tokens, key = logprobs.get("token_logprobs"), "logprobs.token_logprobs"
    if not isinstance(tokens, list):
        js.JsonObject(choice.file, choice.place, logprobs).wrong(
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
    return {"logprob": sum(numbers), "tokens": float(len(numbers))}
