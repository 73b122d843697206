from __future__ import annotations

import numpy as np

from portmert.extensions.demo._thot_model import (
    LEXICON_ENTRY,
    giza_entry,
    prune_lexicon,
    write_language_model,
)


def test_giza_entry_lists_source_positions_of_each_target_word():
    assert giza_entry(["a", "b", "c"], ["x", "y"], [(0, 1), (2, 1)]) == (
        "# 1\na b c\nNULL ({ 2 }) x ({ }) y ({ 1 3 })\n"
    )


def test_language_model_counts_first_occurrences_as_unknown(tmp_path):
    write_language_model(tmp_path / "lm", [["a"], ["a"]], order=2)
    # <s> <unk> </s> and <s> a </s>: 6 words.
    assert (tmp_path / "lm").read_text().splitlines() == [
        "</s> 6 2",
        "<s> 6 2",
        "<unk> 6 1",
        "a 6 1",
        "<s> <unk> 2 1",
        "<s> a 2 1",
        "<unk> </s> 1 1",
        "a </s> 1 1",
    ]
    weights = (tmp_path / "lm.weights").read_text().split()
    assert weights[:3] == ["2", "3", "10"]
    assert len(weights) == 3 + 2 * 3


def test_prune_drops_small_entries_and_normalises(tmp_path):
    # Source word 1: counts 3, 1 and 1e-6; source word 7: count 5.
    entries = [(7, 2, 5.0), (1, 9, 1.0), (1, 4, 1e-6), (1, 2, 3.0)]
    table = np.array([(s, t, np.log(c), 0.0) for s, t, c in entries], dtype=LEXICON_ENTRY)
    table.tofile(tmp_path / "lex")
    prune_lexicon(tmp_path / "lex")
    found = np.fromfile(tmp_path / "lex", dtype=LEXICON_ENTRY)
    assert found[["source", "target"]].tolist() == [(1, 2), (1, 9), (7, 2)]
    probabilities = np.exp(found["log_count"] - found["log_total"])
    np.testing.assert_allclose(probabilities, [0.75, 0.25, 1.0], rtol=1e-6)


def test_prune_of_an_empty_table_is_empty(tmp_path):
    (tmp_path / "lex").touch()
    prune_lexicon(tmp_path / "lex")
    assert (tmp_path / "lex").read_bytes() == b""
