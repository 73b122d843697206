"""Read answers of OpenAI's, vLLM's and other compatible services."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile, Place
from portmert.tuner.nbest.readers._json import JsonReader

_ID = "custom_id"


@dataclass(frozen=True)
class Openai(JsonReader):
    """Read answers with `choices`, of completions or chats: one a line, a batch, or a JSON list.

    vLLM's `outputs` with their `cumulative_logprob` are read too. The features are `logprob`, the
    sum over the tokens, and `tokens`, their number. Ask the service for log-probabilities. Choices
    are ordered by their `index`.

    Parameters
    ----------
    id
        Key of the segment id in a batch. Default: `custom_id`; without it the n-th line is segment
        n - 1.
    features
        Keys of other scores in a choice, joined by `+`.
    """

    id: str = _ID
    features: str = ""

    title: ClassVar[str] = "OpenAI-compatible"
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

    def found(self, file: ListFile) -> Iterator[js.Hypothesis]:
        """Yield the hypotheses of a whole file."""
        for place, number, content in js.objects(file):
            counted = number - 1 if self.id == _ID else None
            segment = js.segment_id(file, place, content, self.id, counted)
            answer = content
            if "response" in content:
                answer = js.get(content, "response.body")
                if not isinstance(answer, dict):
                    expected = "an answer (did it fail?)"
                    js.wrong(file, place, "response.body", answer, expected, of=content)
            key = "outputs" if "choices" not in answer and "outputs" in answer else "choices"
            items = js.get_list(file, place, answer, key, dict, "a list of objects")
            for choice in sorted_by_index(file, place, items):
                yield self._choice(file, place, segment, choice)

    def _choice(
        self, file: ListFile, place: Place, segment: str, choice: dict[str, Any]
    ) -> js.Hypothesis:
        key = "text" if "text" in choice else "message.content"
        text = js.get_text(file, place, choice, key)
        names, values = js.features(file, place, choice, self.features)
        counted = (("logprob", 1), ("tokens", 1))
        sums = _logprobs(file, place, choice)
        found = (place, segment, text, (*counted, *names), [*sums, *values], sums[0])
        return js.Hypothesis(*found, record=choice)


def sorted_by_index(
    file: ListFile, place: Place, choices: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return choices in the order of their numbers; without numbers as they stand."""
    if not any("index" in choice for choice in choices):
        return choices
    known: dict[float, dict[str, Any]] = {}
    for choice in choices:
        index = js.number(file, place, "index", choice.get("index"), of=choice)
        if index in known:
            file.fail(place, f"two choices have the index {index:g}")
        known[index] = choice
    return [known[index] for index in sorted(known)]


def _logprobs(file: ListFile, place: Place, choice: dict[str, Any]) -> list[float]:
    """Return the sum of the tokens' log-probabilities, and how many tokens there are."""
    if "cumulative_logprob" in choice:
        total = js.number(
            file, place, "cumulative_logprob", choice["cumulative_logprob"], of=choice
        )
        ids = choice.get("token_ids")
        if not isinstance(ids, list):
            js.wrong(file, place, "token_ids", ids, "a list of tokens", of=choice)
        return [total, float(len(ids))]
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        expected = "log-probabilities of tokens; ask the service for them (logprobs)"
        js.wrong(file, place, "logprobs", given, expected, of=choice)
    tokens, key = given.get("content"), "logprobs.content"
    if tokens is None:
        tokens, key = given.get("token_logprobs"), "logprobs.token_logprobs"
    if not isinstance(tokens, list):
        js.wrong(file, place, key, tokens, "a list, one entry a token", of=given)
    numbers = []
    for n, token in enumerate(tokens, 1):
        value = token.get("logprob") if isinstance(token, dict) else token
        if value is None:
            file.fail(
                place,
                f"token {n} of '{key}' has no log-probability; is it the prompt's? ask for "
                f"answers without it (echo)",
            )
        numbers.append(js.number(file, place, f"{key}, token {n}", value))
    return [sum(numbers), float(len(numbers))]
