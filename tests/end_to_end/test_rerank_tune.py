"""`portmert rerank-tune`: from lists and scores to a tested result."""

import gzip
import json

import pytest

import portmert
from tests.end_to_end.test_tune_killed import products
from tests.support import quality_lists
from tests.support.cli import fault, run
from tests.support.places import INVENTED

DATA, RERANK = INVENTED / "recorded", INVENTED / "rerank"
DEV = ("--nbest", DATA / "1.nbest.gz", "--ref", DATA / "dev.tgt")
TEST = ("--test-nbest", DATA / "2.nbest.gz")
TEST_REF = ("--test-ref", DATA / "dev.tgt")
MERT = ("--optimizer", "mert:searches_per_feature=5,restarts=1", "--replicas", 2)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Numbers for both lists, and options that add them: of less length the score is higher."""
    folder = tmp_path_factory.mktemp("numbers")
    for name in ("1", "2"):
        lists = portmert.Lists.read(DATA / f"{name}.nbest.gz").nbest
        found = lists.texts.tokens.lengths[: lists.list_sizes[0]].tolist()
        found += [0] * (lists.list_sizes[0] - len(found))
        (folder / name).write_text("".join(f"{number}\n" for number in found))
    return ("--feature", f"qe={folder / '1'}"), ("--test-feature", f"qe={folder / '2'}")


def tune(*arguments, status=0):
    return run("rerank-tune", *DEV, *TEST, *MERT, "--metric", "bleu", *arguments, status=status)


def test_groups_of_the_test_lists_are_drawn(tmp_path):
    groups, out = tmp_path / "groups", ("--out-dir", tmp_path / "run")
    groups.write_text("".join(f"g{n // 5}\n" for n in range(40)))
    found = tune(*TEST_REF, "--groups", groups, *out)
    assert f"8 groups only, of {groups}" in found.stderr
    assert read(tmp_path / "run" / "comparison.json")["groups"]["count"] == 8
    groups.write_text("g1\n" * 3)
    assert "groups of 3 segments, the test lists have 40" in fault(
        *("rerank-tune", *DEV, *TEST, *MERT, "--metric", "bleu", *TEST_REF, "--groups", groups),
        *("--out-dir", tmp_path / "other"),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, numbers):
    folder = tmp_path_factory.mktemp("tuned") / "run"
    tune(*numbers[0], *numbers[1], "--feature", "length", *TEST_REF, "--also", "chrf",
         "--out-dir", folder)  # fmt: skip
    return folder


def read(path):
    return json.loads(path.read_text())


def test_it_is_optimize_and_rerank(folder, numbers, tmp_path):
    same = tmp_path / "same"
    run("optimize", *DEV, *TEST, *TEST_REF, *MERT, *numbers[0], *numbers[1], "--metric", "bleu",
        "--feature", "length", "--out-dir", same)  # fmt: skip
    ours, theirs = products(folder), products(same)
    del theirs["inputs.json"]  # its paths are relative
    assert {name: ours[name] for name in theirs} == theirs
    feature = numbers[1][1]
    out = run("rerank", "--nbest", DATA / "2.nbest.gz", "--weights", folder / "weights.json",
              "--feature", feature, "--feature", "length", "-q").stdout  # fmt: skip
    assert (folder / "output.txt").read_text() == out


def test_a_test_set_that_was_tuned_on_is_told(tmp_path):
    told = "of the test set are those tuned on: the scores of the test set say nothing of unseen"
    same = (*TEST_REF, "--out-dir", tmp_path / "same")
    assert f"the references {told}" in tune(*same).stderr
    other = tmp_path / "other.ref"
    other.write_text("\n".join(reversed((DATA / "dev.tgt").read_text().splitlines())) + "\n")
    result = tune("--test-ref", other, "--out-dir", tmp_path / "other")
    assert told not in result.stderr
    lists = ("--test-nbest", DATA / "1.nbest.gz", "--metric", "bleu", "--out-dir", tmp_path / "b")
    shared = "segments of the test set (all) have the features of segments tuned on: their scores"
    assert shared in run("rerank-tune", *DEV, *MERT, *lists).stderr


def test_the_choice_is_compared_with_all_else(folder):
    rows = {
        (row["system"], row["metric"]): row for row in read(folder / "comparison.json")["scores"]
    }
    systems = list(dict.fromkeys(system for system, _ in rows))
    assert systems[:3] == ["tuned", "averaged", "first"]
    assert systems[-1] == "oracle"
    lists = portmert.Lists.read(DATA / "2.nbest.gz").nbest
    assert systems[3] == "equal weights"
    single = {
        name.partition(" ")[2].removeprefix("single: ").lstrip("-") for name in systems[4:-1]
    }
    assert [name.startswith("best single: ") for name in systems].count(True) == 1
    dense = [(name, size) for name, size in lists.feature_names]
    assert len(single) == sum(size for _, size in dense) + 2
    first = portmert.rerank(lists, oracle_metric=None)
    for metric in ("bleu", "chrf"):
        known = portmert.score(first.lines, [DATA / "dev.tgt"], metric=metric).score
        assert rows["first", metric]["score"] == pytest.approx(known)
    best = max(row["score"] for (_, metric), row in rows.items() if metric == "bleu")
    assert rows["oracle", "bleu"]["score"] == best
    result = read(folder / "result.json")
    assert rows["tuned", "bleu"]["score"] == pytest.approx(result["test_score"]["mean"])
    assert rows["averaged", "bleu"]["score"] == pytest.approx(result["average"]["test"]["score"])


def test_what_needs_no_tuning_is_compared_as_planned_and_the_strongest_is_told_first(folder):
    document = read(folder / "comparison.json")
    rows = [row for row in document["scores"] if row["metric"] == "bleu"]
    planned = {row["system"]: row for row in rows if row["family"] == "planned"}
    kinds = ["first", "equal weights", "best single"]
    assert [name.partition(":")[0] for name in planned] == kinds
    strongest = max(planned, key=lambda name: planned[name]["score"])
    assert f" {strongest} " in f"{document['answers'][0]} "
    # The same by hand: each feature divided by its spread within lists, its sign that of the row.
    lists = portmert.Lists.read(DATA / "1.nbest.gz", features=["length"])
    test = portmert.Lists.read(DATA / "2.nbest.gz", features=["length"])
    assert {name for name, _ in lists.nbest.feature_names} < {
        row["system"].split()[-1].lstrip("-").partition("[")[0] for row in rows
    } | {"length"}
    best = next(name for name in planned if name.startswith("best single: "))
    alone = [row["system"] for row in rows if row["system"].startswith("only ")]
    on_dev = {}
    for name in (best, *alone):
        label = name.split()[-1]
        feature, _, place = label.lstrip("-").rstrip("]").partition("[")
        if feature not in dict(lists.nbest.feature_names):
            continue
        weights = {name: [0.0] * size for name, size in lists.nbest.feature_names}
        weights[feature][int(place or 0)] = -1.0 if label.startswith("-") else 1.0
        chosen = portmert.rerank(lists.nbest, weights).lines
        on_dev[name] = portmert.score(chosen, [DATA / "dev.tgt"], metric="bleu").score
        if name == best:
            chosen = portmert.rerank(test.nbest, weights).lines
            score = portmert.score(chosen, [DATA / "dev.tgt"], metric="bleu").score
            assert planned[best]["score"] == pytest.approx(score)
    assert len(on_dev) > 3
    assert on_dev.get(best, 2.0) >= max(on_dev.values())


def test_weights_in_use_are_a_row(folder, numbers, tmp_path):
    weights = folder / "weights.json"
    options = [*numbers[0], *numbers[1], "--feature", "length", *TEST_REF]
    tune(*options, "--weights", weights, "--out-dir", tmp_path / "again")
    scores = read(tmp_path / "again" / "comparison.json")["scores"]
    start = next(row for row in scores if (row["system"], row["metric"]) == ("start", "bleu"))
    before = read(folder / "comparison.json")["scores"]
    averaged = next(row for row in before if row["system"] == "averaged")
    assert start["score"] == pytest.approx(averaged["score"])
    assert start["family"] == "planned"


def test_a_single_feature_is_taken_with_its_better_sign(folder):
    names = {row["system"] for row in read(folder / "comparison.json")["scores"]}
    found = next(name for name in names if name.endswith("length"))
    lists = portmert.Lists.read(DATA / "1.nbest.gz", features=["length"]).nbest
    zero = {name: [0.0] * size for name, size in lists.feature_names}
    scores = [
        portmert.score(
            portmert.rerank(lists, {**zero, "length": [sign]}).lines, [DATA / "dev.tgt"],
            metric="bleu",
        ).score
        for sign in (1.0, -1.0)
    ]  # fmt: skip
    assert found.split()[-1] == ("-length" if scores[1] > scores[0] else "length")


def test_what_is_printed(folder, numbers):
    again = [*numbers[0], *numbers[1], "--feature", "length", *TEST_REF, "--also", "chrf",
             "--out-dir", folder]  # fmt: skip
    shown = tune(*again, "-q").stdout
    rows = [row for row in read(folder / "comparison.json")["scores"] if row["system"] == "first"]
    answers, _, table = shown.partition("\n\n")
    found = read(folder / "comparison.json")
    assert answers.splitlines() == found["answers"]
    assert [line.split()[-3:-1] for line in found["answers"]] == [["p", "="]] * 2
    head, _, main = (folder / "comparison.html").read_text().partition("<main")
    places = [head.index(part) for part in (found["answers"][0], ">Weights<", "<bdi>rerank-tune<",
                                            "<details", "oracle is better")]  # fmt: skip
    assert places == sorted(places)
    assert "<bdi>--out-dir=DIR<" in head
    assert ">Systems<" in main
    assert found["tuning_luck_untested"] == ["averaged"]
    assert "chance in tuning of averaged untested" in (folder / "comparison.html").read_text()
    assert not any("replica" in note for note in found["notes"])
    dev = read(folder / "result.json")["first"]["dev_score"]
    first = portmert.rerank(portmert.Lists.read(DATA / "1.nbest.gz"))
    known = portmert.score(first.lines, [DATA / "dev.tgt"], metric="bleu").score
    assert dev == pytest.approx(known)
    assert f" {100 * dev:.2f} -> " in shown
    (line,) = [line for line in table.splitlines() if line.startswith("first ") and "bleu" in line]
    assert line.split()[:4] == [
        "first", "bleu", f"{100 * rows[0]['score']:.2f}", f"{100 * rows[0]['difference']:+.2f}",
    ]  # fmt: skip
    assert line.split()[-1] == f"{rows[0]['p_holm']:.4f}"
    document = json.loads(tune(*again, "-q", "--json").stdout)
    assert document["comparison"] == read(folder / "comparison.json")
    few = next(line for line in document["warnings"] if "fewer than 100" in line)
    assert document["comparison"]["warnings"] == read(folder / "result.json")["warnings"]
    assert few in document["comparison"]["warnings"]
    assert few in (folder / "comparison.html").read_text()
    assert document["test_score"] == read(folder / "result.json")["test_score"]


def test_from_python_it_is_the_same(folder, numbers, tmp_path):
    found = portmert.rerank_tune(
        portmert.Lists.read(
            DATA / "1.nbest.gz", refs=DATA / "dev.tgt", features=[numbers[0][1], "length"],
            ),
        "bleu",
        test=portmert.Lists.read(
            DATA / "2.nbest.gz", refs=DATA / "dev.tgt", features=[numbers[1][1]]),
        also=["chrf"], replicas=2, optimizer="mert:searches_per_feature=5,restarts=1",
        out_dir=tmp_path / "run" )  # fmt: skip
    assert "\n".join(found.lines) + "\n" == (folder / "output.txt").read_text()
    ours, theirs = products(tmp_path / "run"), products(folder)
    assert {name for name in ours if ours[name] != theirs[name]} <= {"inputs.json"}


def test_without_references_of_the_test_set(tmp_path):
    shown = tune("--out-dir", tmp_path / "run")
    assert (
        "no reference of the test set (--test-ref), and no scores of its hypotheses"
        in shown.stderr
    )
    assert "Test set" not in shown.stdout
    assert not (tmp_path / "run" / "comparison.html").exists()
    assert len((tmp_path / "run" / "output.txt").read_text().splitlines()) == 40
    assert read(tmp_path / "run" / "result.json")["test_score"] is None


def test_word_order_with_links_of_the_lists(tmp_path):
    source = DATA / "dev.src"
    shown = run(
        "rerank-tune", *DEV, *TEST, *TEST_REF, *MERT, "--metric", "port", "--source", source,
        "--ref-links", DATA / "dev.links", "--test-source", source, "--test-ref-links",
        DATA / "dev.links", "--out-dir", tmp_path / "run",
    ).stdout  # fmt: skip
    scores = read(tmp_path / "run" / "comparison.json")["scores"]
    first = next(row["score"] for row in scores if row["system"] == "first")
    assert f"{100 * first:.2f}" in shown
    result = read(tmp_path / "run" / "result.json")
    averaged = next(row["score"] for row in scores if row["system"] == "averaged")
    assert averaged == pytest.approx(result["average"]["test"]["score"])


def test_scores_of_the_lists_judge_no_others(tmp_path):
    nbest, scores = RERANK / "marian.nbest.gz", f"scores:{RERANK / 'marian.scores'}"
    given = ["rerank-tune", "--nbest", nbest, "--test-nbest", nbest, "--test-ref",
             RERANK / "dev.ref", "--text", "hyp:debpe", "--metric", scores, *MERT,
             "--out-dir", tmp_path / "run"]  # fmt: skip
    assert (
        "has no scores of the test lists: give them (--test-scores NAME=FILE), or name a metric "
        "that compares the outputs, as --also chrf" in fault(*given)
    )
    shown = run(*given, "--also", "chrf")
    assert "scores has no scores of the test lists: they are not scored" in shown.stderr
    systems = {row["system"] for row in read(tmp_path / "run" / "comparison.json")["scores"]}
    rivals = {"first", "equal weights", "best single: F0", "only F1"}
    assert systems == {"tuned", "averaged", *rivals}
    assert read(tmp_path / "run" / "result.json")["test_score"] is None
    words = (tmp_path / "run" / "output.txt").read_text()
    assert "@@" not in words  # subwords are joined, as the text steps say
    assert "@@" in (tmp_path / "run" / "test" / "output.txt").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test-feature", "x=gone"], "gone: No such file"),
        (["--feature", "qe={qe}"], "the lists of the test set lack qe, which the others have"),
        (["--test-feature", "qe={qe2}"], "the lists tuned on lack qe, which the others have"),
        (["--feature", "qe={qe2}", "--test-feature", "qe={qe2}"], "1 number, n-best list 1 has"),
    ],
)
def test_features_of_one_side_only(tmp_path, numbers, options, message):
    qe, qe2 = (given[1].removeprefix("qe=") for given in numbers)
    short = tmp_path / "short"
    short.write_text("1\n")
    files = {"qe": qe, "qe2": short if "n-best" in message else qe2}
    options = [option.format(**files) for option in options]
    assert message in fault(
        "rerank-tune", *DEV, *TEST, *MERT, "--metric", "bleu", *options, "--out-dir",
        tmp_path / "run",
    )  # fmt: skip


def test_the_example_lists_are_what_their_program_makes():
    for name, content in quality_lists.files().items():
        found = (quality_lists.FOLDER / name).read_bytes()
        if name.endswith(".gz"):  # the same text may be packed in different ways
            found, content = gzip.decompress(found), gzip.decompress(content)  # noqa: PLW2901
        assert found == content, name


@pytest.mark.parametrize(
    ("also", "message"),
    [
        ("bleuu", "unknown metric 'bleuu'; did you mean 'bleu'"),
        ("scores:x", "--also scores:x: its scores are of the hypotheses of a list; for those of"),
        ("port", "metric port compares word orders; give --test-source and --test-ref-links"),
        ("hwcm", "metric hwcm compares syntax and needs an annotator"),
    ],
)
def test_what_cannot_judge_is_said_before_the_search(tmp_path, also, message):
    assert message in fault(
        "rerank-tune", *DEV, *TEST, *TEST_REF, *MERT, "--metric", "bleu", "--also", also,
        "--out-dir", tmp_path / "run",
    )  # fmt: skip
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("also", ["chrf", "scores:nonexistent.jsonl#x"])
def test_other_metrics_need_references_of_the_test_set(tmp_path, also):
    message = "outputs are compared with references of the test set; give --test-ref"
    assert f"--also {also}: {message}" in fault(
        "rerank-tune", *DEV, *TEST, *MERT, "--metric", "bleu", "--also", also,
        "--out-dir", tmp_path / "run",
    )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_nothing_stale_is_left_where_nothing_is_compared(tmp_path):
    tune(*TEST_REF, "--out-dir", tmp_path / "run")
    assert (tmp_path / "run" / "comparison.html").exists()
    tune("--out-dir", tmp_path / "run", "--fresh")
    assert not list((tmp_path / "run").glob("comparison.*"))
    assert not (tmp_path / "run" / "test" / "scores.json").exists()


def test_a_folder_may_have_any_name(tmp_path):
    tune(*TEST_REF, "--out-dir", tmp_path / "lr=0.1,ws@2")
    assert (tmp_path / "lr=0.1,ws@2" / "comparison.html").exists()


def test_other_features_are_other_work(folder, numbers):
    assert "data.features was" in fault(
        "rerank-tune", *DEV, *TEST, *MERT, *TEST_REF, "--metric", "bleu", "--out-dir", folder
    )
    without = fault("rerank-tune", *DEV, "--metric", "bleu", "--out-dir", folder, status=2)
    assert "Missing option '--test-nbest'" in without
    assert numbers


def test_lists_of_equal_model_scores_keep_the_start_weights(tmp_path):
    rows, refs = [], []
    for segment in range(12):
        words = [f"w{segment * n % 7}" for n in range(1, 9)]
        refs.append(f"{' '.join(words)}\n")
        rows += [
            f"{segment} ||| {' '.join(words[n:])} ||| LM= 1.5 TM= 2 ||| 3\n" for n in range(4)
        ]
    for size in (12, 1):
        nbest, ref = tmp_path / f"list{size}", tmp_path / f"ref{size}"
        nbest.write_text("".join(rows[: 4 * size]))
        ref.write_text("".join(refs[:size]))
        found = run(
            "rerank-tune", "--nbest", nbest, "--ref", ref, "--test-nbest", nbest,
            "--test-ref", ref, "--metric", "chrf", "--replicas", 2, "--out-dir",
            tmp_path / f"run{size}",
        )  # fmt: skip
        assert "the weights are the start weights" in found.stderr
        weights = read(tmp_path / f"run{size}" / "weights.json")["weights"]
        assert set(map(tuple, weights.values())) == {(0.5,)}
        assert "--length-penalty" not in found.stderr  # equal features order nothing
        assert not found.stdout.startswith("\n")  # one segment is not tested: no answer


def test_references_with_alternatives_are_those_of_their_segments(tmp_path):
    """Segments have unequal numbers of references then; `output.txt` is compared with all."""
    texts = {"s-1": "{ a / b } c", "s-2": "d e", "s-3": "f { g / h / i }", "s-4": "k l"}
    references = "".join(f"{name} {text}\n" for name, text in texts.items())
    (tmp_path / "refs").write_text(references)
    (tmp_path / "plain").write_text("".join(f"{text}\n" for text in texts.values()))
    hypotheses = {
        "s-1": ("b c", "x"),
        "s-2": ("d e", "x"),
        "s-3": ("f i", "x"),
        "s-4": ("k x", "x"),
    }
    (tmp_path / "lists").write_text(
        "".join(
            json.dumps({"id": name, "text": text, "good": 1 - place}) + "\n"
            for name, both in hypotheses.items()
            for place, text in enumerate(both)
        )
    )
    lists, refs, path = tmp_path / "lists", tmp_path / "refs", tmp_path / "run"
    options = (*MERT, "--nbest-format", "jsonl:features=good", "--metric", "wer", "--ref", refs)
    run(
        "rerank-tune", *options, "--nbest", lists, "--test-nbest", lists, "--test-ref", refs,
        "--out-dir", path,
    )  # fmt: skip
    compared = json.loads((path / "comparison.json").read_text())["scores"]
    tuned = next(row["rate"] for row in compared if row["system"] == "averaged")
    assert tuned == 1 / 8
    scored = run(
        "score",
        "--metric",
        "wer",
        "--hyp",
        path / "output.txt",
        "--ref",
        tmp_path / "plain",
        "--json",
    )
    assert json.loads(scored.stdout)["scores"][0]["score"] in (tuned, 1 - tuned)
