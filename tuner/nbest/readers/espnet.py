"""Read JSON of ESPnet's recognisers."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile
from portmert.tuner.nbest.readers._json import JsonReader

_END = "<eos>"


@dataclass(frozen=True)
class Espnet(JsonReader):
    """Read `{"utts": {"utt-1": {"output": [{"rec_text": "a b", "score": -1.5}, ...]}, ...}}`.

    This is the output of asr_recog.py of ESPnet 1. A final `<eos>` is removed. ESPnet 2 writes
    tables; use `kaldi` for them.

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
            js.wrong(file, 1, "utts", utterances, "an object of utterances", of=content)
        for name, utterance in utterances.items():
            if not isinstance(utterance, dict):
                js.wrong(file, "utts", name, utterance, "an object with its output")
            outputs = js.get_list(
                file, f"utts.{name}", utterance, "output", dict, "a list of objects"
            )
            for number, item in enumerate(outputs, 1):
                place = f"utts.{name}.output, hypothesis {number}"
                names, values = js.features(file, place, item, self.features)
                text = js.get_text(file, place, item, self.text)
                yield js.Hypothesis(place, name, text.strip().removesuffix(_END), names, values)
