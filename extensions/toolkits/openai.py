"""Read answers of OpenAI's, vLLM's and other compatible services."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from ._answers import Answers


@dataclass(frozen=True)
class Openai(Answers):
    """Read answers with `choices`, of completions or chats: one per line, a batch, or a JSON list.

    vLLM's `outputs` with their `cumulative_logprob` are read too. The features are `logprob`, the
    sum over the tokens, and `tokens`, their number, if the service gave log-probabilities. Choices
    are ordered by their `index`. An answer that ended by `content_filter` is none.

    Parameters
    ----------
    id
        Key of the segment id. Default: `custom_id` of a batch, or another that is usual, or vLLM's
        `request_id` if it is a number, of which the lowest is the first segment. Without one the
        n-th line is segment n - 1.
    text
        Path to the text in a choice. Default: `text` or `message.content`.
    features
        Keys of other scores in a choice, joined by `+`.
    """

    title: ClassVar[str] = "OpenAI-compatible"
    answers: ClassVar[tuple[str, ...]] = ("response.body.choices", "outputs", "choices")
    texts: ClassVar[tuple[str, ...]] = ("message.content", "text")
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
