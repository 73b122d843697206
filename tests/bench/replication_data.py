"""Make the data of configs/paper-port/es-en.toml from its public repository.

git clone https://github.com/joshua-decoder/fisher-callhome-corpus
python -m tests.bench.replication_data fisher-callhome-corpus data/fisher-es-en

The corpus is Fisher and CALLHOME Spanish-English, CC BY-SA 3.0. The Spanish is the path of the
recogniser's lattice that is closest to the transcript. Training pairs are CALLHOME's. Dev and test
are 1,500 segments of Fisher's dev and 2,000 of its dev2, drawn from those of at least four Spanish
words and four references.
"""

import gzip
import random
import re
import sys
from pathlib import Path

REFERENCES = 4
FEWEST_WORDS = 4
PARTS = {"dev": ("fisher_dev", 1500), "test": ("fisher_dev2", 2000)}
LONGEST = 80
SEED = 7


def lines(path: Path) -> list[str]:
    """Return the lines of a file, lowercased. A carriage return inside a line ends no line."""
    text = path.read_bytes().decode("utf-8").lower()
    return [" ".join(line.split()) for line in text.split("\n")[:-1]]


def english(path: Path) -> list[str]:
    """Return lowercased lines without punctuation; clitics are split before the apostrophe."""
    found = []
    for line in lines(path):
        words = re.sub(r"[^\w' ]", " ", line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
        words = re.sub(r"(?<=\w)'(?=\w)", " '", words)
        found.append(" ".join(word for word in words.split() if word != "'"))
    return found


def main(corpus: Path, out: Path) -> None:
    """Write train, dev and test."""
    out.mkdir(parents=True, exist_ok=True)
    spanish = lines(corpus / "oracle/callhome_train.es")
    pairs = zip(spanish, english(corpus / "ldc/callhome_train.en"), strict=True)
    kept = [pair for pair in pairs if all(0 < len(text.split()) <= LONGEST for text in pair)]
    for name, texts in zip(("es", "en"), zip(*kept, strict=True), strict=True):
        with gzip.open(out / f"train.{name}.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
    for part, (name, size) in PARTS.items():
        files = [english(corpus / f"ldc/{name}.en.{number}") for number in range(REFERENCES)]
        segments = zip(lines(corpus / f"oracle/{name}.es"), *files, strict=True)
        rows = [row for row in segments if len(row[0].split()) >= FEWEST_WORDS and all(row)]
        places = list(range(len(rows)))
        random.Random(SEED).shuffle(places)
        chosen = [rows[place] for place in sorted(places[:size])]
        names = ("es", *(f"en{number}" for number in range(REFERENCES)))
        for end, texts in zip(names, zip(*chosen, strict=True), strict=True):
            text = "".join(f"{text}\n" for text in texts)
            (out / f"{part}.{end}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "corpus", Path(sys.argv[2]))
