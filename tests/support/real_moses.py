"""A system of the real Moses that fits into a page, for tests that need its programs."""

from portmert.tuner.decoders.moses import Moses
from tests.support.places import programs

ARPA = """\\data\\
ngram 1=7
ngram 2=2

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.3
-1.2\t</s>
-0.9\tthe\t-0.2
-1.1\thouse\t-0.1
-1.0\tsmall\t-0.1
-1.3\tlittle\t-0.1

\\2-grams:
-0.2\tthe\thouse
-0.4\tsmall\thouse

\\end\\
"""
TABLE = """das ||| the ||| 0.8 0.7 0.9 0.6 ||| 0-0 ||| 1 1 1 ||| |||
haus ||| house ||| 0.9 0.8 0.9 0.7 ||| 0-0 ||| 1 1 1 ||| |||
kleine ||| little ||| 0.4 0.3 0.5 0.4 ||| 0-0 ||| 1 1 1 ||| |||
kleine ||| small ||| 0.6 0.5 0.5 0.4 ||| 0-0 ||| 1 1 1 ||| |||
kleine haus ||| small house ||| 0.5 0.4 0.3 0.3 ||| 0-0 1-1 ||| 1 1 1 ||| |||
"""
REAL_INI = """\
[input-factors]
0

[mapping]
0 T 0

[distortion-limit]
6

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path={0}/table {1}
Distortion
KENLM name=LM0 factor=0 path={0}/lm.arpa order=2

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.2 0.2
Distortion0= 0.3
LM0= 0.5
"""


def real_system(folder):
    """Return a small system of a real Moses, and a source text for it."""
    (program,) = programs("moses")
    (folder / "table").write_text(TABLE)
    (folder / "lm.arpa").write_text(ARPA)
    # Without factors Moses makes target words of nothing and falls over them.
    factors = "input-factor=0 output-factor=0"
    (folder / "moses.ini").write_text(REAL_INI.format(folder, factors))
    (folder / "dev.src").write_text("das kleine haus\nhaus das\nkleine haus\ndas\nhaus kleine\n")
    return Moses(config=folder / "moses.ini", program=program), folder / "dev.src"
