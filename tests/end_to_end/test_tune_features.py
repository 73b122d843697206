"""`portmert tune` on recorded lists with features that come from files or are computed."""

import json

import pytest

import portmert
from portmert.tuner.decoders.recorded import Recorded
from tests.support.cli import fault, run
from tests.support.places import INVENTED

DATA = INVENTED / "recorded"


@pytest.fixture
def config(tmp_path):
    """Return a configuration beside which files of numbers lie, under names of its folder."""
    for name in ("1", "2"):
        lists = portmert.Lists.read(DATA / f"{name}.nbest.gz").nbest
        count = lists.list_sizes[0]
        (tmp_path / f"{name}.qe").write_text("".join(f"{n % 7}\n" for n in range(count)))
    (tmp_path / "other.txt").write_bytes((DATA / "dev.tgt").read_bytes())
    path = tmp_path / "tune.toml"
    path.write_text(f"""
[tune]
output = "run"
iterations = 2
nbest = 20
[data]
source = "{DATA}/dev.src"
references = ["{DATA}/dev.tgt"]
[metric]
name = "bleu"
[optimizer]
name = "mert"
searches_per_feature = 5
restarts = 1
[decoder]
name = "recorded"
lists = ["{DATA}/1.nbest.gz", "{DATA}/2.nbest.gz"]
features = ["-qe=1.qe,2.qe", "length", "near=chrf@other.txt"]
""")
    return path


def test_features_are_tuned_and_written(config):
    run("tune", config)
    folder = config.parent / "run"
    weights = json.loads((folder / "weights.json").read_text())["weights"]
    assert {"-qe", "length", "near"} < set(weights)
    # What the run decoded has the features under these names, each hypothesis its own numbers.
    lists = portmert.Lists.read(folder / "iteration-01" / "nbest.gz").nbest
    names = [name for name, _ in lists.feature_names]
    column = {name: lists.features[:, -3 + k] for k, name in enumerate(names[-3:])}
    assert column["length"].tolist() == lists.texts.tokens.lengths.tolist()
    assert set(column["-qe"].tolist()) == {float(-n) for n in range(7)}
    whole = portmert.Lists.read(
        [DATA / "1.nbest.gz", DATA / "2.nbest.gz"], features=[f"near=chrf@{DATA / 'dev.tgt'}"],
    ).nbest  # fmt: skip
    assert set(column["near"].tolist()) <= set(whole.features[:, -1].tolist())


def test_other_numbers_are_another_run(config):
    run("tune", config, "--set", "tune.iterations=1")
    (config.parent / "1.qe").write_text((config.parent / "1.qe").read_text().replace("6", "5"))
    assert "the content of decoder.features changed" in fault(
        "tune", config, "--set", "tune.iterations=1"
    )


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ("qe=gone,2.qe", "tune.toml: [decoder] features: there is no file"),
        ("qe=1.qe", "--feature qe=1.qe: 1 file of numbers for 2 n-best lists"),
        ("qe=2.qe,1.qe", "1 number, n-best list 1 has"),
        (
            "lenght",
            "[decoder] --feature lenght: a file or a metric is missing; expected NAME=FILE",
        ),
        ("LM0=1.qe,2.qe", "there can be no feature 'LM0': the lists have it already"),
        ("ratio", "take `ratio:list`"),
        ("x=chrf@1.qe", "lines, the lists have 40 segments"),
    ],
)
def test_what_does_not_fit_is_named(config, feature, message):
    (config.parent / "2.qe").write_text("1\n")
    assert message in fault("tune", config, "--set", f'decoder.features=["{feature}"]')


def test_text_steps_of_features(tmp_path):
    (tmp_path / "list").write_text("0 ||| A@@ b ||| F= 1 ||| 0\n0 ||| c ||| F= 1 ||| 0\n")
    (tmp_path / "other").write_text("Ab\n")
    feature, lists = f"x=wer@{tmp_path / 'other'}", (tmp_path / "list",)
    plain = Recorded(lists=lists, features=(feature,))
    joined = Recorded(lists=lists, features=(feature,), text=("hyp:debpe",))
    assert plain._load().features[:, 1].tolist() != [1, 0]
    assert joined._load().features[:, 1].tolist() == [1, 0]
    with pytest.raises(ValueError, match="text: unknown text step 'debp'"):
        Recorded(lists=lists, text=("debp",))
