import pytest

from portmert.tuner.base import streams
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from portmert.tuner.runs.config import load_config

CONFIG = """
[tune]
output = "run"
seed = 7

[data]
source = "dev.src"
references = ["dev.ref"]

[metric]
name = "bleu"

[decoder]
name = "recorded"
lists = ["run1.nbest"]
"""


@pytest.fixture
def folder(tmp_path):
    for name in ("dev.src", "dev.ref", "dev.links", "test.src", "test.ref"):
        (tmp_path / name).write_text("a b\n")
    (tmp_path / "run1.nbest").write_text("0 ||| a b ||| F0= 1 ||| 1\n")
    (tmp_path / "my.toml").write_text(CONFIG)
    return tmp_path


def load(folder, *overrides, **options):
    return load_config(folder / "my.toml", overrides=overrides, **options)


def message(folder, *overrides, text=None):
    if text is not None:
        (folder / "my.toml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        load(folder, *overrides)
    return str(raised.value)


def test_load_reads_paths_relative_to_the_file(folder):
    experiment = load(folder)
    assert experiment.tune.output == folder / "run"
    assert experiment.tune.seed == 7
    assert experiment.data.references == (folder / "dev.ref",)
    assert experiment.metric.name() == "bleu"
    assert experiment.decoder.lists == (folder / "run1.nbest",)
    assert type(experiment.optimizer).__name__ == "Bagged"
    assert experiment.aligner is None


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("data.source=~nosuchuser/x", "[data]: source"),
        ('data.references=["~nosuchuser/x"]', "[data]: references"),
        ('decoder.lists=["~nosuchuser/x"]', "[decoder] lists"),
    ],
)
def test_the_home_of_nobody_is_named(folder, override, key):
    said = message(folder, override)
    assert f"{key}: " in said
    assert "'~nosuchuser/x': there is no such user, or it has no folder" in said


def test_overrides_are_toml_or_else_text_and_the_last_wins(folder):
    experiment = load(
        folder, "tune.seed=3", "metric.name=port", "data.reference_links=['dev.links']",
        "metric.alpha=0.5", "metric.alpha=0.3", 'tune.output="b"',
    )  # fmt: skip
    assert experiment.tune.seed == 3
    assert experiment.metric.alpha == 0.3
    assert experiment.tune.output == folder / "b"
    assert load(folder, "tune.seed=3", seed=4, threads=2).tune.seed == 4
    assert load(folder, threads=2).threads == 2
    assert load(folder).threads >= 1


def test_a_least_gain_needs_an_optimizer_that_holds_segments_out(folder):
    found = message(folder, "tune.min_gain=0.5", "optimizer.name='mert'")
    assert found.endswith("[tune] min_gain: optimizer mert holds no segments out")


@pytest.mark.parametrize("override", ["seed=3", "tune.seed", ".seed=3", "tune.=3"])
def test_an_override_must_name_table_and_key(folder, override):
    assert message(folder, override) == (
        f"overrides {override}: expected table.key=value, for example tune.seed=3"
    )


def test_an_override_below_a_value_is_an_error(folder):
    assert (
        message(folder, "tune.seed.x=3") == "overrides tune.seed.x=3: seed is a value, not a table"
    )


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("test.source=x", "[test]; a test set is test_source and test_references in [data]"),
        ("tun.seed=3", "there is no table [tun]; did you mean 'tune'?"),
        ("tune.sed=3", "[tune] has no key 'sed'; did you mean 'seed'?"),
        ("metric.smoth=1", "[metric]: metric bleu has no option 'smoth'; did you mean 'smooth'?"),
        ("executor.name='loca'", "FILE.toml with [executor]; did you mean 'local'?"),
        ("metric.name='blue'", "[metric] unknown metric 'blue'; did you mean 'bleu'?"),
    ],
)  # fmt: skip
def test_an_unknown_key_names_file_table_and_the_nearest(folder, override, said):
    found = message(folder, override)
    assert found.startswith(f"{folder / 'my.toml'}: ")
    assert found.endswith(said)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("tune.seed=-1", "[tune] seed: Input should be greater than or equal to 0, found -1"),
        ("tune.min_weight_change=3", "[tune] min_weight_change: Input should be less than"),
        ("data.references=[]", "[data] references: expected at least 1, found"),
        ("data.lowercase=often", "[data] lowercase: Input should be a valid boolean"),
        ("metric.name=5", '[metric] needs name = "...", one of: bleu'),
        ("executor.jobs=5", "[executor]: name must be given, expected one of local, dask:AD"),
        ("executor={name='local',cores=5}", "overrides executor={name='local',cores=5}: exp"),
        ("constraints=5", "overrides constraints=5: expected table.key=value"),
        ("constraints.fixed=['F.]", "overrides constraints.fixed: '['F.]': the quote ' before "),
        ("a'.b=3", "overrides: 'a'.b=3': the quote ' before '.b=3' is not closed"),
    ],
)  # fmt: skip
def test_a_wrong_value_says_what_was_expected(folder, override, said):
    assert said in message(folder, override)


def test_a_value_in_place_of_a_table(folder):
    said = message(folder, text="decoder = 'thot'\n")
    assert said.endswith("my.toml: decoder is a table; write [decoder], then its keys")


def test_a_scheduler_s_file_is_relative_to_the_configuration_and_executor_goes_before(folder):
    path = folder / "my.toml"
    path.write_text(f'{CONFIG}\n[executor]\nname = "dask:there/cluster.json"\n')
    found = load_config(path)
    assert found.executor.address == str(folder / "there" / "cluster.json")
    assert found.fingerprint() == load_config(path, executor="local").fingerprint()
    assert load_config(path, executor="local").executor.is_local
    assert load_config(path, executor="dask:x.json").executor.address == "x.json"


@pytest.mark.parametrize("how", ["table", "key", "override"])
def test_a_metric_may_be_a_formula(folder, how):
    text = "0.5*bleu + 0.5*qmean:recall_cap=true"
    if how == "table":
        changed = CONFIG.replace('name = "bleu"', f'formula = "{text}"')
        (folder / "my.toml").write_text(changed)
    elif how == "key":
        changed = CONFIG.replace('[metric]\nname = "bleu"\n', "")
        (folder / "my.toml").write_text(f'metric = "{text}"\n{changed}')
    else:
        (folder / "my.toml").write_text(CONFIG.replace('[metric]\nname = "bleu"', "[metric]"))
    experiment = load(folder, *([f"metric.formula={text}"] if how == "override" else []))
    assert experiment.metric == registry.metric(text)
    assert "metrics" in "".join(key for key in experiment.fingerprint() if "metric." in key)


def test_a_formula_stands_alone(folder):
    assert '[metric] formula = "..." stands alone' in message(folder, "metric.formula='bleu*2'")


def test_a_faulty_formula_names_file_and_table(folder):
    text = CONFIG.replace('name = "bleu"', 'formula = "0.5*bleu + blue"')
    said = message(folder, text=text)
    assert "my.toml: [metric] formula: unknown metric 'blue'; did you mean 'bleu'? (col" in said


@pytest.mark.parametrize("table", ["tune", "data", "metric", "decoder"])
def test_a_missing_table_is_named(folder, table):
    said = message(folder, text=CONFIG.replace(f"[{table}]", "[constraints]", 1))
    assert said.endswith(f"my.toml: the table [{table}] is missing")


def test_a_missing_key_is_named(folder):
    said = message(folder, text=CONFIG.replace('output = "run"', ""))
    assert said.endswith("my.toml: [tune] output must be given")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("data.source='x'", "[data] source: there is no file {}/x"),
        ("data.references=['dev.ref', 'x']", "[data] references: there is no file {}/x"),
        ("tune.weights='x'", "[tune] weights: there is no file {}/x"),
    ],
)
def test_a_missing_file_is_named_with_its_key(folder, override, said):
    assert message(folder, override).endswith(said.format(folder))


def test_not_toml_says_where(folder):
    assert "my.toml: not TOML: " in message(folder, text="[tune\n")
    assert "line 1" in message(folder, text="[tune\n")


def test_not_utf8_and_not_there(folder):
    (folder / "my.toml").write_bytes(b"x = '\xff'\n")
    assert "not UTF-8 (byte 5)" in message(folder)
    (folder / "my.toml").unlink()
    assert "my.toml: No such file" in message(folder)


@pytest.mark.parametrize("prior", ["inf", "'Infinity'", "'1e31'", "-1"])
def test_a_prior_is_a_number_to_calculate_with(folder, prior):
    assert "prior" in message(folder, f"tune.prior={prior}")


def test_half_a_test_set_is_an_error(folder):
    assert "[data] has test_source, but no test_references" in message(
        folder, "data.test_source='test.src'"
    )
    assert "[data] has test_references, but no test_source" in message(
        folder, "data.test_references=['test.ref']"
    )


def test_links_for_some_references_only_are_an_error(folder):
    assert "[data] reference_links: 2 files for 1 reference" in message(
        folder, "data.reference_links=['dev.links', 'dev.links']"
    )


def test_a_metric_that_needs_links_needs_someone_to_make_them(folder):
    assert "metric port needs links of the references; give [data] reference_links" in message(
        folder, "metric.name=port"
    )
    assert load(folder, "metric.name=port", "data.reference_links=['dev.links']")
    assert "give [data] test_reference_links" in message(
        folder, "metric.name=port", "data.reference_links=['dev.links']",
        "data.test_source='test.src'", "data.test_references=['test.ref']",
    )  # fmt: skip


def test_fingerprint_ignores_where_and_how_fast(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("moved")
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    moved = load(other, "tune.output='elsewhere'", threads=2).fingerprint()
    assert moved == load(folder).fingerprint()


def test_fingerprint_ignores_what_starts_the_decoder_but_not_its_flags(folder):
    (folder / "moses.ini").write_text("[weight]\nLM0= 1\n")
    text = CONFIG.replace(
        'name = "recorded"\nlists = ["run1.nbest"]', 'name = "moses"\nconfig = "moses.ini"'
    )
    (folder / "my.toml").write_text(text)
    plain = load(folder).fingerprint()
    assert load(folder, "decoder.command='ssh host'", "decoder.jobs=4").fingerprint() == plain
    assert load(folder, "decoder.flags='-s 50'").fingerprint() != plain


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("metric.smooth=exp", "metric.smooth"),
        ("data.lowercase=true", "data.lowercase"),
        ("constraints.fixed=['F0']", "constraints.fixed"),
    ],
)
def test_fingerprint_sees_what_changes_the_result(folder, override, key):
    before, after = load(folder).fingerprint(), load(folder, override).fingerprint()
    assert {k for k in {**before, **after} if before.get(k) != after.get(k)} == {key}


@pytest.mark.parametrize(
    ("file", "key"),
    [("dev.src", "data.source"), ("dev.ref", "data.references"), ("run1.nbest", "decoder.lists")],
)
def test_fingerprint_sees_what_a_file_holds(folder, file, key):
    before = load(folder).fingerprint()
    (folder / file).write_text("0 ||| c ||| F0= 1 ||| 1\n")
    after = load(folder).fingerprint()
    assert {k for k in before if before[k] != after[k]} == {key}


def test_a_metric_of_syntax_needs_an_annotator(folder):
    found = message(folder, "metric.name=edpm")
    assert "metric edpm compares syntax; give an [annotator] that tags or parses" in found
    found = message(folder, "metric.name=edpm", "annotator.name=udpip")
    assert found.endswith("[annotator] unknown annotator 'udpip'; did you mean 'udpipe'?")
    found = message(folder, "metric.name=edpm", "annotator.name=udpipe", "annotator.model=none")
    assert f"[annotator] {folder / 'none'}: no such model; give one of UDPipe 1" in found
    # N-grams alone need no parse.
    assert load(folder, "metric.name=edpm", "metric.of=1g+2g").annotator is None


def test_an_annotator_that_no_metric_asks_is_looked_at_too(folder):
    found = message(folder, "annotator.name=udpipe", "annotator.model=none")
    assert f"[annotator] {folder / 'none'}: no such model" in found
    (folder / "trees").write_text("(S (A a) (B b))\n")
    unused = load(folder, "annotator.name=ptb", "annotator.files=['trees']")
    assert "annotator" not in unused.fingerprint()


def test_the_fingerprint_holds_what_the_annotator_answers_depend_on(folder):
    (folder / "trees").write_text("(S (A a) (B b))\n")
    options = ("metric.name=edpm", "annotator.name=ptb", "annotator.files=['trees']")
    first = load(folder, *options).fingerprint()
    assert first["annotator"].startswith("ptb 1 ")
    assert load(folder, *options, "tune.annotation_cache=here").fingerprint() == first
    (folder / "trees").write_text("(S (A a) (C b))\n")
    assert load(folder, *options).fingerprint()["annotator"] != first["annotator"]


def test_an_annotator_and_a_cache_given_apart_replace_those_of_the_file(folder):
    (folder / "trees").write_text("(S (A a) (B b))\n")
    given = registry.annotator(f"ptb:files={folder / 'trees'}")
    experiment = load(
        folder, "metric.name=edpm", "annotator.name=udpipe", "annotator.model=none",
        annotator=given, annotation_cache=folder / "cache",
    )  # fmt: skip
    assert experiment.annotator == given
    assert experiment.tune.annotation_cache == folder / "cache"


def test_an_annotator_in_words_takes_several_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.mrg", "b.mrg"):
        (tmp_path / name).touch()
    found = registry.annotator("ptb:files=a.mrg,files=b.mrg,log_base=10")
    assert [path.name for path in found.files] == ["a.mrg", "b.mrg"]
    assert found.log_base == 10
    with pytest.raises(ConfigError, match="option 'log_base' is given twice"):
        registry.annotator("ptb:files=a,log_base=2,log_base=3")


def test_the_seed_of_a_replica_can_be_set(folder):
    seed = streams.replica(1, 2)
    assert load(folder, f"tune.seed={seed}").tune.seed == seed
