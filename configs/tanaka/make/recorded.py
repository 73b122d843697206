"""Writes the lists of configs/recorded: two decodings of Moses, shortened.

    python recorded.py FIRST.nbest SECOND.nbest TANAKA RECORDED

Moses decoded dev.src twice, with the weights of train-model.perl and with
weights that `portmert optimize --metric bleu` found on the first list.
"""

import gzip
import sys
from pathlib import Path

SEGMENTS, MOST = 300, 20


def main(lists: list[Path], texts: Path, out: Path) -> None:
    """Write everything but moses.ini and start.json."""
    for number, path in enumerate(lists, 1):
        kept, count = [], dict.fromkeys(range(SEGMENTS), 0)
        for line in path.read_text(encoding="utf-8").splitlines():
            segment, text, features, *rest = (field.strip() for field in line.split(" ||| "))
            count[int(segment)] += 1
            if count[int(segment)] <= MOST:
                short = " ".join(
                    word if word.endswith("=") else f"{float(word):.4g}"
                    for word in features.split()
                )
                kept.append(" ||| ".join([segment, text, short, *rest]) + "\n")
        (out / f"{number}.nbest.gz").write_bytes(gzip.compress("".join(kept).encode(), 9, mtime=0))
    for name, suffix in (("src", "src"), ("tgt", "ref"), ("links", "links")):
        some = (texts / f"dev.{suffix}").read_text(encoding="utf-8").splitlines()[:SEGMENTS]
        (out / f"dev.{name}").write_text("".join(f"{line}\n" for line in some), encoding="utf-8")


if __name__ == "__main__":
    main([Path(sys.argv[1]), Path(sys.argv[2])], Path(sys.argv[3]), Path(sys.argv[4]))
