"""Trains the small model of UDPipe that parses the demo's sentences.

The library prints and cannot be interrupted. So it runs in a process of its own: `python -m` this
module `TREEBANK MODEL`.
"""

import sys
from importlib import import_module
from pathlib import Path

from portmert.tuner.base import line_processes, programs
from portmert.tuner.base.extras import require
from portmert.tuner.base.files import read_lines, writing

SENTENCES = 300
TAGGER = (
    "models=1;iterations=3;guesser_suffix_rules=4;guesser_enrich_dictionary=0;use_lemma=0;"
    "provide_lemma=0"
)
PARSER = (
    "iterations=4;hidden_layer=50;embedding_form=16;embedding_upostag=8;embedding_xpostag=8;"
    "embedding_deprel=8;embedding_feats=0"
)


def train(treebank: Path, out: Path) -> None:
    """Train on the first sentences of a treebank; the same treebank gives the same bytes.

    Raises
    ------
    ProgramError
        The library is missing, or refuses the treebank.
    """
    require("ufal.udpipe", extra="syntax")
    with programs.scratch(name="train") as folder:
        text, model = folder / "treebank.conllu", folder / "model"
        text.write_text("".join(f"{line}\n" for line in read_lines(treebank)), encoding="utf-8")
        programs.run(
            programs.Command(
                programs.python(__name__, str(text), str(model)),
                folder / "log",
                environment=line_processes.environment(),
                name=f"the training of UDPipe on {treebank}",
                is_scratch=True,
            )
        )
        with writing(out) as file:
            file.write(model.read_bytes())


def main(treebank: str, model: str) -> None:
    """Train in this process; the last line on stderr shows what went wrong."""
    udpipe = import_module("ufal.udpipe")
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(Path(treebank).read_text(encoding="utf-8"))
    sentences, sentence = udpipe.Sentences(), udpipe.Sentence()
    while len(sentences) < SENTENCES and reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = udpipe.Sentence()
    blob = b""
    if not error.occurred():
        blob = udpipe.Trainer.train(
            "morphodita_parsito", sentences, udpipe.Sentences(), "none", TAGGER, PARSER, error
        )
    if error.occurred():
        sys.exit(" ".join(error.message.split()))
    Path(model).write_bytes(blob)


if __name__ == "__main__":
    main(*sys.argv[1:])
