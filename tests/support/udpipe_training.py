"""Trains a small model of UDPipe in a process of its own: the library prints."""

import subprocess
import sys
from pathlib import Path

import ufal.udpipe

TAGGER = (
    "models=1;iterations=3;guesser_suffix_rules=4;guesser_enrich_dictionary=0;use_lemma=0;"
    "provide_lemma=0"
)
PARSER = (
    "iterations=4;hidden_layer=50;embedding_form=16;embedding_upostag=8;embedding_xpostag=8;"
    "embedding_deprel=8;embedding_feats=0"
)


def train(treebank, out):
    subprocess.run([sys.executable, __file__, treebank, out], check=True, capture_output=True)


def main(treebank, model):
    reader = ufal.udpipe.InputFormat.newConlluInputFormat()
    error = ufal.udpipe.ProcessingError()
    reader.setText(Path(treebank).read_text(encoding="utf-8"))
    sentences, sentence = ufal.udpipe.Sentences(), ufal.udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = ufal.udpipe.Sentence()
    blob = ufal.udpipe.Trainer.train(
        "morphodita_parsito", sentences, ufal.udpipe.Sentences(), "none", TAGGER, PARSER, error
    )
    assert not error.occurred(), error.message
    Path(model).write_bytes(blob)


if __name__ == "__main__":
    main(*sys.argv[1:])
