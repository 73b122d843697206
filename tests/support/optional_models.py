"""Tiny models of the optional parsers: python -m tests.support.optional_models KIND FOLDER.

Made in a process of their own: what the libraries warn of is not ours.
"""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from tests.support.annotation_models import PAIRS
from tests.support.languages.treebank import parse, to_conllu
from tests.support.places import SHARED

REAL = SHARED / "data/parsers/models/bllip_gum_1k.tar.xz"

_FOLDER = tempfile.TemporaryDirectory(prefix="portmert-models-")  # goes with the process


@functools.cache
def models(name):
    """Return the folder of the models for one backend; skip the test where it is not installed."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"extras: portmert[{name}]")
    folder = Path(_FOLDER.name) / name
    folder.mkdir()
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.support.optional_models",
        name,
        str(folder),
    ]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return folder


@functools.cache
def bllip():
    """Return the folder of a small model; skip the test where there is none."""
    if importlib.util.find_spec("bllipparser") is None:
        pytest.skip("extras: portmert[bllip]")
    if not REAL.is_file():
        pytest.skip(f"shared data: {REAL.relative_to(SHARED)}")
    with tarfile.open(REAL) as archive:
        archive.extractall(_FOLDER.name, filter="data")
    return Path(_FOLDER.name) / REAL.name.partition(".")[0]


OPTIONS = {
    "bllip": lambda: {"model": bllip()},
    "spacy": lambda: {"model": str(models("spacy") / "pipeline")},
    "stanza": lambda: {name: models("stanza") / f"{name}.pt" for name in ("tagger", "parser")},
}
"""Name -> the options of an annotator with such a model."""


def spacy(folder):
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    for name in ("tagger", "morphologizer"):
        nlp.add_pipe(name)
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = []
    for pair in PAIRS:
        tokens = parse(pair)
        words = [token.form for token in tokens]
        gold = Doc(
            nlp.vocab,
            words=words,
            tags=[token.tag for token in tokens],
            pos=["NOUN" if token.tag == "NOUN" else "X" for token in tokens],
            morphs=["|".join(token.features) for token in tokens],
            heads=[token.head - 1 if token.head else i for i, token in enumerate(tokens)],
            deps=[token.relation if token.head else "ROOT" for token in tokens],
        )
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples, sgd=optimizer)
    nlp.to_disk(folder / "pipeline")
    nlp.remove_pipe("tagger")
    nlp.remove_pipe("morphologizer")
    nlp.to_disk(folder / "parser")
    nlp = spacy.load(folder / "pipeline")
    nlp.remove_pipe("parser")
    nlp.to_disk(folder / "taggers")


def stanza(folder):
    from stanza.models import parser, tagger

    treebank = folder / "treebank.conllu"
    treebank.write_text(to_conllu(PAIRS, "demo"))
    common = [
        *("--mode", "train", "--lang", "en", "--shorthand", "en_demo", "--no_pretrain", "--cpu"),
        *("--train_file", str(treebank), "--eval_file", str(treebank), "--save_dir", str(folder)),
        *("--no_char", "--num_layers", "1", "--hidden_dim", "10", "--deep_biaff_hidden_dim", "10"),
        *("--word_emb_dim", "10", "--transformed_dim", "10", "--word_cutoff", "0", "--seed", "1"),
        *("--max_steps", "2", "--eval_interval", "2", "--batch_size", "100"),
    ]
    tagger.main([*common, "--save_name", "tagger.pt"])
    parser.main([*common, "--save_name", "parser.pt", "--no_checkpoint"])


COMET_WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"abcd",
    "das",
    "haus",
    "the",
    "house",
]


def comet(folder):
    """Write two models with random weights as COMET does, an encoder of a few numbers in them."""
    import torch
    import yaml
    from comet.models import str2model
    from transformers import BertConfig

    encoder = folder / "encoder"
    encoder.mkdir()
    (encoder / "vocab.txt").write_text("".join(f"{word}\n" for word in COMET_WORDS))
    config = BertConfig(
        vocab_size=len(COMET_WORDS),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    config.save_pretrained(encoder)
    for name in ("regression_metric", "referenceless_regression_metric"):
        torch.manual_seed(1)
        model = str2model[name](
            encoder_model="BERT",
            pretrained_model=str(encoder),
            hidden_sizes=[8],
            nr_frozen_epochs=0,
            load_pretrained_weights=False,
            local_files_only=True,
        )
        (folder / name / "checkpoints").mkdir(parents=True)
        settings = dict(model.hparams)
        state = {"state_dict": model.state_dict(), "pytorch-lightning_version": "2.0.0"}
        state["hyper_parameters"] = settings
        torch.save(state, folder / name / "checkpoints" / "model.ckpt")
        (folder / name / "hparams.yaml").write_text(
            yaml.safe_dump({**settings, "class_identifier": name})
        )


if __name__ == "__main__":
    {"comet": comet, "spacy": spacy, "stanza": stanza}[sys.argv[1]](Path(sys.argv[2]))
