"""Answers of services and of programs that ask models, read by paths to their texts."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base import options
from portmert.tuner.base.columns import failure_of
from portmert.tuner.base.errors import counted, shown
from portmert.tuner.base.warn import warn
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._json import JsonObject, JsonReader
from portmert.tuner.nbest.records import Failed, Hypothesis, ListFile, Record

LISTED, WHOLE = "answers of a list", ""
"""Paths to the answers of a record that is a list of them, and of one that is an answer."""
FILTERED = ("content_filter", "SAFETY", "RECITATION", "refusal")
"""Why an answer ended that the service held back."""
_ENDS = ("finish_reason", "finishReason", "stop_reason")
_REQUEST = "request_id"
"""vLLM's ids, which go on counting in a process."""
_LOGPROBS = (
    "logprobs.content", "logprobs.token_logprobs", "details.tokens", "tokens",
    "logprobsResult.chosenCandidates", "output.*.content.*.logprobs.*",
)  # fmt: skip
"""Where the tokens' log-probabilities are, numbers or objects with a number."""
_OF_TOKEN = ("logprob", "logProbability")


@dataclass(frozen=True)
class Answers(JsonReader):
    """Read answers, one or several a record: one record a line, or a JSON list of them.

    Parameters
    ----------
    id
        Key of the segment id. Default: the format's own, or another that is usual; without one the
        n-th record is segment n - 1.
    text
        Path to the text in an answer, if not the format's own. A number is a place in a list.
    features
        Keys of other scores in an answer, joined by `+`.
    """

    id: str = ""
    text: str = ""
    features: str = ""

    answers: ClassVar[tuple[str, ...]]
    """Paths to the answers of a record, of which the first that is there counts."""
    texts: ClassVar[tuple[str, ...]]
    """Paths to the text of an answer; `*` leads to parts of one text."""
    ids: ClassVar[tuple[str, ...]] = ("custom_id",)
    joined: ClassVar[tuple[str, ...]] = ("features",)
    first_rank: ClassVar[int | None] = 0

    def records(self, file: ListFile) -> Iterator[Record]:
        """Yield the hypotheses of a whole file, and the requests that failed."""
        withheld: dict[str, list[str]] = {}
        keys = options.names(self.features, "+")
        are_scored: bool | None = None
        for item, segment in self._requests(file):
            choices = [] if failure_of(item.content) else self.choices(item)
            reasons = [reason for choice in choices if (reason := self.withheld(choice))]
            if not choices or (reasons and (len(reasons) == len(choices) or not file.names.drop)):
                reason = reasons[0] if reasons else self.no_answer(item)
                yield Failed(item.place, segment, reason)
                continue
            if reasons:
                withheld[segment] = reasons
            answers = [choice for choice in choices if not self.withheld(choice)]
            for choice in sorted_by_index(answers):
                sums = _logprobs(choice)
                if are_scored is None:
                    are_scored = bool(sums)
                    file.remarks.extend([] if sums else ["no log-probabilities"])
                elif are_scored != bool(sums):
                    has = "has none, the first one has" if are_scored else "has, the first one not"
                    choice.file.fail(choice.place, f"log-probabilities: this answer {has}")
                index = choice.content.get("index")
                yield Hypothesis(
                    item.place,
                    segment,
                    self._text(choice),
                    choice.features(keys, sums) if keys else sums,
                    sums.get("logprob", 0.0),
                    record=choice.content,
                    rank=index if type(index) is int else None,
                )
        _warn_withheld(file, withheld)

    def _requests(self, file: ListFile) -> Iterator[tuple[JsonObject, str]]:
        """Yield each record and the id of its segment."""
        records = js.objects(file, list_key=LISTED if LISTED in self.answers else "")
        first = next(records, None)
        if first is None:  # an empty list
            return
        keys = [self.id] if self.id else [*self.ids, *_usual_ids(first[1])]
        if all(first[1].get(key) is None for key in keys) and not self.id:
            number = first[1].get(_REQUEST)
            if str(number).isdecimal() and file.names.in_references is None:
                yield from _by_request(file, [first, *records])
                return
        yield from js.identified(chain([first], records), keys, must_have_ids=bool(self.id))

    def choices(self, item: JsonObject) -> list[JsonObject]:
        """Return the answers of a record; none if it has an empty list."""
        values = ((path, item.get(path) if path else item.content) for path in self.answers)
        path, value = next((pair for pair in values if pair[1] is not None), ("", None))
        if value is None:
            item.wrong(self.answers[-1], None, "a list of objects")
        entries = value if isinstance(value, list) else [value]
        if not all(isinstance(entry, dict) for entry in entries):
            item.wrong(path, value, "a list of objects")
        return [JsonObject(item.file, item.place, entry) for entry in entries]

    def no_answer(self, item: JsonObject) -> str:
        """Return why a record has no answer."""
        empty = next((path for path in self.answers if item.get(path) == []), self.answers[-1])
        return failure_of(item.content) or js.no_answer(item, empty) or "no answer"

    def withheld(self, choice: JsonObject) -> str:
        """Return why an answer is none; nothing if it is one."""
        end = next((choice.get(key) for key in _ENDS if choice.get(key) in FILTERED), None)
        if end:
            return f"an answer ended by {end}"
        if self.text or choice.get(self._path(choice)) not in (None, []):
            return ""
        refusal = choice.get("message.refusal") or choice.get("output.*.content.*.refusal")
        text = refusal if isinstance(refusal, str) else " ".join(map(str, refusal or []))
        return f"the model refused: {shown(text)}" if text else "an answer without text"

    def _path(self, choice: JsonObject) -> str:
        """Return the path to the text of an answer."""
        return self.text or js.usual(choice, self.texts)

    def _text(self, choice: JsonObject) -> str:
        """Return the text of an answer, whose parts stand one after another."""
        path = self._path(choice)
        parts = choice.get(path)
        if "*" in path and isinstance(parts, list) and all(isinstance(x, str) for x in parts):
            return "".join(parts)
        return choice.text(path, f" ({self.name()}:text=KEY names another)")


def _warn_withheld(file: ListFile, reasons: Mapping[str, list[str]]) -> None:
    """Say how many hypotheses of each segment are left out, if any are."""
    if reasons:
        warn(
            f"{file.where}: {counted(sum(map(len, reasons.values())), 'hypothesis')} of "
            f"{counted(len(reasons), 'segment')} left out; the first is of "
            f"'{next(iter(reasons))}': {next(iter(reasons.values()))[0]}"
        )


def _usual_ids(item: JsonObject) -> list[str]:
    """Return the keys that may have ids; `id` is mostly a service's own."""
    value = str(item.get("id"))
    is_id = value.isdecimal() or value in (item.file.names.in_references or {})
    return [key for key in js.IDS if key != "id" or is_id]


def _by_request(
    file: ListFile, records: list[tuple[int, JsonObject]]
) -> Iterator[tuple[JsonObject, str]]:
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


def sorted_by_index(choices: list[JsonObject]) -> list[JsonObject]:
    """Return choices in the order of their numbers; without numbers as they stand."""
    if not any("index" in choice.content for choice in choices):
        return choices
    by_index: dict[float, JsonObject] = {}
    for choice in choices:
        index = choice.number("index")
        if index in by_index:
            choice.file.fail(choice.place, f"two choices have the index {index:g}")
        by_index[index] = choice
    return [by_index[index] for index in sorted(by_index)]


def _logprobs(choice: JsonObject) -> dict[str, float]:
    """Return the sum of the tokens' log-probabilities, and how many tokens there are; or nothing.

    A service gives none unless it is asked.
    """
    if choice.get("cumulative_logprob") is not None:
        total, ids = choice.number("cumulative_logprob"), choice.get("token_ids")
        if not isinstance(ids, list):
            choice.wrong("token_ids", ids, "a list of tokens")
        return {"logprob": total, "tokens": float(len(ids))}
    path = next((path for path in _LOGPROBS if choice.get(path) is not None), "")
    if "*" in path and not choice.get(path):
        return {}
    tokens = choice.get(path) if path else None
    if not isinstance(tokens, list):
        if path or isinstance(choice.get("logprobs"), dict):
            choice.wrong(path or _LOGPROBS[1], tokens, "a list, one entry a token")
        return {}
    numbers = []
    for n, token in enumerate(tokens, 1):
        is_object = isinstance(token, dict)
        value: Any = (
            next((token[k] for k in _OF_TOKEN if k in token), None) if is_object else token
        )
        if value is None:
            choice.file.fail(
                choice.place,
                f"token {n} of '{path}' has no log-probability; is it the prompt's? ask for "
                f"answers without it (echo)",
            )
        numbers.append(choice.number(f"{path}, token {n}", value))
    return {"logprob": sum(numbers), "tokens": float(len(numbers))}
