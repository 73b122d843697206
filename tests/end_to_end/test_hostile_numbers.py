"""Numbers and statistics that cannot be are refused in one line, as what no machine can hold."""

import pytest
from click.testing import CliRunner

from portmert.tuner.cli import main
from tests.support.cli import fault, run
from tests.support.places import INVENTED
from tests.support.run_folders import write

CONFIG = INVENTED / "recorded.toml"


FEATURES = "FEATURES_TXT_BEGIN_0 0 2 1 LM_0\n1 \n2 \nFEATURES_TXT_END_0\n"
SCORES = "SCORES_TXT_BEGIN_0 0 2 9 BLEU\n3 5 2 4 2 3 1 2 5 \n{row}\nSCORES_TXT_END_0\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("-1 5 2 4 2 3 1 2 5", "hypothesis 2: matched_1 is -1, which is negative"),
        ("3 5 2 4 4 3 1 2 5", "hypothesis 2: matched_3 is 4, which is above total_3"),
        ("2.5 5 2 4 2 3 1 2 5", "hypothesis 2: matched_1 is 2.5, which is no whole number"),
        ("3 1e18 2 4 2 3 1 2 5", "hypothesis 2: total_1 is 1e+18, which is larger than any count"),
        ("3 5 2 4 2 3 1 2 -5", "hypothesis 2: ref_len is -5, which is negative"),
    ],
)
def test_impossible_statistics_are_refused(tmp_path, row, said):
    features = write(tmp_path / "features.dat", FEATURES)
    scores = write(tmp_path / "scores.dat", SCORES.format(row=row))
    out = tmp_path / "weights.json"
    assert said in fault(
        "optimize-dat",
        "--features-dat",
        features,
        "--scores-dat",
        scores,
        "--metric",
        "bleu",
        "--out",
        out,
    )
    assert not out.exists()


@pytest.mark.parametrize("value", ["1e31", "-1e155", "1e999", "9" * 40])
def test_features_too_large_to_calculate_with_are_refused(tmp_path, value):
    nbest = write(tmp_path / "nbest", f"0 ||| a ||| LM= 1 ||| 0\n0 ||| b ||| LM= {value} ||| 0\n")
    reference = write(tmp_path / "ref", "a\n")
    out = tmp_path / "weights.json"
    said = fault(
        "optimize", "--nbest", nbest, "--ref", reference, "--metric", "bleu", "--out", out
    )
    assert "nbest:2: feature LM is " in said
    assert "values must be finite, none beyond 1e+30" in said


def test_weights_too_large_to_calculate_with_are_refused(tmp_path):
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 10 ||| 0\n0 ||| b ||| LM= 1 ||| 0\n")
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1e308}}')
    assert "weight of LM is 1e+308; weights must be finite" in fault(
        "rerank", "--nbest", nbest, "--weights", weights
    )


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("1e999*bleu", "the number is 1e999, expected one that is finite"),
        ("*".join(["1e30"] * 20) + "*bleu", "its value grows beyond all bounds"),
        pytest.param(" + ".join(["1*bleu"] * 3000), "more than 400 numbers, names", id="terms"),
        pytest.param(
            "+".join(["1*bleu"] * 3000), "a sign behind a metric needs spaces", id="name"
        ),
    ],
)
def test_formulas_beyond_all_bounds_are_refused(tmp_path, formula, said):
    text = write(tmp_path / "text", "a\n")
    shown = run("score", "--metric", formula, "--hyp", text, "--ref", text, status=1).stderr
    assert said in shown
    assert len(shown) < 500


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("tune.prior=inf", "is inf, expected a finite number"),
        ("tune.nbest=1000000000000000000000", "expected a number of at most 9223372036854775807"),
        pytest.param("tune.nbest=" + "1" * 5000, "a number has thousands of digits", id="digits"),
        ('tune.output="a\\u0000b"', "has a NUL character"),
        pytest.param("x" + ".x" * 100_000 + "=1", "there is no table [x]", id="dots"),
        ("optimizer.searches_per_feature=1e99", "is 1e+99, expected a finite number"),
        pytest.param(f'decoder.lists=["{"a" * 300}"]', "[decoder] lists: there is no", id="lists"),
        pytest.param(f'data.source="{"a" * 300}"', "[data] source: there is no", id="source"),
    ],
)
def test_settings_no_machine_can_hold_are_refused(override, said):
    shown = fault("tune", CONFIG, "--set", override)
    assert said in shown
    assert len(shown) < 500


@pytest.mark.parametrize(
    "words",
    [["compare", "{}", "b"], ["tune", "{}"],
     ["score", "--metric", "bleu", "--hyp", "{}", "--ref", "b"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_names_no_disk_can_hold_are_refused(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    name = "/".join(["a" * 300, "b"])
    result = CliRunner().invoke(main, [word.replace("{}", name) for word in words])
    assert result.exit_code in (1, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert len(result.stderr) < 2000


def test_options_no_machine_can_hold_are_refused(tmp_path):
    text = write(tmp_path / "text", "a\n")
    said = fault("compare", f"a={text}", f"b={text}", "--ref", text, "--samples", 10**21, status=2)
    assert "--samples" in said
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 10 ||| 0\n")
    given = ("--metric", "bleu", "--out", tmp_path / "out", "--set", f"restarts={10**21}")
    assert f"restarts is {10**21}, expected at most" in fault(
        "optimize", "--nbest", nbest, "--ref", text, *given
    )


def test_a_constraint_on_a_value_of_thousands_of_digits_is_refused(tmp_path):
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 10 ||| 0\n0 ||| b ||| LM= 1 ||| 0\n")
    text = write(tmp_path / "text", "a\n")
    given = ("--nbest", nbest, "--ref", text, "--metric", "bleu", "--out", tmp_path / "out")
    said = fault("optimize", *given, "--fix", f"LM_{'1' * 5000}")
    assert "constraint on unknown feature 'LM_111" in said
    assert len(said) < 500
