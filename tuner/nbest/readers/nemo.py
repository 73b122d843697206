"""Read manifests of NeMo with beams."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile
from portmert.tuner.nbest.readers._json import JsonReader

_ID = "id"


@dataclass(frozen=True)
class Nemo(JsonReader):
    """Read a manifest, an utterance a line: `{..., "beams": [["a b", -1.5], ["b", -2.5]]}`.

    The feature is `score`. For NeMo's tables of beams, with a hypothesis and its score on a line,
    use `flat:n=N,names=score`.

    Parameters
    ----------
    id
        Key of the utterance's id, for example `audio_filepath`. Default: `id`; without it the n-th
        line is segment n - 1.
    """

    id: str = _ID

    title: ClassVar[str] = "NeMo"
    example: ClassVar[tuple[str, ...]] = (
        "",
        '{"id": 0, "beams": [["a b", -1.5]]}\n',
        '{"id": 0, "beams": [["b", -1]]}\n',
        '{"id": 1, "beams": [["", -2]]}\n',
    )

    def found(self, file: ListFile) -> Iterator[js.Hypothesis]:
        """Yield the hypotheses of a whole file."""
        for number, item in js.objects(file):
            segment = item.segment(self.id, number - 1 if self.id == _ID else None)
            for beam in item.entries("beams", list, "a list of hypotheses with scores"):
                if len(beam) != 2 or not isinstance(beam[0], str):
                    item.wrong("beams", beam, 'a text and a score, ["a b", -1.5]')
                score = item.number("score", beam[1])
                yield js.Hypothesis(item.place, segment, beam[0], (("score", 1),), [score], score)
