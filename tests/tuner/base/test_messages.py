"""Messages name options on the command line, and arguments in Python."""

import pytest

import portmert
from portmert.tuner.base.messages import own, with_arguments
from tests.support.cli import fault


@pytest.mark.parametrize(
    ("message", "in_python"),
    [
        ("give them too (--ref)", "give them too (refs)"),
        ("give --test-source and --test-ref-links", "give source of test and ref_links of test"),
        (
            "give --test-scores; or `portmert x --ref R`",
            "give test_scores; or `portmert x --ref R`",
        ),
        ("a -- b, x--y", "a -- b, x--y"),
    ],
)
def test_arguments_stand_for_options(message, in_python):
    assert with_arguments(message) == in_python


def test_advice_that_a_command_lacks_is_left_out():
    assert own("wrong; give --ref; or --seed", frozenset({"--ref"})) == "wrong; give --ref"


def test_one_fault_in_both_languages(tmp_path):
    text = tmp_path / "text"
    text.write_text("a b\n")
    with pytest.raises(
        portmert.PortmertError, match="give source and hyp_links and ref_links too"
    ):
        portmert.score(text, text, metric="port")
    said = fault("score", "--metric", "port", "--hyp", text, "--ref", text)
    assert "give --source and --hyp-links and --ref-links too" in said
