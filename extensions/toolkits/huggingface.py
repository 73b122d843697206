"""Read results of `generate` of Hugging Face's transformers, its sequences decoded."""

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.base import options
from portmert.tuner.base.compressed import FREE, RATIO
from portmert.tuner.base.errors import InputError, counted, shown
from portmert.tuner.nbest.feature_files import OF_ARRAYS
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._json import JsonReader
from portmert.tuner.nbest.records import Failed, Hypothesis, ListFile, Record

_SCORES = "sequences_scores"
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Huggingface(JsonReader):
    """Read `{"sequences": [...], "sequences_scores": [...]}`: a line, or an .npz of arrays.

    Results of CTranslate2's generators and of faster-whisper, with `scores`, are read too.
    Sequences are texts, as `batch_decode` returns them. A line is a segment; if its values are
    lists of lists, each inner list is one. An .npz has a row for each segment, or all sequences in
    one row (then give `n`).

    Parameters
    ----------
    n
        `num_return_sequences`: cut one long list into segments of this many hypotheses.
    id
        Key of the segment id of a line. Default: `id` or another that is usual; without one
        segments are numbered from 0.
    text
        Key of the texts.
    features
        Keys of the scores, one number for each text, joined by `+`.
    """

    n: Annotated[int, Ge(1)] | None = None
    id: str = ""
    text: str = "sequences"
    features: str = _SCORES

    joined: ClassVar[tuple[str, ...]] = ("features",)
    title: ClassVar[str] = "Hugging Face"
    example: ClassVar[tuple[str, ...]] = (
        "",
        '{"id": 0, "sequences": ["a b"], "sequences_scores": [-1.5]}\n',
        '{"id": 0, "sequences": ["b"], "sequences_scores": [-1]}\n',
        '{"id": 1, "sequences": [""], "sequences_scores": [-2]}\n',
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the first lines are JSON with sequences, or the file is an archive of arrays."""
        return head[0].startswith(_ZIP.decode()) or super().recognises(head)

    def records(self, file: ListFile) -> Iterator[Record]:
        """Yield the hypotheses of a whole file."""
        segment, id_key, names_ids = 0, "", False
        for item in self._items(file):
            if reason := js.no_answer(item, self.text):
                key, default = self.id or js.usual(item, js.IDS), None if self.id else segment
                yield Failed(item.place, item.segment(key, default), reason)
                segment += 1
                continue
            if self.features == _SCORES and _SCORES not in item.content:
                item = _of_ctranslate2(item)  # noqa: PLW2901
            keys = [self.text, *options.names(self.features, "+")]
            if len(set(keys)) < len(keys):
                file.fail_of_names(max(keys, key=keys.count))
            columns = [self._segments(item, key) for key in keys]
            texts = [[_decoded(item, text) for text in row] for row in columns[0]]
            sizes = [[len(row) for row in column] for column in columns]
            for key, size in zip(keys, sizes, strict=True):
                if size != sizes[0]:
                    file.fail(
                        item.place,
                        f"'{key}' has {counted(sum(size), 'entry')} in "
                        f"{counted(len(size), 'segment')}, '{self.text}' has {sum(sizes[0])} in "
                        f"{len(sizes[0])}",
                    )
            id_key = id_key or self.id or js.usual(item, js.IDS)
            has_id = item.get(id_key) is not None
            if len(sizes[0]) > 1 and has_id:
                message = f"{counted(len(sizes[0]), 'segment')}, but '{id_key}' names one"
                file.fail(item.place, message)
            for rows in zip(texts, *columns[1:], strict=True):
                name = item.segment(id_key, None if self.id or names_ids else segment)
                for text, *numbers in zip(*rows, strict=True):
                    scores = zip(keys[1:], numbers, strict=True)
                    features = {key: item.number(key, number) for key, number in scores}
                    yield Hypothesis(item.place, name, text, features)
                segment, names_ids = segment + 1, has_id

    def _items(self, file: ListFile) -> Iterator[js.JsonObject]:
        if file.data.startswith(_ZIP):
            yield js.JsonObject(
                file, 1, _arrays(file, {self.text, *options.names(self.features, "+")})
            )
        else:
            yield from (item for _, item in js.objects(file))

    def _segments(self, item: js.JsonObject, key: str) -> list[list[Any]]:
        """Return a list for each segment."""
        entries = item.entries(key, object, "a list, an entry a hypothesis")
        if all(isinstance(row, list) for row in entries):
            if key == self.text and all(isinstance(x, int) for row in entries for x in row):
                _decoded(item, entries[0])
            if not all(entries):
                item.file.fail(item.place, f"'{key}' has a segment without hypotheses")
            return entries
        n = self.n or len(entries)
        if len(entries) % n:
            message = f"'{key}' has {counted(len(entries), 'entry')}, no multiple of n={n}"
            item.file.fail(item.place, message)
        return [entries[k : k + n] for k in range(0, len(entries), n)]


def _of_ctranslate2(item: js.JsonObject) -> js.JsonObject:
    """Return a result of CTranslate2 (a generator, Whisper) with the key of its scores."""
    sequences, scores = item.get("sequences"), item.get("scores")
    if not isinstance(sequences, list) or not isinstance(scores, list):
        return item
    texts = [
        " ".join(tokens)
        if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
        else tokens
        for tokens in sequences
    ]
    content = {**item.content, "sequences": texts, _SCORES: scores}
    return js.JsonObject(item.file, item.place, content)


def _decoded(item: js.JsonObject, text: object) -> str:
    if not isinstance(text, str):
        item.file.fail(
            item.place,
            f"the sequences are no texts ({shown(str(text))}); save them decoded: "
            f"tokenizer.batch_decode(sequences, skip_special_tokens=True)",
        )
    return text


def _arrays(file: ListFile, keys: set[str]) -> dict[str, Any]:
    """Return the arrays of an .npz as lists."""
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as zipped:
            expanded = sum(info.file_size for info in zipped.infolist())
        if expanded > max(RATIO * len(file.data), FREE):
            file.fail("archive", f"{expanded} bytes of arrays, more than {RATIO} times the file")
        with (
            warnings.catch_warnings(action="ignore"),  # of how old a file is
            np.load(io.BytesIO(file.data), allow_pickle=False) as archive,
        ):
            arrays = {key: archive[key] for key in archive.files if key in keys}
        for key, array in arrays.items():
            rows = max(array.shape, default=0)
            if array.nbytes == 0 and rows > FREE // 64:  # each would be an object of Python
                file.fail("archive", f"'{key}' has {rows} empty rows, expected texts or numbers")
            if array.dtype.kind == "U":  # numpy lets any 32 bits pass for a character
                "".join(array.ravel().tolist()).encode().decode()
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"{file.where}: its arrays do not fit into memory") from None
    except Exception:  # noqa: BLE001  the parsers of a damaged archive raise anything
        raise InputError(f"{file.where}: not what numpy.savez writes{OF_ARRAYS}") from None
    for key, array in arrays.items():
        if array.dtype.kind not in "Ubiuf":
            raise InputError(
                f"{file.where}: '{key}' is an array of {array.dtype}, expected texts or numbers"
            )
    return {
        key: (array.astype(np.float64) if array.dtype.kind == "f" else array).tolist()
        for key, array in arrays.items()
    }
