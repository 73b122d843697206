"""Read JSON of ESPnet's recognisers."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile
from portmert.tuner.nbest.readers._json import JsonObject, JsonReader

_END = "<eos>"


@dataclass(frozen=True)
class Espnet(JsonReader):
    """Read `{"utts": {"utt-1": {"output": [{"rec_text": "a b", "score": -1.5}, ...]}, ...}}`.

    This is the output of asr_recog.py of ESPnet 1. A final `<eos>` is removed. ESPnet 2 writes
    folders of tables: `espnet2`.

    Parameters
    ----------
    text
        Key of the hypothesis, `rec_text` or `rec_token`.
    features
        Keys of the scores, joined by `+`.
    """

    text: str = "rec_text"
    features: str = "score"

    title: ClassVar[str] = "ESPnet"
    example: ClassVar[tuple[str, ...]] = (
        '{"utts": {"0": {"output": [\n',
        '{"rec_text": "a b<eos>", "score": -1.5},\n',
        '{"rec_text": "b<eos>", "score": -1}]},\n',
        '"1": {"output": [{"rec_text": "", "score": -2}]}}}\n',
    )

    def found(self, file: ListFile) -> Iterator[js.Hypothesis]:
        """Yield the hypotheses of a whole file."""
        content = js.document(file)
        utterances = content.get("utts")
        if not isinstance(utterances, dict):
            content.wrong("utts", utterances, "an object of utterances")
        for name, found in utterances.items():
            if not isinstance(found, dict):
                at = JsonObject(file, "utts", utterances)
                at.wrong(name, found, "an object with its output", inside=True)
            utterance = JsonObject(file, f"utts.{name}", found)
            outputs = utterance.entries("output", dict, "a list of objects")
            for number, output in enumerate(outputs, 1):
                item = JsonObject(file, f"{utterance.place}.output, hypothesis {number}", output)
                names, values = item.features(self.features)
                text = item.text(self.text).strip().removesuffix(_END)
                yield js.Hypothesis(item.place, name, text, names, values)
