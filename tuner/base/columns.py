"""Columns of files of records: `FILE#KEY` of JSON lines, `FILE.tsv#COLUMN` of a table.

    FILE#KEY             a value of each record; a dot leads into objects and into all entries of
                         lists, or into one by its place: `choices.0.text`
    FILE#KEY[NAME=VALUE] of the records whose NAME is VALUE only
    FILE#KEY:ID          the ids stand under another key than the usual ones
    FILE#KEY:ID:INDEX    the numbers of hypotheses too

The usual keys are `ID_KEYS` and `INDEX_KEYS`; of these the first that a file has is taken. A key
that has a colon itself wins over a key with an id.
"""

import csv
import gc
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import options
from .errors import InputError, counted, shown
from .files import called, each_line
from .json_toml import parse_json, parse_plain_json
from .warn import warn

ID_KEYS = (
    "custom_id", "id", "segment", "seg_id", "segment_id", "sent_id", "utt", "utt_id",
    "utterance_id",
)  # fmt: skip
"""Keys of the id of a segment, the most telling first."""
INDEX_KEYS = ("index", "choice", "rank", "n", "candidate")
"""Keys of the number of a hypothesis in its segment, from 0 or from 1."""
DROP = "--drop-missing leaves such segments out"
"""Ends messages about segments that lack an answer."""
HARNESS_ID = "doc_id"
"""Key of the id in samples of lm-evaluation-harness; elsewhere it may be the id of a document."""
_TABLE = re.compile(r"\.[tc]sv(?:\.(?:gz|xz|zst|bz2))?$")
_COMMAS = re.compile(r"\.csv(?:\.(?:gz|xz|zst|bz2))?$")
_CHOICE = re.compile(r"(.+)\[([^\[\]=]+)=([^\[\]]*)\]")
_SAMPLES, _SCORES = "samples", "scores"
"""Keys of the samples in a log of inspect_ai, and of the scores of a sample."""
_JSON = re.compile(r"\.(?:json|jsonl)(?:\.(?:gz|xz|zst|bz2))?$")
_RECOGS = re.compile(r"(\S+):\t?\s*(ref|hyp)=(\[.*\])\s*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"")
_ABSENT = object()
_SCALARS = frozenset({str, int, float, bool, type(None)})
_AT_ONCE = 1000
"""Lines that are parsed at once."""


@dataclass(frozen=True)
class RecordColumn:
    """The V values of a column, in the order of the file.

    Parameters
    ----------
    where : str
        The file, for messages.
    is_table : bool
        Whether it is a table, whose values are all texts.
    key : str
        The key of the values.
    values : tuple
        None where there is no answer.
    places : tuple of str
        File and line of each value.
    ids : tuple of str or None
        The segment of each value; None for a file without ids.
    ranks : tuple of int or None
        The number of the hypothesis of each value in its segment, from 1; None for a file without
        such numbers.
    reasons : dict of int to str
        Why there is no value, by its number in `values`.
    sizes : tuple of int
        The length of the list that each value is an entry of; 1 for a value that is in no list.
    words : dict of str to tuple of str
        The values of other keys that may be ids, of a file without ids: one word in each record.
    records : tuple of dict
        The record that each value is of.
    """

    where: str
    is_table: bool
    key: str
    values: tuple[Any, ...]
    places: tuple[str, ...]
    ids: tuple[str, ...] | None
    ranks: tuple[int, ...] | None
    reasons: dict[int, str]
    sizes: tuple[int, ...]
    words: dict[str, tuple[str, ...]]
    records: tuple[dict[str, Any], ...]

    def beside(self, key: str) -> tuple[str, ...] | None:
        """Return the text under another key beside each value; None if a record lacks it."""
        texts = []
        for record in self.records:  # most keys are not in the first one already
            text = _lookup(record, key)
            if text in (None, _ABSENT) or isinstance(text, dict | list):
                return None
            texts.append(str(text))
        return tuple(texts)

    def check_words(self, ids: Sequence[str]) -> None:
        """Raise InputError if the records have these ids in another order under some key."""
        for key, words in self.words.items():
            if words != tuple(ids) and sorted(words) == sorted(ids):
                raise InputError(
                    f"{self.where}: the records have the ids of the other side under '{key}', in "
                    f"another order; join by them: {self.where}#{self.key}:{key}"
                )

    def lacking(self, number: int, advice: str = DROP) -> InputError:
        """Return the error of a value that is not there."""
        segment = "" if self.ids is None else f" for id '{self.ids[number]}'"
        return InputError(f"{self.places[number]}: {self.reasons[number]}{segment}; {advice}")

    def text(self, number: int) -> str:
        """Return a value that is a text, in one line."""
        value = self.values[number]
        if value is None:
            raise self.lacking(number)
        if not isinstance(value, str):
            text = shown(json.dumps(value, ensure_ascii=False))
            raise InputError(f"{self.places[number]}: '{self.key}' is {text}, expected a text")
        if self.sizes[number] > 1:  # the value is one entry of a list
            raise InputError(
                f"{self.places[number]}: '{self.key}' is a list of {self.sizes[number]} texts, "
                f"expected one text"
            )
        return re.sub(r"[\r\n]+", " ", value)


class _Record(NamedTuple):
    """A value of a record, with the objects around it, the outermost first.

    `size` is the length of the list that the value is an entry of.
    """

    place: str
    around: tuple[dict[str, Any], ...]
    value: Any
    size: int = 1


@contextmanager
def collected_later() -> Iterator[None]:
    """Look for cycles of objects later: records have none, and it takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@collected_later()
def column_of(path: object) -> RecordColumn | None:
    """Read the column that `FILE#KEY` names; None for the name of a file without a key.

    Raises
    ------
    InputError
        The file cannot be read, a record is none, or all of them lack the key; says where.
    """
    if "#" not in str(path):
        return None
    file, key = options.file_key(str(path))
    if key is None:
        return None
    if not key:
        raise InputError(f"{path}: the key behind # is empty; write FILE#KEY")
    records, is_table = records_of(file)
    return column_of_records(records, key, where=called(file), is_table=is_table)


def column_of_records(
    records: Sequence[tuple[str, dict[str, Any]]], key: str, *, where: str, is_table: bool
) -> RecordColumn:
    """Return the column that a key names in records with their places.

    Raises
    ------
    InputError
        As `column_of`.
    """
    key, name, choice = _chosen(key)
    if name:
        values_of_name = dict.fromkeys(str(_lookup(record, name)) for _, record in records)
        records = [row for row in records if str(_lookup(row[1], name)) == choice]
        if not records:
            there = ", ".join(map(shown, list(values_of_name)[:5]))
            raise InputError(f"{where}: no record has '{name}' {choice} (there: {there})")
    key, id_key, index_key = _keys(records, key)
    values: list[_Record] = []
    for place, record in records:
        value = record.get(key, _ABSENT)
        if type(value) in _SCALARS:  # nearly all; the rest takes its time
            values.append(_Record(place, (record,), value))
        else:
            values += _values(place, (record,), key)
    reasons = {
        k: _reason(record, key)
        for k, record in enumerate(values)
        if record.value in (None, _ABSENT)
    }
    if len(reasons) == len(values) and any(record.value is _ABSENT for record in values):
        raise InputError(f"{values[0].place}: {_reason(values[0], key)}")
    ids = _ids(values, id_key)
    return RecordColumn(
        where=where,
        is_table=is_table,
        key=key,
        values=tuple(None if k in reasons else record.value for k, record in enumerate(values)),
        places=tuple(record.place for record in values),
        ids=ids,
        ranks=_ranks(values, index_key),
        reasons=reasons,
        sizes=tuple(record.size for record in values),
        words={} if ids else _words([record.around[0] for record in values]),
        records=tuple(record.around[0] for record in values),
    )


def _chosen(key: str) -> tuple[str, str, str]:
    """Return the key of `KEY[NAME=VALUE]`, NAME and VALUE; without brackets these are empty."""
    match = _CHOICE.fullmatch(key)
    return (match[1], match[2], match[3]) if match else (key, "", "")


def records_of(file: str) -> tuple[list[tuple[str, dict[str, Any]]], bool]:
    """Return place and content of each record of a file, and whether it is a table.

    A file may be a table with tabs (.tsv) or commas (.csv), JSON lines, a JSON array of objects,
    icefall's results (keys `ref` and `hyp`), a log of inspect_ai, or what comet-score writes:
    objects of arrays. `samples` of the log are records, their grades stand under the names of the
    scorers; arrays of COMET are the `system` that their key names.

    Raises
    ------
    InputError
        The file cannot be read, is empty or has no records; says where.
    """
    if file.endswith(".eval"):
        raise InputError(
            f"{called(file)}: a log of inspect_ai in its own form; write it as JSON: inspect log "
            f"dump {file} > log.json"
        )
    is_table = _TABLE.search(file) is not None
    if not is_table and not _JSON.search(file):  # a pipe has no name that tells its form
        first = next(each_line(file), "").removeprefix("\ufeff")
        if _RECOGS.fullmatch(first):
            return recogs_of(called(file), each_line(file)), False
        is_table = "\t" in first and not first.startswith(("{", "["))
    records = list(_of_table(file) if is_table else _of_json(file))
    if not records:
        raise InputError(f"{called(file)}: the file is empty; expected records")
    return records, is_table


def recogs_of(where: str, lines: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return a record of each utterance in icefall's results, `ID: ref=['a', 'b']`.

    Raises
    ------
    InputError
        A line is none, or one stands twice; says where.
    """
    records: dict[str, dict[str, Any]] = {}
    places: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        match = _RECOGS.fullmatch(line.removeprefix("\ufeff"))
        if match is None:
            if not line.strip():
                continue
            raise InputError(f"{where}:{number}: '{shown(line)}' is none of icefall's results")
        name, key, words = match.groups()
        record = records.setdefault(name, {"id": name})
        places.setdefault(name, f"{where}:{number}")
        if key in record:
            raise InputError(f"{where}:{number}: {key} of '{name}' stands twice")
        record[key] = " ".join(
            re.sub(r"\\(.)", r"\1", word[1:-1]) for word in _QUOTED.findall(words)
        )
    return [(places[name], record) for name, record in records.items()]


def failure_of(record: dict[str, Any]) -> str | None:
    """Return why a request to a service failed, as its record tells; None if it did not."""
    response = record.get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    body = response.get("body") if isinstance(response, dict) else None
    result = record.get("result")
    for holder in (record, result, body):
        if not isinstance(holder, dict):
            continue
        error = holder if holder.get("object") == "error" else holder.get("error")
        error = error["error"] if isinstance(error, dict) and error.get("error") else error
        if error:
            fault = error if isinstance(error, dict) else {"message": str(error)}
            parts = [fault.get(name) for name in ("code", "type", "message")]
            text = ", ".join(dict.fromkeys(str(part) for part in parts if part not in (None, "")))
            code = f"status {status}, " if isinstance(status, int) and status != _OK else ""
            return f"the request failed: {code}{shown(text or json.dumps(error))}"
    if isinstance(status, int) and status != _OK:
        return f"the request failed: status {status}"
    return None


_OK = 200


def value_at(content: Any, path: str) -> Any:
    """Return what stands in an object or list at the end of a path; None if it leads nowhere.

    Dots lead into objects and lists: a number is a place in a list, from 0, and `*` all places. A
    key that has a dot itself comes first.
    """
    name, dot, remaining = path.partition(".")
    if isinstance(content, dict):
        if path in content:
            return content[path]
        return value_at(content.get(name), remaining) if dot else None
    if not isinstance(content, list):
        return None
    if name == "*":
        values = (value_at(entry, remaining) if dot else entry for entry in content)
        present = [value for value in values if value is not None]
        return list(itertools.chain(*present)) if "*" in remaining else present
    if not name.isdecimal() or int(name) >= len(content):
        return None
    return value_at(content[int(name)], remaining) if dot else content[int(name)]


def unordered(ids: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two ids that are not in ascending natural order; None if all are.

    Numbers inside of ids are compared as numbers: `seg-9` comes before `seg-10`.
    """
    keys = [_natural(name) for name in ids]
    for number in range(1, len(keys)):
        if not keys[number - 1] < keys[number]:
            return ids[number - 1], ids[number]
    return None


def skipped(ids: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two ids between which one is left out, if hardly any are; else None.

    `seg-6` is left out between `seg-5` and `seg-7`, if nine of ten steps are to the next number.
    """
    parts = [_natural(name)[0] for name in ids]
    steps = [
        later[-2] - earlier[-2] if earlier[:-2] == later[:-2] and len(later) > 1 else 1
        for earlier, later in itertools.pairwise(parts)
    ]
    gaps = [number for number, step in enumerate(steps) if step > 1]
    return (ids[gaps[0]], ids[gaps[0] + 1]) if gaps and 10 * len(gaps) <= len(steps) else None


def in_natural_order(ids: Sequence[str]) -> list[int]:
    """Return the numbers of the ids in ascending natural order, as `unordered` compares them."""
    return sorted(range(len(ids)), key=lambda number: _natural(ids[number]))


def _natural(name: str) -> tuple[Any, ...]:
    parts = re.split(r"([0-9]{1,4000})", name)  # Python converts no number of more digits
    return tuple(int(part) if k % 2 else part for k, part in enumerate(parts)), name


def _of_json(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and object of each line, or of each record of a document."""
    lines = each_line(file)
    first = next(lines, "").removeprefix("\ufeff")
    if first.lstrip()[:1] == "[" or first.strip() == "{" or '"samples"' in first[: 1 << 16]:
        yield from _of_document(file, "\n".join([first, *lines]))
        return
    where, number = called(file), 0
    whole = itertools.chain([first] if first else [], lines)
    while block := list(itertools.islice(whole, _AT_ONCE)):
        contents = parse_plain_json([line.encode("utf-8", "surrogatepass") for line in block])
        for place, line in enumerate(block):
            number += 1
            record = _parsed(line, f"{where}:{number}") if contents is None else contents[place]
            if not isinstance(record, dict):
                raise InputError(f"{where}:{number}: '{shown(line)}' is no JSON object")
            if number == 1 and ".jsonl" not in file and _is_of_arrays(record):
                yield from _of_document(file, line)  # written in one line
                return
            yield f"{where}:{number}", record


def _parsed(line: str, place: str) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        raise InputError(f"{place}: not JSON: {error}") from None


def _is_of_arrays(content: dict[str, Any]) -> bool:
    """Return whether an object has arrays of objects with the key `mt`, as comet-score writes."""
    return bool(content) and all(
        isinstance(value, list) and value and all(isinstance(x, dict) and "mt" in x for x in value)
        for value in content.values()
    )


def _of_document(file: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and content of each record of a file that is one JSON document."""
    where = called(file)
    try:
        content = parse_json(text)
    except ValueError as error:
        raise InputError(f"{where}: not JSON: {error}") from None
    if isinstance(content, dict) and isinstance(content.get(_SAMPLES), list):
        if content.get("status", "success") != "success":
            warn(
                f"{where}: the status of the log is '{content['status']}': samples may be missing"
            )
        arrays: dict[str, Any] = {"": list(map(_graded, content[_SAMPLES]))}
    elif isinstance(content, dict) and _is_of_arrays(content):
        arrays = {
            name: [{"system": name, **record} for record in records]
            for name, records in content.items()
        }
    elif isinstance(content, dict) and {"eval", "plan", "results"} <= content.keys():
        raise InputError(f"{where}: a log of inspect_ai without its samples; dump the whole log")
    else:
        arrays = {"": content if isinstance(content, list) else [content]}
    for name, records in arrays.items():
        for number, record in enumerate(records, 1):
            place = f"{where}: record {number}{f' of {name}' if name else ''}"
            if not isinstance(record, dict):
                raise InputError(f"{place}: '{shown(json.dumps(record))}' is no JSON object")
            yield place, record


def _graded(sample: Any) -> Any:
    """Return a sample of inspect_ai with the value of each scorer under the scorer's name."""
    scores = sample.get(_SCORES) if isinstance(sample, dict) else None
    if not isinstance(scores, dict):
        return sample
    values = {
        name: score["value"]
        for name, score in scores.items()
        if isinstance(score, dict) and "value" in score
    }
    return {**values, **sample}


def _of_table(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and cells of each row; an empty cell of a table is an empty text."""
    is_quoted = _COMMAS.search(file) is not None
    lines = each_line(file)
    by_tabs = (line.split("\t") for line in lines)
    cells_of = csv.reader(f"{line}\n" for line in lines) if is_quoted else by_tabs
    try:
        by = "commas" if is_quoted else "tabs"
        names, *rows = list(rows_of_table(cells_of, called(file), by)) or [[]]
    except csv.Error as error:
        raise InputError(f"{called(file)}: {error}; is it a table with commas?") from None
    for number, cells in enumerate(rows, 2):
        yield f"{called(file)}:{number}", dict(zip(names, cells, strict=True))


def rows_of_table(cells_of: Iterable[list[str]], where: str, by: str) -> Iterator[list[str]]:
    """Yield the names of the columns, then the cells of each row, in a message separated `by`.

    Raises
    ------
    InputError
        The first line is blank, two columns have one name, or a row has more or fewer cells.
    """
    names: list[str] = []
    for number, row in enumerate(cells_of, 1):
        cells = [row[0].removeprefix("\ufeff"), *row[1:]] if number == 1 and row else row
        names = names or cells
        if not any(names):
            raise InputError(f"{where}:1: a blank line; expected the names of the columns")
        if number == 1 and len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{where}:1: column '{twice}' stands twice")
        if len(cells) != len(names):
            raise InputError(
                f"{where}:{number}: {counted(len(cells), 'column')} separated by {by}, the header "
                f"names {len(names)}"
            )
        yield cells


def _keys(records: Sequence[tuple[str, dict[str, Any]]], text: str) -> tuple[str, str, str]:
    """Return the keys of values, ids and indices that `KEY`, `KEY:ID` or `KEY:ID:INDEX` names."""
    parts = text.split(":")
    for end in range(len(parts), 0, -1):
        key, keys_left = ":".join(parts[:end]), parts[end:]
        if len(keys_left) <= 2 and _has(records, key):
            id_key, index_key, *_ = *keys_left, "", ""
            return key, id_key, index_key
    return text, "", ""


def _has(records: Sequence[tuple[str, dict[str, Any]]], key: str) -> bool:
    """Return whether a record has a value of the key."""
    return any(
        value.value is not _ABSENT
        for place, record in records
        for value in _values(place, (record,), key)
    )


def _values(place: str, around: tuple[dict[str, Any], ...], key: str) -> Iterator[_Record]:
    """Yield the values of a key in an object; dots lead into objects and lists."""
    name, subkey = key, ""
    if key not in around[-1]:
        name, _, subkey = key.partition(".")
    if name not in around[-1]:
        yield _Record(place, around, _ABSENT)
        return
    value = around[-1][name]
    entries = value if isinstance(value, list) else [value]
    which, _, after = subkey.partition(".")
    if isinstance(value, list) and (which == "*" or which.isdecimal()):
        entries = value if which == "*" else value[int(which) :][:1] or [_ABSENT]
        subkey = after
    for each in entries:
        if not subkey:
            yield _Record(place, around, each, len(entries))
        elif isinstance(each, dict):
            yield from _values(place, (*around, each), subkey)
        else:
            yield _Record(place, around, _ABSENT)


def _reason(record: _Record, key: str) -> str:
    """Return why a record has no value."""
    whole = record.around[0]
    failure = failure_of(whole)
    if failure is not None:
        return failure
    if record.value is None:
        return f"'{key}' is null"
    names = sorted(whole)
    keys = ", ".join(map(shown, names[:8])) or "none"
    return f"'{key}' is missing (keys found: {keys})"


def _lookup(record: dict[str, Any], key: str) -> Any:
    """Return what stands under a key, dots leading into objects."""
    (value,) = list(_values("", (record,), key))[:1] or (None,)
    return None if value is None else value.value


def _ids(records: Sequence[_Record], key: str) -> tuple[str, ...] | None:
    """Return the id of each value; None where records have none."""
    wholes = [record.around[0] for record in records]
    if not key:
        key = next((name for name in ID_KEYS if any(name in whole for whole in wholes)), "")
        if not key and all(HARNESS_ID in x and "filtered_resps" in x for x in wholes):
            key = HARNESS_ID
        if not key:
            return None
    ids = []
    for record, whole in zip(records, wholes, strict=True):
        name = whole[key] if key in whole else _lookup(whole, key)
        if isinstance(name, bool) or not isinstance(name, str | int):
            text = "missing" if name is _ABSENT else shown(json.dumps(name))
            raise InputError(f"{record.place}: the id '{key}' is {text}; every record needs one")
        if not str(name).strip():
            raise InputError(f"{record.place}: the id '{name}' is blank")
        ids.append(str(name))
    return tuple(ids)


def _words(records: Sequence[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the values of the keys under which every record has one word or a whole number."""
    columns = {key: [record.get(key) for record in records] for key in records[0]}
    return {
        key: tuple(map(str, column))
        for key, column in columns.items()
        if all(
            isinstance(value, str | int)
            and not isinstance(value, bool)
            and len(str(value).split()) == 1
            for value in column
        )
    }


def _ranks(records: Sequence[_Record], key: str) -> tuple[int, ...] | None:
    """Return the number of the hypothesis of each value, from 1; None where records have none."""
    names = (key,) if key else INDEX_KEYS
    there = set[str]().union(*(obj for record in records for obj in record.around))
    index_key = next((name for name in names if name in there), key)
    if not index_key:
        return None
    numbers = []
    for record in records:
        value = next(
            (obj[index_key] for obj in reversed(record.around) if index_key in obj), _ABSENT
        )
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
            value = int(value)
        if value is _ABSENT and record.value in (None, _ABSENT):
            value = -1  # of a request that failed, which has no hypothesis
        elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
            if not key:
                return None  # not a number of hypotheses, whatever it is
            text = "missing" if value is _ABSENT else shown(json.dumps(value))
            raise InputError(
                f"{record.place}: the index '{index_key}' is {text}, expected 0, 1, 2 ..."
            )
        numbers.append(value)
    first = min((number for number in numbers if number >= 0), default=0)
    return tuple(number + 1 - min(first, 1) if number >= 0 else 0 for number in numbers)
