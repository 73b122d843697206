"""Read lists of JSON lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, starmap
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from ...base import options
from ...base.columns import INDEX_KEYS
from ...base.errors import InputError, counted
from ...base.numbers import LARGEST
from ..records import Columns, Failed, Hypothesis, ListFile, Place, Record, in_blocks
from . import _json as js
from ._base import rank_in
from ._json import JsonReader

LISTS = ("hypotheses", "translations", "beams", "nbest")
TEXTS = ("text", "hypothesis", "translation", "tokens")
FEATURES = (("features",), ("scores",), js.CTC_SCORES, ("score",))
"""The keys that are taken where no other is named: the first that are there."""
_WRITERS = {
    "alternatives": "Vosk's; give --nbest-format "
    "jsonl:hypotheses=alternatives,features=confidence",
    "NBest": "Azure's; give --nbest-format "
    "jsonl:hypotheses=NBest,text=Lexical,features=Confidence",
    "results": "those of a speech service (Google, AWS); write the alternatives of each utterance "
    'as `{"id": "u1", "hypotheses": [{"text": "a b", "score": 0.9}]}`',
    "segments": "Whisper's, with one hypothesis each; save several with their scores as "
    '`{"id": "u1", "hypotheses": [{"text": "a b", "score": -0.5}]}`',
    "pred_text": "a manifest of NeMo without beams; save them (return_best_hypothesis=false)",
}
"""Whose records without hypotheses have these keys, and what to do."""
_OF_KEY = " (or name its key: --nbest-format jsonl:{}=KEY)"
_EITHER = "sentence_id"
"""The key whose ids may count from 1; Sockeye's do."""


@dataclass(frozen=True)
class Jsonl(JsonReader):
    """Read a JSON object per line: a hypothesis, or a segment with the list of its hypotheses.

    Hypotheses in a list are objects, texts, lists of tokens, or texts with scores; a line may be
    such a list alone. An entry with a blank is no token, so lists of such entries are lists of
    hypotheses. A hypothesis may tell its number (`index`, `choice`, `rank`, `n` or
    `candidate`); hypotheses then stand in this order. Scores of texts are in a list of their own
    beside them, an entry a hypothesis, as Sockeye and CTranslate2 write them. A dot leads to a key
    of an inner object, `meta.score`, or to a place in a list, `choices.0.text`, or to all, `*`.

    Parameters
    ----------
    id
        Key of the segment id: a number from 0, or a name. If each line is a segment, it may be
        missing; the n-th line is then segment n - 1. Default: `id`, `sentence_id`, `utt`,
        `utt_id`, `custom_id` or another that is usual.
    hypotheses
        If each line is a segment: key of its list of hypotheses. Default: `hypotheses`,
        `translations`, `beams` or `nbest`.
    text
        Key of the hypothesis. Default: `text`, `hypothesis`, `translation` or `tokens`.
    features
        Key of the scores: a number, or an object of names and numbers (or lists of numbers).
        Several keys are joined by `+`, and the numbers that a path with `*` leads to are added:
        `segments.*.avg_logprob`. Default: `features`, `scores`, `logit_score+lm_score` or
        `score`; all may be missing, as features can be added otherwise.
    score
        Key of the model's own score, which is not a feature; it may be missing.
    links
        Key of the word alignment, `"0-0 1-1"` or `[[0, 0], [1, 1]]`; it may be missing.
    first_id
        What ids that are numbers count from, 0 or 1. Default: 0; of a `sentence_id` 1 if it is
        Sockeye's or the highest is the number of segments, unless there is a 0.
    """

    id: str = ""
    hypotheses: str = ""
    text: str = ""
    features: str = ""
    score: str = "model_score"
    links: str = "links"
    first_id: Annotated[int, Ge(0), Le(1)] | None = None

    joined: ClassVar[tuple[str, ...]] = ("features",)
    title: ClassVar[str] = "JSON lines"
    example: ClassVar[tuple[str, ...]] = (
        "",
        '{"id": 0, "text": "a b", "features": {"LM": -1.5}}\n',
        '{"id": 0, "text": "b", "features": {"LM": -1}}\n',
        '{"id": 1, "text": "", "features": {"LM": -2}}\n',
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the lines are objects or lists of JSON, and none is of another format."""
        objects = all(line.startswith("{") and line.rstrip().endswith("}") for line in head)
        lists = head[0].startswith(('["', "[[", "[{")) or head[0].strip() == "["
        return (objects or lists) and js.dialect(head) is None

    def records(self, file: ListFile) -> Iterator[Record]:
        """Yield the hypotheses of a whole file, and the requests that failed."""
        for block in self.columns(file):
            if isinstance(block, Failed):
                yield block
            else:
                yield from starmap(Hypothesis, zip(*block, strict=True))

    def columns(self, file: ListFile) -> Iterator[Columns | Failed]:
        """Yield the hypotheses of a whole file in blocks, and the requests that failed."""
        id_key = ""
        alike: dict[tuple[str, ...], _Roles] = {}  # of objects with one hypothesis, by their keys
        for numbered in in_blocks(js.objects(file, list_key=self.hypotheses or LISTS[0])):
            records = [record for _, record in numbered]
            roles = alike.get(tuple(records[0].content))
            if roles and (block := _columns(records, roles, id_key=id_key)):
                yield block
                continue
            for number, record in numbered:
                list_key = self.hypotheses or self._list_key(record)
                whole = _with_lists(record, list_key, self._features)
                is_list = whole.get(list_key) is not None
                key = id_key or self.id or js.usual(whole, js.IDS)
                reason = self._failure(whole, list_key, is_list=is_list)
                by_place = (is_list or reason) and not id_key and not self.id
                place = number - 1 if by_place else None
                segment = whole.segment(key, place, _OF_KEY.format("id"))
                if number == 1 and whole.get(key) is not None:
                    id_key = key
                if reason:
                    yield Failed(whole.place, segment, reason)
                elif is_list:
                    yield from self._listed(self._items(whole, list_key), segment)
                else:
                    yield from self._listed([whole], segment)
                    if id_key and whole is record and self._is_told_by(tuple(whole.content)):
                        alike[tuple(whole.content)] = self._roles(whole)
            rest = (
                () if file.objects is None or numbered[0][0] > 1 else file.objects[len(records) :]
            )
            if rest and (roles := alike.get(tuple(rest[0]))):
                places = range(len(records) + 1, len(file.objects or ()) + 1)
                if block := _plain_columns(rest, places, roles, id_key=id_key):
                    yield block
                    return

    def _failure(self, whole: js.JsonObject, list_key: str, *, is_list: bool) -> str | None:
        """Return why a record has no hypothesis; None if it has one, or another fault."""
        has_text = is_list or whole.get(self.text or js.usual(whole, TEXTS)) is not None
        has_text = has_text and whole.get(list_key) != []
        reason = None if has_text else js.no_answer(whole, list_key)
        has_id = whole.get(self.id or js.usual(whole, js.IDS)) is not None
        if not (is_list or reason or (has_text and has_id)):
            _check_writer(whole)
        return reason

    def _listed(self, items: Sequence[js.JsonObject], segment: str) -> Iterator[Columns]:
        """Yield the hypotheses of a segment."""
        block = _columns(items, self._roles(items[0]), segment=segment)
        if block:
            yield block
        else:
            for item in items:
                yield from self._listed([item], segment)

    def id_base(self, file: ListFile, ids: Collection[str]) -> int:
        """Return the first of the ids of a whole file, where they are numbers."""
        if self.first_id is not None:
            return self.first_id
        _, first = next(js.objects(file, list_key=self.hypotheses or LISTS[0]))
        key, names = self.id or js.usual(first, js.IDS), file.names
        known_ids = names.in_references
        by_name = known_ids is not None and (names.strict or set(ids) <= set(known_ids))
        if key != _EITHER or by_name or not all(name.isdecimal() for name in ids):
            return 0
        numbers = {int(name) for name in ids}
        if 0 in numbers:
            return 0
        is_sockeye = not {"translation", "translations"}.isdisjoint(first.content)
        if is_sockeye or (file.segments or len(numbers)) in numbers:
            return 1
        raise InputError(
            f"{file.where}: '{key}' is {min(numbers)}..{max(numbers)}, which may count from 0 or "
            f"from 1; give --nbest-format jsonl:first_id=0 or jsonl:first_id=1"
        )

    @property
    def _features(self) -> list[str]:
        """The keys of the scores; none: the usual ones."""
        return options.names(self.features, "+")

    def _roles(self, item: js.JsonObject) -> _Roles:
        """Return which keys of an object of a hypothesis hold what."""
        text, features = self.text or js.usual(item, TEXTS), self._features
        others = {self.id, text, self.score, *features}
        used = self._features or _usual_features(item)
        if not self._features:
            _say_unused(item, used, {*others, *INDEX_KEYS, *js.IDS})
        return _Roles(
            text,
            used,
            self.score if item.get(self.score) is not None else "",
            self.links if item.get(self.links) is not None else "",
            [key for key in INDEX_KEYS if key in item.content and key not in others],
        )

    def _is_told_by(self, keys: Sequence[str]) -> bool:
        """Whether objects of these keys, none of null, have one hypothesis each, in one form."""
        options = self.id, self.hypotheses, self.text, self.features, self.score, self.links
        return {*LISTS, self.hypotheses}.isdisjoint(keys) and "." not in "".join(options)

    def _list_key(self, whole: js.JsonObject) -> str:
        """Return the key of the list of hypotheses; one that is not there if there is no list."""
        if _EITHER in whole.content and "translation" in whole.content:
            return "translations"
        return next((key for key in LISTS if isinstance(whole.get(key), list)), LISTS[0])

    def _items(self, whole: js.JsonObject, key: str) -> list[js.JsonObject]:
        """Return the hypotheses of a segment as objects, each with its entries of other lists."""
        contents: list[dict[str, Any]] = []
        hypotheses = whole.entries(key, object, _EXPECTED)
        lists = [
            x for x in hypotheses if isinstance(x, list) and all(isinstance(t, str) for t in x)
        ]
        if len(lists) == len(hypotheses) and not all(map(js.are_tokens, lists)):
            hypotheses = list(chain(*lists))  # lists of texts
        for hypothesis in hypotheses:
            content = js.as_object(hypothesis)
            if content is None:
                whole.wrong(key, hypothesis, _EXPECTED, inside=True)
            contents.append(content)
        if not isinstance(hypotheses[0], dict):
            keys = (*(self._features or _usual_features(whole)), self.score, self.links)
            for column_key in filter(None, keys):
                column = _column(whole, column_key, len(hypotheses), list_key=key)
                for k, entry in enumerate(column):
                    contents[k] = {**contents[k], column_key: entry}
        return [js.JsonObject(whole.file, whole.place, content) for content in contents]


def _say_unused(item: js.JsonObject, used: Sequence[str], others: set[str]) -> None:
    """Remark numbers beside the scores that are taken, once."""
    numbers = [key for key, value in item.content.items() if type(value) in (int, float)]
    unused = [key for key in numbers if key not in {*used, *others}]
    keys = "+".join([*used, *unused])
    line = f"not used: {', '.join(unused)} (--nbest-format jsonl:features={keys})"
    if unused and line not in item.file.remarks:
        item.file.remarks.append(line)


class _Roles(NamedTuple):
    """Keys of an object: of the text, the scores, the model's own score, the links, the rank.

    An empty key is none.
    """

    text: str
    features: Sequence[str]
    score: str
    links: str
    ranks: Sequence[str]


def _columns(
    items: Sequence[js.JsonObject], roles: _Roles, *, id_key: str = "", segment: str = ""
) -> Columns | None:
    """Return hypotheses with ids, or those of a segment; None if they must be read one by one.

    Parameters
    ----------
    roles
        Those of the first of them.
    """
    contents, n = [item.content for item in items], len(items)
    places = [item.place for item in items]
    if n > 1 and (
        plain := _plain_columns(contents, places, roles, id_key=id_key, segment=segment)
    ):
        return plain
    if n > 1 and (len(set(map(tuple, contents))) > 1 or any(None in c.values() for c in contents)):
        return None
    try:
        return Columns(
            places,
            [item.segment(id_key, None) for item in items] if id_key else [segment] * n,
            # The first hypothesis of a list gives the features their order.
            features=[
                item.features(roles.features, in_order=not k) for k, item in enumerate(items)
            ],
            texts=[_text(item, roles.text) for item in items],
            scores=[item.number(roles.score) for item in items] if roles.score else [0.0] * n,
            links=[_links(item, roles.links) for item in items] if roles.links else [None] * n,
            records=contents,
            ranks=[rank_in(c, roles.ranks) for c in contents] if roles.ranks else [None] * n,
        )
    except InputError:
        if n == 1:
            raise
        return None  # those before a fault come first: they may have one too


def _plain_columns(
    contents: Sequence[dict[str, Any]],
    places: Sequence[Place],
    roles: _Roles,
    *,
    id_key: str = "",
    segment: str = "",
) -> Columns | None:
    """Return what `_columns` returns if all ids, texts and numbers are plain, else None."""
    n, keys = len(contents), roles.features
    used = {roles.text, *keys, *roles.ranks, *filter(None, (roles.score, id_key))}
    if len(set(map(tuple, contents))) > 1 or len(roles.ranks) > 1 or roles.links:
        return None
    if not used <= contents[0].keys():
        return None
    segments: list[Any] = [content[id_key] for content in contents] if id_key else [segment] * n
    texts = [content[roles.text] for content in contents]
    scores = [content[roles.score] for content in contents] if roles.score else [0.0] * n
    ranks = [content[key] for content in contents for key in roles.ranks]
    numbers = np.abs(scores) <= LARGEST if {int, float} >= set(map(type, scores)) else np.False_
    if {int} == set(map(type, segments)) and min(segments) >= 0:
        segments = list(map(str, segments))
    if {str} != {*map(type, segments), *map(type, texts)} or not numbers.all():
        return None
    if {int} != {int, *map(type, ranks)} or min(ranks, default=0) < 0:
        return None
    features: list[Any] = [content[keys[0]] for content in contents] if len(keys) == 1 else []
    if {dict} == set(map(type, features)):
        features[0] = dict(sorted(features[0].items()))
    elif any(isinstance(content[key], dict) for content in contents for key in keys):
        return None
    else:
        features = [{key: content[key] for key in keys} for content in contents]
    none = [None] * n
    return Columns(places, segments, texts, features, scores, none, contents, ranks or none)


def _text(item: js.JsonObject, key: str) -> str | None:
    """Return the text of a hypothesis; None where it may be missing, and is."""
    may_lack = item.file.names.drop and item.get(key) is None
    return None if may_lack else item.text(key, _OF_KEY.format("text"))


def _links(item: js.JsonObject, key: str) -> list[tuple[int, int]]:
    links = item.get(key)
    if isinstance(links, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
        for pair in links
    ):
        links = " ".join(f"{i}-{j}" for i, j in links)
    if not isinstance(links, str):
        item.wrong(key, links, '"0-0 1-1" or [[0, 0], [1, 1]]')
    return item.file.links(item.place, links)


_EXPECTED = "a list of hypotheses: objects, texts, or lists of tokens"


def _check_writer(record: js.JsonObject) -> None:
    """Raise the error of a record of another program, which has no list of hypotheses."""
    for key, writer in _WRITERS.items():
        if isinstance(record.get(key), list | dict | str):
            record.file.fail(
                record.place, f"no list of hypotheses; records with '{key}' look like {writer}"
            )


def _usual_features(item: js.JsonObject) -> list[str]:
    """Return the usual keys of scores that are there."""
    present = ([key for key in keys if item.get(key) is not None] for keys in FEATURES)
    return next(filter(None, present), [])


def _with_lists(record: js.JsonObject, list_key: str, features: list[str]) -> js.JsonObject:
    """Return a record whose single hypothesis is a list of one.

    Sockeye writes `translation` and `score` where others have `translations` and `scores`.
    """
    content = record.content
    if not list_key.endswith("s") or list_key in content or list_key[:-1] not in content:
        return record
    singles = {
        key: [content[key[:-1]]]
        for key in (list_key, "scores", *features)
        if key.endswith("s") and key not in content and key[:-1] in content
    }
    return js.JsonObject(record.file, record.place, {**content, **singles})


def _column(whole: js.JsonObject, key: str, size: int, *, list_key: str) -> list[Any]:
    """Return the entry of each hypothesis in a list of scores, or in an object of such lists."""
    scores = whole.get(key)
    if scores is None:
        return []
    if isinstance(scores, dict):
        inner = js.JsonObject(whole.file, whole.place, scores)
        columns = {name: _column(inner, name, size, list_key=list_key) for name in scores}
        return [{name: column[k] for name, column in columns.items()} for k in range(size)]
    if not isinstance(scores, list):
        whole.wrong(key, scores, "a list, an entry a hypothesis")
    if len(scores) != size:
        whole.file.fail(
            whole.place,
            f"'{key}' has {counted(len(scores), 'entry')}, '{list_key}' has {size}; expected one "
            f"for each hypothesis",
        )
    return scores
