"""Write the demo's files: a bitext, its gold links, a treebank of the target language.

The bitext is of two invented languages, so that the demo needs nothing from outside. The source
language puts the verb last, has case particles and postpositions, and its clauses have free word
order in 60 of 100 cases. The target language puts the verb second and has articles, agreement,
negation in two words and verbs with a particle. So a decoder must reorder over long distances and
choose between words, and never gets everything right. The generator is in
tests/support/languages/; a test generates the files of this folder again and compares.
"""

from pathlib import Path

from ..base import errors, files

HERE = Path(__file__).parent
PAIRS = HERE / "bitext.tsv.xz"
"""Source, target and links (`0-0 1-2`) of 4,700 sentence pairs."""

TREEBANK = "treebank.conllu"


def write_bitext(folder: Path, *, train: int, dev: int, test: int) -> None:
    """Write `train`, `dev` and `test`, each as .src, .tgt and .links, and parses of train.

    No sentence of dev or test occurs in train.

    Raises
    ------
    InputError
        More pairs are asked for than there are.
    """
    pairs = [line.split("\t") for line in files.read_lines(PAIRS)]
    if train + dev + test > len(pairs):
        raise errors.InputError(
            f"{train} + {dev} + {test} sentence pairs are asked for, but the demo has "
            f"{len(pairs)}; ask for fewer"
        )
    start = 0
    for name, size in (("dev", dev), ("test", test), ("train", train)):
        part = pairs[start : start + size]
        start += size
        for column, suffix in enumerate(("src", "tgt", "links")):
            lines = "".join(f"{pair[column]}\n" for pair in part)
            files.write_text(folder / f"{name}.{suffix}", lines)
    # The parses of their target sentences, CoNLL-U without comments.
    parses = files.read_bytes(HERE / "treebank.conllu.xz").decode("utf-8").split("\n\n")[:-1]
    # A tagger and parser is trained on 1000 sentences at most.
    parsed = list(zip(parses, pairs, strict=True))[dev + test :][: min(train, 1000)]
    blocks = (
        f"# sent_id = train-{number}\n# text = {target}\n{parse}\n\n"
        for number, (parse, (_, target, _)) in enumerate(parsed, 1)
    )
    files.write_text(folder / TREEBANK, "".join(blocks))
