"""Arguments of any type are taken or refused in one line: never an AttributeError or a traceback.

One argument of a call after another is replaced by something odd.
"""

import decimal
import itertools
from pathlib import Path

import numpy as np
import pytest

import portmert

SEARCHES = (portmert.optimize, portmert.replicate, portmert.rerank_tune, portmert.tune)
LISTS = "0 ||| a b ||| LM= -1 TM= -2 ||| -3\n0 ||| b a ||| LM= -2 TM= -4 ||| -4\n"
QUICK = {"optimizer": "mert:restarts=1,searches_per_feature=2", "threads": 1}
ODD = {
    "none": None,
    "text": "a b",
    "empty": "",
    "null": "a\0b",
    "bytes": b"a b",
    "path": Path("nowhere"),
    "lines": ["a b"],
    "texts": [["a b"]],
    "deep": [[["a b"]]],
    "numbers": [1, 2],
    "nones": [None],
    "strings": np.array(["a b"]),
    "grid": np.array([["a b"]]),
    "objects": np.array([object()]),
    "single": np.float32(1),
    "half": np.float16(2),
    "long": np.longdouble(3),
    "scalar": np.array(1.0),
    "vector": np.array([1.0, 2.0]),
    "whole": np.int64(2),
    "true": True,
    "float": 2.5,
    "nan": float("nan"),
    "below": -1,
    "huge": 10**400,
    "complex": 1j,
    "decimal": decimal.Decimal("1.5"),
    "range": range(2),
    "set": {"a b"},
    "dict": {"LM": np.float32(1), "TM": [np.float16(2)]},
    "odd dict": {1: None},
    "flat dict": {"LM": None},
    "object": object(),
    "function": len,
    "class": dict,
    "nothing": (),
}
"""Name -> a value that some argument does not expect."""


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Function -> the arguments of a call; most of these calls work."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "list").write_text(LISTS)
    (folder / "ref").write_text("a b\n")
    (folder / "links").write_text("0-0\n")
    nbest, ref = folder / "list", folder / "ref"
    lists = portmert.Lists.read([nbest, nbest], refs=ref)
    four = portmert.Lists.from_arrays(np.eye(4)[:, :2].reshape(2, 2, 2), scores=np.eye(2))
    search = {"weights": {"LM": 1.0, "TM": 1.0}, "constraints": {"fixed": ["LM"]}, "seed": 1,
              "prior": 0.0, "length_penalty": None} | QUICK  # fmt: skip
    metric = {"lists": lists, "metric": "ter"}
    return {
        portmert.score: {"hyp": ["a b"], "refs": [["a b"]], "metric": "ter", "source": None,
                         "hyp_links": None, "ref_links": (), "text": "", "threads": 1},
        portmert.optimize: metric | {"also": (), "samples": 0} | search,
        portmert.crossval: {"lists": four, "metric": (), "without": (), "splits": 1, "seeds": 1,
                            "size": None, "weights": None, "prior": 0.0} | QUICK,
        portmert.rerank: {"lists": lists, "weights": {"LM": 1.0, "TM": 1.0}, "mbr": None,
                          "oracle_metric": None, "missing_features": "refuse"},
        portmert.average: {"weights": [{"LM": 1.0}, {"LM": 2.0}], "lists": None},
        portmert.replicate: {"lists": lists, "metric": "ter", "replicas": 1, "test": None,
                             "out_dir": folder / "replicas"} | QUICK,
        portmert.rerank_tune: {"lists": lists, "metric": "ter", "test": lists, "also": (),
                               "out_dir": folder / "tuned", "replicas": 1} | QUICK,
        portmert.compare: {"systems": {"a": ref, "b": ref}, "test": ref, "metric": "ter",
                           "text": None, "resampling": portmert.Resampling(9)},
        portmert.align: {"source": ["a"], "target": ["b"], "aligner": "precomputed",
                         "options": {"links": folder / "links"}},
        portmert.check_links: {"links": ["0-0"], "gold": ["0-0"]},
        portmert.metric: {"text": "ter"},
        portmert.Lists.read: {"paths": nbest, "refs": ref, "source": None, "ref_links": (),
                              "ids": False, "format": "auto", "features": (), "text": ""},
        portmert.Lists.from_records: {"records": [{"id": 0, "text": "a", "features": {"LM": 1}}],
                                      "refs": [["a"]]},
        portmert.Lists.from_arrays: {"features": np.zeros((1, 2, 1)), "offsets": None,
                                     "feature_names": None, "scores": None, "stats": None},
        portmert.Lists.read_dat: {"features_dat": [nbest], "scores_dat": [nbest]},
        lists.with_feature: {"feature": "x", "values": [1.0, 2.0]},
        portmert.metaeval: {"sets": folder / "sets.toml", "metric": "ter"},
        portmert.tune: {"decoder": len, "sources": ["a"], "refs": [["a"]], "seed": None,
                        "start": {"LM": 1.0}, "folder": folder / "run"},
        portmert.annotate: {"text": ["a b"], "out": folder / "out", "annotator": "udpipe"},
        portmert.read_sheets: {"sheets": [ref], "keys": ()},
    }  # fmt: skip


def test_odd_types_are_taken_or_refused_in_one_line(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for function, given in calls.items():
        for number, (place, (name, odd)) in enumerate(itertools.product(given, ODD.items())):
            if name == "huge" and place in ("samples", "replicas"):
                continue  # it begins so much work
            if function in SEARCHES and number % 3:
                continue  # that is enough of what takes long
            if fault := failed(function, given | {place: odd}):
                wrong.append(f"{function.__name__}({place}={name}): {fault}")
    assert not wrong, "\n".join(wrong)


def test_a_wrong_type_is_named_with_the_types_expected(calls):
    given = calls[portmert.optimize]
    for place, odd, said in (
        ("seed", "one", r"seed is 'one' \(str\); expected int"),
        ("metric", 2, r"metric is 2 \(int\); expected str \| Metric \| Callable \| None"),
        ("weights", [1, 1], "weights are given by name, as .*, found list"),
        ("lists", np.eye(2), "arrays become lists by portmert.Lists.from_arrays"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            portmert.optimize(**given | {place: odd})
    with pytest.raises(portmert.PortmertError, match="constraints: 3 is not a table"):
        portmert.optimize(**given | {"constraints": 3})


def test_numbers_of_numpy_are_taken(calls):
    given = calls[portmert.optimize] | {"constraints": None}
    plain = portmert.optimize(**given | {"prior": 0.5, "weights": {"LM": 1.0, "TM": 2.0}})
    for kind in (np.float16, np.float32, np.float64, np.longdouble):
        weights = {"LM": kind(1), "TM": np.array([2], dtype=kind)}
        found = portmert.optimize(
            **given | {"prior": kind(0.5), "weights": weights, "seed": np.uint8(1)}
        )
        assert found.weights == plain.weights


def failed(function, given):
    """Call; return what an error should not be, else None."""
    try:
        function(**given)
    except (portmert.PortmertError, TypeError, ValueError) as error:
        text = str(error)
        if len(text.strip().splitlines()) != 1 and not text.startswith("formula: "):
            return f"{type(error).__name__} of {len(text.splitlines())} lines: {text[:200]!r}"
    except Exception as error:  # noqa: BLE001  that is what is looked for
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None
