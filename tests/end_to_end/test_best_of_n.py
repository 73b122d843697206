"""Best of n by several judges: the page from Python, and outcomes in JSON lines."""

import json
import re

import numpy as np
import pytest

import portmert
from portmert.tuner.ground.errors import InputError
from portmert.tuner.nbest.extra import read_numbers
from tests.bench import best_of_n
from tests.support.places import CONFIGS, ROOT

CANDIDATES = CONFIGS / "best-of-n" / "candidates.jsonl.gz"


def quiet(_):
    pass


def test_the_lists_are_those_that_their_script_makes(tmp_path):
    best_of_n.write(tmp_path)
    assert (tmp_path / CANDIDATES.name).read_bytes() == CANDIDATES.read_bytes()


def test_the_page_in_python(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "how-to" / "best-of-n.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(code, names)  # noqa: S102  ours
    found, correct, chosen = names["found"], names["correct"], names["chosen"]
    assert found.score == pytest.approx(correct[np.arange(200), chosen].mean())
    assert str(names["unseen"]).startswith("mean: mert:searches_per_feature=100")
    same = portmert.optimize(
        CANDIDATES, f"scores:{CANDIDATES}#correct", optimizer="mert:restarts=1", notice=quiet,
    )  # fmt: skip
    assert same.score == found.score
    assert same.weights.values == found.weights.values


def test_cross_validation_of_arrays_is_that_of_lists():
    options = {
        "optimizer": "mert:searches_per_feature=20",
        "splits": 2,
        "timing": False,
        "notice": quiet,
    }
    lists = portmert.Lists.read(CANDIDATES, notice=quiet).nbest
    of_lists = portmert.crossval(CANDIDATES, metric=f"scores:{CANDIDATES}#correct", **options)
    arrays = portmert.Lists.from_arrays(
        lists.features,
        lists.offsets,
        scores=read_numbers(f"{CANDIDATES}#correct")[lists.lines],
        feature_names=[name for name, _ in lists.feature_names],
    )
    of_arrays = portmert.crossval(arrays, **options)
    judged = [
        [next(iter(choice["judged"].values()))["unseen"] for choice in found.document["choices"]]
        for found in (of_lists, of_arrays)
    ]
    assert judged[0] == judged[1]


def test_arrays_have_no_lengths_and_one_metric():
    lists = portmert.Lists.from_arrays(np.zeros((2, 2, 1)), stats=np.zeros((2, 2, 2)))
    with pytest.raises(portmert.PortmertError, match="other metrics need n-best lists with texts"):
        portmert.crossval(lists, ["wer", "per"])


@pytest.mark.parametrize(
    ("key", "lines", "expected"),
    [
        ("ok", [{"ok": True}, {"ok": 0.5}], [1.0, 0.5]),
        ("a.ok", [{"a": {"ok": 3}}], [3.0]),
        ("hypotheses.ok", [{"hypotheses": [{"ok": 1}, {"ok": False}]}], [1.0, 0.0]),
        ("ok", [{"ok": [1, 0]}, {"ok": [2]}], [1.0, 0.0, 2.0]),
    ],
)
def test_numbers_in_json_lines(tmp_path, key, lines, expected):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_numbers(f"{path}#{key}").tolist() == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": 1, "fine": 2}', "x:1: 'ok' is missing (keys found: fine, id)"),
        ("3", "x:1: 'ok' is missing (keys found: no object)"),
        ('{"ok": null}', "x:1: 'ok' is null, expected a finite number"),
        ('{"ok": "yes"}', "x:1: 'ok' is \"yes\", expected a finite number"),
        ('{"ok": 1e99}', "x:1: 'ok' is 1e+99, expected a finite number"),
        ('{"ok": NaN}', "x:1: not JSON: NaN is no number of JSON"),
    ],
)
def test_what_is_no_outcome_is_refused(tmp_path, line, expected):
    (tmp_path / "x").write_text(line + "\n")
    with pytest.raises(InputError) as caught:
        read_numbers(f"{tmp_path}/x#ok")
    assert str(caught.value).replace(f"{tmp_path}/", "") == expected
