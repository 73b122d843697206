"""What holds of every aligner that runs outside programs."""

import pytest

from portmert.aligners._programs import SPECIAL
from portmert.aligners.giza import Giza
from tests.support.aligner_programs import PAIRS, SOURCE, TARGET, align, install, real

# Classes of mkcls and MGIZA++'s fertilities depend on how words are written; model 1 does not.
MODEL_1 = {"hmm": 0, "ibm3": 0, "ibm4": 0}


@pytest.mark.parametrize("kind", ["recorded", "real"])
def test_special_tokens_align_as_ordinary_ones(tmp_path, kind):
    others = ["a\u00a0b", "a\u3000b", "a\x1cb", "@escaped:x", "#", "%s", "a\x00b"]
    special = [*sorted(SPECIAL), *others]

    def renamed(lines):
        known = sorted({word for line in lines for word in line.split()})
        names = dict(zip(known, special, strict=False))
        return [" ".join(names.get(word, word) for word in line.split()) for line in lines]

    programs = install(tmp_path / "bin") if kind == "recorded" else real("giza")
    aligner = Giza(bin_dir=programs, **MODEL_1)
    plain = align(aligner, tmp_path / "plain")
    assert align(aligner, tmp_path / "special", renamed(SOURCE), renamed(TARGET)) == plain


def test_pieces_are_projected_to_words(programs, tmp_path):
    found = align(Giza(bin_dir=programs, vocab_size=150), tmp_path / "work")
    assert any(found)
    for row, pair in zip(found, PAIRS, strict=True):
        assert row == sorted(set(row))
        assert all(s < len(pair.source) and t < len(pair.target) for s, t in row)
