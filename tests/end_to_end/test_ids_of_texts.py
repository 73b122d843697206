"""Texts whose lines begin with ids that no option announces."""

import json
import random
import re

import click
import pytest
from click.testing import CliRunner

from portmert.tuner.base.columns import DROP
from portmert.tuner.base.errors import InputError
from portmert.tuner.cli import main
from portmert.tuner.commands._outputs import with_volume
from portmert.tuner.texts.joining import seem_ids

SIZE = 6
ALL = ("--min-length", 0, "--equal-outputs")
REFERENCE = [f"utt-{n:02d} the {n} cats sat on mat {n * n}" for n in range(SIZE)]
HYPOTHESES = [f"utt-{n:02d} the {n} cats sat in hat {n * n}" for n in range(SIZE)]


def lines_of(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def shuffled(lines):
    return random.Random(5).sample(lines, len(lines))


def without_ids(lines):
    return [line.split(maxsplit=1)[1] for line in lines]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines_of(tmp_path / "ref", REFERENCE)
    lines_of(tmp_path / "ref.plain", without_ids(REFERENCE))
    (tmp_path / "out").mkdir()
    for name in ("a", "b"):
        lines_of(tmp_path / "out" / f"{name}.en", shuffled(HYPOTHESES))
    lines_of(tmp_path / "hyp", HYPOTHESES)
    lines_of(tmp_path / "hyp.shuffled", shuffled(HYPOTHESES))
    lines_of(tmp_path / "hyp.plain", without_ids(HYPOTHESES))
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def scored(hyp, ref, *words):
    result = run("score", "--metric", "wer", "--hyp", hyp, "--ref", ref, "--json", "s", *words)
    assert result.exit_code == 0, result.stderr
    with open("s") as file:  # noqa: PTH123
        return json.load(file)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [(), ("--ids",)])
def test_score_joins_lines_by_ids_in_any_order(options):
    plain = scored("hyp.plain", "ref.plain")
    assert scored("hyp", "ref", *options) == plain
    assert scored("hyp.shuffled", "ref", *options) == plain


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [(), ("--ids",)])
def test_compare_joins_lines_by_ids_in_any_order(options):
    call = ("compare", "--metric", "wer", "--samples", 20, "--no-timing", "--json", "c")
    expected = None
    for names in (("hyp.plain", "hyp.plain"), ("hyp", "hyp.shuffled"), ("hyp.shuffled", "hyp")):
        plain = names[0] == "hyp.plain"
        ref = "ref.plain" if plain else "ref"
        systems = [f"{name}={file}" for name, file in zip("ab", names, strict=True)]
        result = run(*call, *systems, "--ref", ref, *(() if plain else options))
        assert result.exit_code == 0, result.stderr
        with open("c") as file:  # noqa: PTH123
            found = json.load(file) | {"references": None}
        expected = expected or found
        assert found == expected


def test_metaeval_joins_lines_by_ids_in_any_order(folder):
    rows = [f"{s}\t{n}\t{n + (s == 'a')}\n" for s in "ab" for n in range(SIZE)]
    (folder / "human").write_text("system\tsegment\tscore\n" + "".join(rows))
    found = []
    for ref, change in (("ref", shuffled), ("ref.plain", without_ids)):
        for name in "ab":
            lines_of(folder / "out" / f"{name}.en", change(HYPOTHESES))
        call = ("metaeval", "--human", "human", "--outputs", "out", "--ref", ref, "--samples", 20)
        result = run(*call, "--metric", "wer", "--metric", "chrf", "--all")
        assert result.exit_code == 0, result.stderr
        found.append(result.stdout)
    assert found[0] == found[1]


@pytest.mark.usefixtures("folder")
def test_humaneval_and_align_join_lines_by_ids():
    made = []
    for a, ref in (("hyp.plain", "ref.plain"), ("hyp.shuffled", "ref")):
        other = "ref.plain" if ref == "ref.plain" else "ref"
        call = ("humaneval", "make", f"a={a}", f"b={other}", "--out", f"for-{ref}", "--ref", ref)
        result = run(*call, "--judge", "x", "--judge", "y", "--items", 2, "--common", 1, *ALL)
        assert result.exit_code == 0, result.stderr
        with open(f"for-{ref}/judges/x.csv") as file:  # noqa: PTH123
            made.append(file.read())
    assert made[0] == made[1]
    links = []
    for source, target in (("hyp.plain", "ref.plain"), ("hyp.shuffled", "ref")):
        call = ("align", "--source", source, "--target", target, "--out", "-")
        links.append(sorted(run(*call).stdout.splitlines()))
    assert links[0] == links[1]


def test_ids_of_one_text_alone_warn_or_must_be_in_order(folder):
    for hyp, ref in (("hyp", "ref.plain"), ("hyp.plain", "ref")):
        warned = scored(hyp, ref)["warnings"]
        assert any("has what looks like an id ('utt-00')" in line for line in warned)
    result = run("score", "--metric", "wer", "--hyp", "hyp.shuffled", "--ref", "ref.plain")
    assert result.exit_code == 1
    assert "ref.plain: no ids, and those of hyp.shuffled are not in order" in result.stderr
    (folder / "list").write_text("".join(f"{n} ||| a b ||| F= 1 ||| 0\n" for n in range(SIZE)))
    result = run("optimize", "--nbest", "list", "--ref", "ref", "--metric", "wer", "--out", "w")
    assert "has what looks like an id ('utt-00')" in result.stderr
    rows = [{"id": f"other{n}", "text": "a b", "F": 1} for n in range(SIZE) for _ in "ab"]
    (folder / "list.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    lists = ("--nbest", "list.jsonl", "--nbest-format", "jsonl:features=F")
    result = run("optimize", *lists, "--ref", "ref", "--metric", "wer", "--out", "w")
    assert "has what looks like an id ('utt-00')" in result.stderr


def test_missing_lines_count_as_empty(folder):
    lines_of(folder / "few", [line.replace("utt", "UTT") for line in HYPOTHESES[2:]])
    lines_of(folder / "empty", [*HYPOTHESES[2:], "utt-00", "utt-01"])
    found = scored("few", "ref", "--missing", "empty")
    assert found["scores"] == scored("empty", "ref", "--ids")["scores"]
    assert (
        "few: no line for 2 segments, counted as empty; the first is 'utt-00'"
        in (found["warnings"])
    )
    told = [
        run("compare", "--metric", "wer", "--ref", "ref", "b=hyp", f"a={few}", *way).stdout
        for few, way in (("few", ("--missing", "empty")), ("empty", ("--ids",)))
    ]
    assert told[0].split("N-grams")[0] == told[1].split("N-grams")[0]  # times are behind
    assert "p boot." in told[0]
    call = ("score", "--metric", "wer", "--hyp", "few", "--ref", "ref.plain")
    assert run(*call, "--missing", "empty").exit_code == 1


@pytest.mark.parametrize(
    ("lines", "are_ids"),
    [
        (["utt-1 a", "utt-2 b"], True),
        (["1089-134686-0000 a b", "1089-134686-0001 c"], True),
        (["a1 x", "a1 y"], False),  # twice
        (["a1 x", "a2 y", "the z"], False),
        (["a1 x", ""], False),
        (["a1", "a2", "a3 x"], False),  # texts of one word
        (["0 x", "1 y", "2 z"], True),
        (["3 x", "1 y", "2 z"], True),
        (["0 x", "1 y"], False),  # by chance
        (["5 x", "7 y", "9 z"], False),
        (["$5 x", "50% y", "3.5 z"], False),
        (["0-0 1-1", "1-0 0-1", "2-0"], False),  # word alignments
        (["one x", "two y"], False),
    ],
)
def test_what_looks_like_an_id(tmp_path, lines, are_ids):
    lines_of(tmp_path / "text", lines)
    assert (seem_ids(tmp_path / "text") is not None) == are_ids


def test_a_list_of_texts_under_a_key_is_named(folder):
    with (folder / "gen.jsonl").open("w") as file:
        for n in range(2):
            file.write(json.dumps({"id": f"u{n}", "sequences": ["a b", "c d"]}) + "\n")
    (folder / "list").write_text("0 ||| a b ||| F= 1 ||| 0\n1 ||| a b ||| F= 1 ||| 0\n")
    call = ("optimize", "--nbest", "list", "--metric", "wer", "--out", "w")
    feature = ("--ref", "list", "--feature", "q=chrf@gen.jsonl#sequences")
    for words in (feature, ("--ref", "gen.jsonl#sequences")):
        result = run(*call, *words)
        assert result.exit_code == 1
        message = result.stderr.splitlines()[-1]
        assert message.endswith(
            "gen.jsonl:1: 'sequences' is a list of 2 texts, expected one text"
        ), message


def commands(group, *path):
    """Yield all commands with the words that call them."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield command, (*path, name)


ADVICE = (f"nothing for id 'u1' of text; {DROP}", "u1 is odd; give --ids, --no-such-thing")


@pytest.mark.parametrize("said", ADVICE)
def test_no_error_names_an_option_that_the_command_lacks(said):
    group = click.Group("all", {name: main.get_command(None, name) for name in names_of_all()})
    seen = set()
    for command, _ in commands(group):
        fault = InputError(f"text:1: {said}")

        def fails(fault=fault, **_):
            raise fault

        alone = click.Command("alone", callback=fails, params=list(command.params))
        shown = with_volume(click.Command("x", callback=fails))
        with click.Context(alone), pytest.raises(InputError) as caught:
            shown.callback()
        options = {name for parameter in command.params for name in parameter.opts}
        message = str(caught.value)
        assert set(re.findall("--[a-z-]+", message)) <= options
        assert message.startswith("text:1: ")
        seen.add("--" in message)
    assert len(seen) == 1 + (said == ADVICE[0])


def names_of_all():
    return main.list_commands(None)


def test_ids_of_thousands_of_digits_are_ids(folder):
    """Python converts no number of more than 4,300 digits (found by fuzz)."""
    ids = [f"u-{1:04d}", f"u-{'2' * 5000}", "u-3"]
    for name in ("long.hyp", "long.ref"):
        lines_of(folder / name, [f"{name} a b" for name in ids])
    assert run("score", "--metric", "wer", "--hyp", "long.hyp", "--ref", "long.ref").exit_code == 0
    lines_of(folder / "long.plain", ["a b"] * 3)
    result = run("score", "--metric", "wer", "--hyp", "long.hyp", "--ref", "long.plain")
    assert result.exit_code == 1
    assert "are not in order" in result.stderr
