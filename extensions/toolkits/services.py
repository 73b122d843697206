"""Read answers of other services, and those that programs which evaluate models have collected."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.columns import failure_of
from portmert.tuner.nbest.readers._json import JsonObject
from portmert.tuner.nbest.records import ListFile

from ._answers import LISTED, WHOLE, Answers


def _example(record: str) -> tuple[str, ...]:
    """Return a list for tests of a record with `ID` and `TEXT` in it."""
    texts = (("0", "a b"), ("0", "b"), ("1", ""))
    return "", *(record.replace("ID", name).replace("TEXT", text) + "\n" for name, text in texts)


@dataclass(frozen=True)
class OpenaiResponses(Answers):
    """Read batches of OpenAI's Responses API, an answer a record.

    Parts of an answer are one text. Records of one id are answers to one request.
    """

    title: ClassVar[str] = "OpenAI Responses"
    answers: ClassVar[tuple[str, ...]] = ("response.body", "response", WHOLE)
    texts: ClassVar[tuple[str, ...]] = ("output.*.content.*.text",)
    example: ClassVar[tuple[str, ...]] = _example(
        '{"custom_id": "ID", "response": {"body": {"object": "response", "output": [{"content": '
        '[{"type": "output_text", "text": "TEXT"}]}]}}}'
    )


@dataclass(frozen=True)
class Anthropic(Answers):
    """Read messages of Anthropic's API, of a batch or one a record.

    Parts of a message are one text. Records of one id are answers to one request.
    """

    title: ClassVar[str] = "Anthropic"
    answers: ClassVar[tuple[str, ...]] = ("result.message", WHOLE)
    texts: ClassVar[tuple[str, ...]] = ("content.*.text",)
    example: ClassVar[tuple[str, ...]] = _example(
        '{"custom_id": "ID", "result": {"type": "succeeded", "message": {"type": "message", '
        '"content": [{"type": "text", "text": "TEXT"}]}}}'
    )

    def choices(self, item: JsonObject) -> list[JsonObject]:
        """Return the answer of a record in a list, which is empty if the request has none."""
        is_lacking = "result" in item.content and item.get("result.message") is None
        return [] if is_lacking else super().choices(item)

    def no_answer(self, item: JsonObject) -> str:
        """Return how a request ended that has no message."""
        return failure_of(item.content) or f"the request ended as '{item.get('result.type')}'"


@dataclass(frozen=True)
class Gemini(Answers):
    """Read answers of Google's Gemini with their `candidates`, of a batch or one a record.

    Parts of a candidate are one text.
    """

    title: ClassVar[str] = "Gemini"
    answers: ClassVar[tuple[str, ...]] = ("response.candidates", "candidates")
    texts: ClassVar[tuple[str, ...]] = ("content.parts.*.text",)
    ids: ClassVar[tuple[str, ...]] = ("key",)
    example: ClassVar[tuple[str, ...]] = _example(
        '{"key": "ID", "response": {"candidates": [{"content": {"parts": [{"text": "TEXT"}]}}]}}'
    )


@dataclass(frozen=True)
class Tgi(Answers):
    """Read answers of Hugging Face's text-generation-inference and of its pipelines.

    An answer has a `generated_text`; with `details` of its tokens it has log-probabilities, and
    other answers in `best_of_sequences`. A record that is a list has an answer in each entry.
    """

    title: ClassVar[str] = "text-generation-inference"
    answers: ClassVar[tuple[str, ...]] = (LISTED, WHOLE)
    texts: ClassVar[tuple[str, ...]] = ("generated_text",)
    example: ClassVar[tuple[str, ...]] = _example('{"id": ID, "generated_text": "TEXT"}')

    def choices(self, item: JsonObject) -> list[JsonObject]:
        """Return the answers of a record, and the others of each."""
        answers = super().choices(item)
        for choice in tuple(answers):
            if choice.get("details.best_of_sequences") is not None:
                others = choice.entries("details.best_of_sequences", dict, "a list of objects")
                answers += [JsonObject(item.file, item.place, other) for other in others]
        return answers


@dataclass(frozen=True)
class LmEvaluation(Answers):
    """Read samples of lm-evaluation-harness: a document a record, with all answers to it.

    Parameters
    ----------
    text
        Path to the answers: `resps`, or `filtered_resps` for what a filter made of them.
    filter
        The filter whose samples are read. Default: the filter of the first record.
    """

    text: str = "resps"
    filter: str = ""

    title: ClassVar[str] = "lm-evaluation-harness"
    answers: ClassVar[tuple[str, ...]] = ("resps", "filtered_resps")
    texts: ClassVar[tuple[str, ...]] = answers
    ids: ClassVar[tuple[str, ...]] = ("doc_id",)
    example: ClassVar[tuple[str, ...]] = _example('{"doc_id": ID, "resps": [["TEXT"]]}')

    def _requests(self, file: ListFile) -> Iterator[tuple[JsonObject, str]]:
        """Yield the samples of one filter."""
        name, others = self.filter, set()
        for item, segment in super()._requests(file):
            filter_name = str(item.content.get("filter", ""))
            name = name or filter_name
            if filter_name == name:
                yield item, segment
            others.add(filter_name)
        if len(others) > 1:
            file.remarks.append(f"filter {name}, not {', '.join(sorted(others - {name}))}")

    def choices(self, item: JsonObject) -> list[JsonObject]:
        """Return the answers of a record, one after another from all its lists."""
        texts = list(_flat(item.get(self.text)))
        if not all(isinstance(text, str) for text in texts):
            item.wrong(self.text, item.get(self.text), "answers (log-likelihoods are no texts)")
        return [JsonObject(item.file, item.place, {self.text: text}) for text in texts]


def _flat(value: Any) -> Iterator[Any]:
    """Yield what lists inside of lists hold."""
    if isinstance(value, list):
        for entry in value:
            yield from _flat(entry)
    else:
        yield value


@dataclass(frozen=True)
class MtBench(Answers):
    """Read answers to MT-Bench: `choices` with the texts of all `turns`.

    Parameters
    ----------
    text
        Path to the text: of several turns name one, `turns.0` or `turns.1`.
    """

    text: str = "turns"

    title: ClassVar[str] = "MT-Bench"
    answers: ClassVar[tuple[str, ...]] = ("choices",)
    texts: ClassVar[tuple[str, ...]] = ("turns",)
    ids: ClassVar[tuple[str, ...]] = ("question_id",)
    example: ClassVar[tuple[str, ...]] = _example(
        '{"question_id": ID, "choices": [{"turns": ["TEXT"]}]}'
    )

    def _text(self, choice: JsonObject) -> str:
        """Return the text of a turn."""
        turns = choice.get(self.text)
        if isinstance(turns, list) and len(turns) == 1:
            return choice.text(f"{self.text}.0")
        if isinstance(turns, list):
            choice.wrong(self.text, turns, "one text; name the turn: mt-bench:text=turns.0")
        return super()._text(choice)


@dataclass(frozen=True)
class AlpacaEval(Answers):
    """Read outputs of AlpacaEval: `{"instruction": ..., "output": ..., "generator": ...}`.

    The instruction is the id.
    """

    title: ClassVar[str] = "AlpacaEval"
    answers: ClassVar[tuple[str, ...]] = (WHOLE,)
    texts: ClassVar[tuple[str, ...]] = ("output",)
    ids: ClassVar[tuple[str, ...]] = ("instruction",)
    example: ClassVar[tuple[str, ...]] = _example(
        '{"instruction": "ID", "output": "TEXT", "generator": "model"}'
    )
