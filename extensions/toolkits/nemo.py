"""Read manifests of NeMo with beams."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._json import JsonReader
from portmert.tuner.nbest.records import Failed, Hypothesis, ListFile, Record

_LACKING = "'beams' is missing, expected a list of hypotheses with scores"


@dataclass(frozen=True)
class Nemo(JsonReader):
    """Read a manifest, an utterance a line: `{..., "beams": [["a b", -1.5], ["b", -2.5]]}`.

    The feature is `score`. Beams of pyctcdecode that were saved as lists have the features
    `logit_score` and `lm_score`; those that were saved as objects are read by `jsonl`. For NeMo's
    tables of beams, with a hypothesis and its score on a line, use `flat:n=N,names=score`.

    Parameters
    ----------
    id
        Key of the utterance's id, for example `audio_filepath`. Default: `id`,
        `sentence_id`, `utt`, `utt_id`, `custom_id` and others that are usual; without these the
        n-th line is segment n - 1.
    """

    id: str = ""

    title: ClassVar[str] = "NeMo"
    example: ClassVar[tuple[str, ...]] = (
        "",
        '{"id": 0, "beams": [["a b", -1.5]]}\n',
        '{"id": 0, "beams": [["b", -1]]}\n',
        '{"id": 1, "beams": [["", -2]]}\n',
    )

    def records(self, file: ListFile) -> Iterator[Record]:
        """Yield the hypotheses of a whole file."""
        keys = [self.id] if self.id else list(js.IDS)
        for item, segment in js.identified(js.objects(file), keys, must_have_ids=bool(self.id)):
            reason = js.no_answer(item, "beams")
            if reason or "beams" not in item.content:
                yield Failed(item.place, segment, reason or _LACKING)
                continue
            for beam in item.entries("beams", list, "a list of hypotheses with scores"):
                content = js.as_object(beam)
                if content is None or len(content) == 1:
                    item.wrong("beams", beam, 'a text and a score, ["a b", -1.5]', inside=True)
                hypothesis = js.JsonObject(file, item.place, content)
                scores = {key: hypothesis.number(key) for key in content if key != "text"}
                last_score = [*scores.values()][-1]
                yield Hypothesis(item.place, segment, content["text"], scores, last_score)
