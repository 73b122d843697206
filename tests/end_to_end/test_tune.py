import gzip
import json

import pytest

from portmert.tuner.search.steps import Steps
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE_SET, products

CONFIG = INVENTED / "recorded.toml"
ALIGNER = ["--set", "data.reference_links=[]", "--set", "aligner.name=thot",
           "--set", "aligner.model=ibm1", "--set", "aligner.iterations=2"]  # fmt: skip


def tune(folder, *options, config=CONFIG, status=0):
    is_default = not any("optimizer." in option for option in options)
    little = LITTLE_SET if is_default else ()
    return run("tune", config, "--set", f"tune.output={folder}", *little, *options, status=status)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune") / "run"
    result = tune(folder)
    return folder, result


def test_tune_raises_the_dev_score_and_says_where_the_result_is(finished):
    folder, shown = finished
    result = json.loads((folder / "result.json").read_text())
    assert result["metric"].startswith("port:alpha=0.25")
    assert result["dev_score"] > result["start_dev_score"] + 0.01
    estimates = [line["unseen_score"] for line in result["iterations"]]
    assert max(estimates) > estimates[0] == result["start_dev_score"]
    assert estimates[0] < result["unseen_score"] <= max(estimates)
    assert f"unseen {100 * result['unseen_score']:.2f} (estimate" in shown.stdout
    assert f"weights: {folder / 'weights.json'}" in shown.stdout
    assert f" {100 * result['start_dev_score']:.2f} -> " in shown.stdout
    assert "iteration 1: optimizing over" in shown.stderr


def test_tune_keeps_the_weights_of_the_best_iteration(finished):
    folder, _ = finished
    best = json.loads((folder / "result.json").read_text())["best_iteration"]
    weights = (folder / "weights.json").read_bytes()
    assert weights == (folder / f"iteration-{best:02d}" / "weights.json").read_bytes()


def test_the_dev_score_is_that_of_portmert_score(finished, tmp_path):
    folder, _ = finished
    best = json.loads((folder / "result.json").read_text())["best_iteration"]
    nbest = folder / f"iteration-{best:02d}" / "nbest.gz"
    data = INVENTED / "recorded"
    out, links = tmp_path / "out", tmp_path / "links"
    run(
        "rerank", "--nbest", nbest, "--weights", folder / "weights.json", "--out", out,
        "--links-out", links,
    )  # fmt: skip
    scored = run(
        "score", "--metric", "port", "--hyp", out, "--ref", data / "dev.tgt", "--source",
        data / "dev.src", "--hyp-links", links, "--ref-links", data / "dev.links", "--json",
    )  # fmt: skip
    assert json.loads(scored.stdout)["scores"][0]["score"] == pytest.approx(
        json.loads((folder / "result.json").read_text())["dev_score"], abs=1e-12
    )


def test_nothing_but_the_log_knows_of_time_and_place(finished):
    folder, _ = finished
    for name, content in products(folder).items():
        if not name.endswith(".gz"):
            assert str(folder).encode() not in content, name


@pytest.mark.parametrize("threads", [1, 2])
def test_same_seed_same_bytes_for_any_number_of_threads(finished, tmp_path, threads):
    folder, _ = finished
    tune(tmp_path / "run", "--threads", str(threads))
    assert products(tmp_path / "run") == products(folder)


def test_a_finished_run_started_again_changes_nothing(finished):
    folder, first = finished
    before = products(folder)
    again = tune(folder)
    assert again.stdout == first.stdout
    assert "decoding" not in again.stderr
    assert products(folder) == before


def test_fresh_with_a_wrong_config_removes_nothing(finished):
    folder, _ = finished
    before = products(folder)
    result = tune(folder, "--fresh", "--set=metric.alhpa=0.5", status=1)
    assert "[metric]: metric port has no option 'alhpa'; did you mean 'alpha'?" in result.stderr
    assert products(folder) == before


def test_the_aligner_makes_the_links_that_are_missing(tmp_path):
    result = tune(tmp_path / "run", "--set=tune.iterations=1", *ALIGNER)
    assert "aligning the dev references" in result.stderr
    links = (tmp_path / "run" / "annotations" / "dev-1.links").read_text().splitlines()
    assert len(links) == 40


def test_a_list_without_links_goes_through_the_aligner(tmp_path):
    stripped = []
    for number in (1, 2):
        path = INVENTED / "recorded" / f"{number}.nbest.gz"
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        stripped.append(tmp_path / f"{number}.nbest")
        stripped[-1].write_text("".join(" ||| ".join(x.split(" ||| ")[:4]) + "\n" for x in lines))
    options = [
        f"--set=decoder.lists={[str(path) for path in stripped]}",
        "--set=tune.iterations=2",
    ]
    without = tune(tmp_path / "none", *options, status=1)
    assert "the n-best list has no word alignment and there is no [aligner]" in without.stderr
    first = tune(tmp_path / "run", *options, *ALIGNER)
    assert "new hypotheses" in first.stderr
    again = tune(tmp_path / "run", *options, *ALIGNER)
    assert "aligning" not in again.stderr


def test_test_data_is_decoded_and_scored_with_the_result(tmp_path):
    folder = tmp_path / "run"
    options = (
        "--set=data.test_source='recorded/dev.src'",
        "--set=data.test_references=['recorded/dev.tgt']",
        "--set=data.test_reference_links=['recorded/dev.links']",
        "--set=tune.iterations=2",
    )
    result = tune(folder, *options)
    found = json.loads((folder / "result.json").read_text())
    assert found["start_test_score"] == pytest.approx(found["start_dev_score"], abs=1e-12)
    untuned = f"{100 * found['start_test_score']:.2f}"
    assert f"test {100 * found['test']['score']:.2f} (start weights {untuned})" in result.stdout
    begun = products(folder)
    assert begun["test-start/scores.json"] != begun["test/scores.json"]
    for gone in ("test-start/scores.json", "test-start/nbest.gz", "result.json"):
        (folder / gone).unlink()  # as after a kill
    tune(folder, *options)
    assert products(folder) == begun
    assert found["test"]["score"] == pytest.approx(found["dev_score"], abs=1e-12)
    assert f"test {100 * found['test']['score']:.2f}" in result.stdout
    assert len((tmp_path / "run" / "test" / "output.txt").read_text().splitlines()) == 40


def test_constraints_reach_the_optimizer(tmp_path):
    tune(tmp_path / "run", "--set=constraints.fixed=['LM0']", "--set=tune.iterations=1")
    weights = json.loads((tmp_path / "run" / "iteration-01" / "optimized.json").read_text())
    assert weights["weights"]["LM0"] == [1.0]
    wrong = tune(tmp_path / "wrong", "--set=constraints.fixd=['LM0']", status=1)
    assert "[constraints] has no key 'fixd'; did you mean 'fixed'?" in wrong.stderr


def test_a_decoder_that_does_not_use_the_weights_is_reported(tmp_path, monkeypatch):
    from portmert.tuner.decoders.recorded import Recorded

    real = Recorded.decode

    def deaf(self, _weights, **where):
        real(self, self.read_weights(), **where)

    monkeypatch.setattr(Recorded, "decode", deaf)
    result = tune(tmp_path / "run", "--set=tune.iterations=2")
    assert "iteration 2: " in result.stderr
    assert "are not weights . features" in result.stderr
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert any("iteration 2: " in line and "weights . features" in line
               for line in found["warnings"])  # fmt: skip
    assert "the decoder found no new hypothesis" in result.stdout


def searches(folder, monkeypatch, *options):
    """Return, for each search of a run, its start weights and its seed."""
    from portmert.tuner.runs import loop

    real, seen = loop.find_weights, []

    def watched(nbest, stats, metric, setup, **more):
        seen.append(([start.values for start in setup.starts], setup.seed))
        return real(nbest, stats, metric, setup, **more)

    monkeypatch.setattr(loop, "find_weights", watched)
    tune(folder, *options)
    return seen


def weights_of(folder, number, name="weights"):
    content = json.loads((folder / f"iteration-{number:02d}" / f"{name}.json").read_text())
    return {feature: tuple(values) for feature, values in content["weights"].items()}


def test_the_default_searches_from_the_start_weights_and_goes_a_share_of_the_way(
    tmp_path, monkeypatch
):
    folder = tmp_path / "run"
    seen = searches(folder, monkeypatch, "--set=tune.iterations=3")
    assert len(seen) == 3
    assert seen == [([weights_of(folder, 1)], seen[0][1])] * 3  # of the same held-out segments
    shares = []
    for number in (1, 2, 3):
        before, found = weights_of(folder, number), weights_of(folder, number, "optimized")
        usual = Steps(shares).next_share(FeatureWeights(before), FeatureWeights(found))
        content = (folder / f"iteration-{number:02d}" / "optimized.json").read_text()
        share = json.loads(content)["share"]
        assert share in (1.0, pytest.approx(usual))
        shares.append(share)
        after = FeatureWeights(before).towards(FeatureWeights(found), share)
        assert weights_of(folder, number + 1) == after.values != before


def test_mert_searches_from_the_last_and_the_best_weights_and_goes_all_the_way(
    tmp_path, monkeypatch
):
    folder = tmp_path / "run"
    options = [
        "--set=optimizer.name=mert",
        "--set=optimizer.searches_per_feature=5",
        "--set=tune.iterations=3",
    ]
    seen = searches(folder, monkeypatch, *options)
    iterations = json.loads((folder / "result.json").read_text())["iterations"]
    scores = [one["dev_score"] for one in iterations]
    for number, (starts, _) in enumerate(seen, 1):
        best = 1 + max(range(number), key=lambda k: scores[k])
        assert starts == [weights_of(folder, n) for n in dict.fromkeys([number, best])]
        assert weights_of(folder, number + 1) == weights_of(folder, number, "optimized")
    assert len({seed for _, seed in seen}) == 3


def test_start_weights_that_are_best_on_held_out_text_are_the_result(tmp_path):
    # Weights that were tuned on whole references; tuning them on halves of these loses.
    mert = ("--set=optimizer.name=mert", "--set=optimizer.searches_per_feature=50")
    tune(tmp_path / "whole", "--set=metric.name=bleu", *mert)
    wrong = tmp_path / "wrong"
    lines = (INVENTED / "recorded/dev.tgt").read_text().splitlines()
    wrong.write_text(
        "".join(" ".join(line.split()[: len(line.split()) // 2]) + "\n" for line in lines)
    )
    result = tune(
        tmp_path / "run", f"--set=data.references=['{wrong}']", "--set=metric.name=bleu",
        "--set=data.held_out_source='recorded/dev.src'",
        "--set=data.held_out_references=['recorded/dev.tgt']", "--set=tune.patience=1",
        f"--set=tune.weights={tmp_path / 'whole' / 'weights.json'}", *mert,
    )  # fmt: skip
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert len(found["iterations"]) == 2
    assert found["best_iteration"] == 1
    said = "equal to the start weights: no gain shown (the held-out score got no better)"
    assert said in result.stdout.splitlines()
    assert found["equals_start"]
    assert found["gain"] == 0
    kept = (tmp_path / "run" / "weights.json").read_bytes()
    assert kept == (tmp_path / "run" / "iteration-01" / "weights.json").read_bytes()


def test_the_default_finds_weights_of_sparse_features(tmp_path):
    lists = []
    for number in (1, 2):
        packed = (INVENTED / f"recorded/{number}.nbest.gz").read_bytes()
        lists.append(tmp_path / f"{number}.nbest")
        with lists[-1].open("w") as out:
            for line in gzip.decompress(packed).decode().splitlines():
                fields = line.split(" ||| ")
                kind = "long" if len(fields[1].split()) > 8 else "short"  # one in each line
                fields[2] += f" length_{kind}= 1"
                out.write(" ||| ".join(fields) + "\n")
    folder = tmp_path / "run"
    tune(folder, f"--set=decoder.lists={[str(path) for path in lists]}", "--set=tune.iterations=2")
    first, later = weights_of(folder, 1), weights_of(folder, 3)
    found = weights_of(folder, 1, "optimized")
    names = {name for name in found if name.startswith("length_")}
    assert names
    assert all(first.get(name, (0.0,)) == (0.0,) for name in names)
    assert any(later[name] != (0.0,) for name in names)
    start, end = FeatureWeights(first), FeatureWeights(found)
    assert weights_of(folder, 2) == start.towards(end, Steps().next_share(start, end)).values


@pytest.mark.parametrize("optimizer", ["bagged", "mert:searches_per_feature=5"])
def test_weights_found_after_the_last_decoding_are_the_result(tmp_path, optimizer):
    name, _, options = optimizer.partition(":")
    given = ["--decodings=2", f"--set=optimizer.name={name}", *(
        f"--set=optimizer.{option}" for option in options.split(",") if option
    )]  # fmt: skip
    shown = tune(tmp_path / "run", *given)
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert found["stopped"] == "the limit of 2 decodings is reached"
    assert [one["is_decoded"] for one in found["iterations"]] == [True, True, False]
    last = found["iterations"][-1]
    assert found["best_iteration"] == 3
    assert found["dev_score"] == last["dev_score"] > found["start_dev_score"]
    assert not (tmp_path / "run" / "iteration-03" / "nbest.gz").exists()
    assert f"dev {100 * last['dev_score']:6.2f}" in shown.stderr
    assert "not decoded" in shown.stderr
    # Its score is that of the best hypotheses in both lists.
    data = INVENTED / "recorded"
    lists = [tmp_path / "run" / f"iteration-0{n}" / "nbest.gz" for n in (1, 2)]
    rescored = run(
        "optimize", "--metric", "port", "--nbest", lists[0], "--nbest", lists[1],
        "--ref", data / "dev.tgt", "--source", data / "dev.src",
        "--ref-links", data / "dev.links",
        "--weights", tmp_path / "run" / "weights.json", "--optimizer", "coordinate:restarts=1",
        "--out", tmp_path / "w.json", "--json",
    )  # fmt: skip
    start = json.loads(rescored.stdout)["start_score"]
    assert start == pytest.approx(last["dev_score"], abs=1e-12)
    first = products(tmp_path / "run")
    tune(tmp_path / "run", *given)  # finished: nothing changes
    assert products(tmp_path / "run") == first


def test_a_step_that_gains_no_more_than_half_its_error_ends_the_run(finished, tmp_path):
    tune(tmp_path / "run", "--set=tune.min_gain=0.5")
    found = json.loads((tmp_path / "run" / "result.json").read_text())["iterations"]
    whole = json.loads((finished[0] / "result.json").read_text())["iterations"]
    assert 3 <= len(found) < len(whole)
    assert found == whole[: len(found)]  # until then it is the same run
    assert found[-1]["gain"] <= 0.5 * found[-1]["gain_error"]
    assert all(one["gain"] > 0.5 * one["gain_error"] for one in found[2:-1])


def test_lists_that_hold_nothing_better_are_told(tmp_path):
    shown = tune(tmp_path / "run", "--set=tune.nbest=1", "--decodings=1").stderr
    assert "the lists hold nothing better than the start weights choose (port " in shown
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert any("hold nothing better" in line for line in found["warnings"])
    shown = tune(tmp_path / "more", "--decodings=1").stderr
    assert "hold nothing better" not in shown
