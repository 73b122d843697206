"""Setups of real users with the real Moses: they run, or are refused before the first decoding."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest

import portmert
from portmert.extensions.mert_moses.dat_files import read_dat
from portmert.tuner.weights.feature_weights import read_weights
from tests.support.cli import fault, run
from tests.support.places import PROGRAMS, ROOT, SHARED, programs
from tests.support.real_moses import real_system

REFERENCE = "the little house\nthe house\nlittle house\nthe\nlittle house\n"
SETTINGS = [
    "--nbest=10", "--maximum-iterations=1", "--no-filter-phrase-table", "--decoder-flags=-v 0",
    "--mertargs=--type powell --set restarts=1 --set searches_per_feature=20",
]  # fmt: skip


@pytest.fixture
def system(tmp_path):
    """The folder of a small system: source, reference, configuration, decoder."""
    decoder, source = real_system(tmp_path)
    (tmp_path / "dev.ref").write_text(REFERENCE)
    return {
        "source": source, "ref": tmp_path / "dev.ref", "decoder": decoder.program,
        "ini": decoder.config, "folder": tmp_path,
    }  # fmt: skip


def command(system, *options, work="work", **changed):
    four = [{**system, **changed}[name] for name in ("source", "ref", "decoder", "ini")]
    folder = system["folder"] / work
    return ["mert-moses", *four, f"--working-dir={folder}", *SETTINGS, *options]


def tune(system, *options, work="work", **changed):
    run(*command(system, *options, work=work, **changed))
    return system["folder"] / work


def refused(system, *options, **changed):
    """Return why a tuning is refused; nothing may have been decoded."""
    said = fault(*command(system, *options, **changed))
    assert not list((system["folder"] / "work").glob("run*.out*"))
    return said


def first_hypotheses(work):
    with gzip.open(work / "run1.best10.out.gz", "rt") as lines:
        return list(lines)


def with_lines(system, **feature_lines):
    """Return a changed moses.ini: of each section the lines that are added."""
    text = system["ini"].read_text()
    for section, line in feature_lines.items():
        text = text.replace(f"[{section}]\n", f"[{section}]\n{line}\n")
    path = system["folder"] / "changed.ini"
    path.write_text(text)
    return path


def wrapper(system, text, name="wrapped"):
    """Return a decoder: a shell script, where `$MOSES` is the program and `$LIST` its list."""
    path = system["folder"] / name
    find = "echo \"$*\" | sed 's/.*-n-best-list \\([^ ]*\\).*/\\1/'"
    before = f"MOSES={system['decoder']}\nLIST=$({find})"
    path.write_text(f"#!/bin/bash\n{before}\n{text}\n")
    path.chmod(0o755)
    return path


# Sparse and dense.


def test_a_sparse_feature_that_every_hypothesis_has_stays_sparse(system):
    system["source"].write_text("das haus\nhaus das\nhaus\ndas\ndas haus\n")
    ini = with_lines(system, feature="PhraseLengthFeature")
    work = tune(system, "--maximum-iterations=2", "--batch-mira", ini=ini)
    lists = read_dat([work / "run1.features.dat"], [work / "run1.scores.dat"])
    assert "PhraseLengthFeature0_t1" in lists.sparse.names
    assert not any("PhraseLength" in name for name, _ in lists.feature_names)


def test_dense_weights_in_a_weight_file_are_the_start(system):
    text, _, weights = system["ini"].read_text().partition("[weight]\n")
    (system["folder"] / "w").write_text(weights.replace("LM0= 0.5", "LM0= 0.7"))
    ini = system["folder"] / "file.ini"
    ini.write_text(f"{text}[weight-file]\n{system['folder']}/w\n")
    work = tune(system, ini=ini)
    start = read_weights(work / "run1.dense").values
    assert start["LM0"] == (0.7,)
    assert len(start["TranslationModel0"]) == 4
    assert read_weights(work / "moses.ini").values.keys() == start.keys()


# Features that lists do not show.

HIDDEN = {
    "LM0": ("KENLM", "KENLM tuneable=false"),
    "Distortion0": ("\nDistortion", "\nDistortion tuneable=false"),
    "TranslationModel0": (" num-features", " tuneable-components=0,0,1,0 num-features"),
}
EXHAUSTIVE = ["--nbest=1000", "--decoder-flags=-v 0 -s 1000", "--sctype=TER"]
ROBUST = ["--mertargs=", "--batch-mira"]
"""Its weights stand far from ties, which single precision decides otherwise."""


def with_hidden(system, name):
    system["ini"].write_text(system["ini"].read_text().replace(*HIDDEN[name], 1))
    return read_weights(system["ini"]).values


def decoded(system, ini):
    """Return the score of what Moses makes of the source with a configuration."""
    outputs = subprocess.run(
        [str(system["decoder"]), "-config", str(ini)], input=system["source"].read_text(),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    references = [system["ref"].read_text().splitlines()]
    return portmert.score(outputs.splitlines(), references, metric="ter").score


def printed(work):
    """Return the error rate that stands in a tuned configuration."""
    return 1 - float(re.search(r"# TER ([\d.]+) on dev", (work / "moses.ini").read_text())[1])


@pytest.mark.parametrize("name", HIDDEN)
def test_what_moses_hides_counts_as_in_its_decoding(system, name):
    before = with_hidden(system, name)
    work = tune(system, *EXHAUSTIVE, *ROBUST)
    # The score is one that the lists promise: these weights were not decoded.
    assert printed(work) == pytest.approx(decoded(system, work / "moses.ini"), abs=1e-6)
    assert printed(work) < decoded(system, system["ini"])
    tuned = read_weights(work / "moses.ini").values
    kept = (0, 1, 3) if name == "TranslationModel0" else (0,)
    assert [tuned[name][place] for place in kept] == [before[name][place] for place in kept]
    # An interrupted run counts the hidden part again from the lists.
    two = tune(system, *EXHAUSTIVE, *ROBUST, "--maximum-iterations=2", work="two")
    tune(system, *EXHAUSTIVE, *ROBUST, "--maximum-iterations=2", "--continue")
    assert read_weights(work / "moses.ini").values == read_weights(two / "moses.ini").values
    assert (work / "run1.portmert.json").read_text() == (two / "run1.portmert.json").read_text()


def test_replicas_and_their_average_keep_what_is_hidden(system):
    with_hidden(system, "LM0")
    work = tune(system, *EXHAUSTIVE, *ROBUST, "--replicas=2", "--mertargs=-r 5")
    for folder in (work, work / "replica-1", work / "replica-2"):
        assert printed(folder) == pytest.approx(decoded(system, folder / "moses.ini"), abs=1e-6)


@pytest.mark.parametrize("name", ["LM0", "TranslationModel0"])
def test_what_was_hidden_in_a_folder_of_mert_moses_counts(system, name):
    with_hidden(system, name)
    work = system["folder"] / "work"
    four = [system[key] for key in ("source", "ref", "decoder", "ini")]
    words = ["perl", scripts() / "training" / "mert-moses.pl", *four, f"--working-dir={work}",
             f"--mertdir={PROGRAMS}", f"--rootdir={scripts()}", *SETTINGS[:3], *EXHAUSTIVE[:2],
             "--mertargs=--sctype TER -r 1"]  # fmt: skip
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = run(*command(system, *EXHAUSTIVE, *ROBUST, "--continue", "--maximum-iterations=3"))
    assert "step 1 is of mert-moses.pl" in result.stderr
    said = re.findall(r"iteration 3: .*predicted ([\d.]+), decoded ([\d.]+)", result.stderr)
    assert all(predicted == score for predicted, score in said)
    assert printed(work) == pytest.approx(decoded(system, work / "moses.ini"), abs=1e-6)


# Texts.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("das [x] haus", r"dev\.src:2: Moses dies of '\[x\]'.*&#91;"),
        ("das a|b haus", r"dev\.src:2: 'a\|b' has 2 factors, 'das' 1.*&#124;"),
    ],
)
def test_what_moses_cannot_read_is_named_by_its_line(system, line, said):
    system["source"].write_text(f"das haus\n{line}\nhaus\ndas\nhaus\n")
    assert re.search(said, refused(system))


def test_a_sign_that_is_no_xml_is_named_where_xml_is_read(system):
    system["source"].write_text("das haus\ndas < haus\nhaus\ndas\nhaus\n")
    said = refused(system, "--decoder-flags=-v 0 -xml-input exclusive")
    assert "dev.src:2: '<' that begins no XML" in said
    tune(system)  # without it `<` is a word


@pytest.mark.parametrize("flag", ["-t", "-report-segmentation", "-tt", "-report-all-factors"])
def test_marks_in_hypotheses_are_refused_unless_the_references_have_them(system, flag):
    assert "puts marks" in refused(system, f"--decoder-flags=-v 0 {flag}")


def test_factors_in_both_texts_are_scored(system):
    folder = system["folder"]
    source, ref, table, ini = (
        path.read_text()
        for path in (system["source"], system["ref"], folder / "table", system["ini"])
    )
    system["source"].write_text(factored(source))
    columns = (line.split(" ||| ", 2) for line in table.splitlines())
    rows = (f"{factored(a)} ||| {factored(b)} ||| {more}\n" for a, b, more in columns)
    (folder / "table").write_text("".join(rows))
    ini = ini.replace("]\n0\n", "]\n0\n1\n", 1).replace("put-factor=0", "put-factor=0,1")
    system["ini"].write_text(ini)
    work = tune(system)
    assert "|" not in first_hypotheses(work)[0].split(" ||| ")[1]
    system["ref"].write_text(factored(ref))
    work = tune(system, "--decoder-flags=-v 0 -report-all-factors", work="factors")
    assert "house|X" in first_hypotheses(work)[0]


def factored(text):
    """Return a text with a second factor behind each word."""
    return re.sub(r"([a-z]+)", r"\1|X", text)


def test_a_byte_order_mark_is_not_decoded(system):
    plain = first_hypotheses(tune(system))
    system["source"].write_bytes(b"\xef\xbb\xbf" + system["source"].read_bytes())
    assert first_hypotheses(tune(system, work="marked")) == plain


def test_words_of_xml_are_counted_as_moses_counts_them(system):
    lines = ["<zone> das kleine haus </zone>", 'haus <n translation="big">das</n>',
             "kleine <wall/> haus", "das", "haus kleine"]  # fmt: skip
    links = "0-0 1-1 2-2\n0-0\n0-0 1-1\n0-0\n0-1 1-0\n"
    plain = system["source"]
    marked = system["folder"] / "marked.src"
    marked.write_text("".join(f"{line}\n" for line in lines))
    (system["folder"] / "links").write_text(links)
    options = ["--sctype=PORT", "--decoder-flags=-v 0 -xml-input exclusive"]
    scores = []
    for source in (marked, plain):
        config = f"source:{source},reflinks:{system['folder']}/links"
        work = tune(system, *options, f"--scconfig={config}", source=marked)
        scores.append((work / "run1.scores.dat").read_text())
    assert scores[0] == scores[1]


def test_sgml_references_are_read(system):
    segments = "".join(
        f'<seg id="{number}"> {line} </seg>\n'
        for number, line in enumerate(REFERENCE.splitlines(), 1)
    )
    sgml = system["folder"] / "ref.sgm"
    sgml.write_text(f'<refset setid="x">\n<doc docid="d" sysid="r">\n{segments}</doc></refset>\n')
    scores = [
        (tune(system, work=f"{ref.name}.work", ref=ref) / "run1.scores.dat").read_text()
        for ref in (system["ref"], sgml)
    ]
    assert scores[0] == scores[1]
    twice = system["folder"] / "two.sgm"
    twice.write_text(sgml.read_text() * 2)
    (system["folder"] / "other").mkdir()
    assert "document d stands twice" in fault(
        *command(system, f"--working-dir={system['folder']}/other/work", ref=twice)
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["ref"].write_text("a\n"), "dev.src: 5 lines, but .*dev.ref has 1"),
        (lambda s: s["source"].write_text("<srcset>\n<seg>a</seg>\n" + "x\n" * 3), "SGML"),
        (
            lambda s: s["ini"].write_text("[weight-l]\n0.5\n" + s["ini"].read_text()),
            "convert-moses-ini-to-v2.perl",
        ),
    ],
)
def test_texts_and_files_that_do_not_fit_are_refused_before_decoding(system, change, said):
    change(system)
    assert re.search(said, refused(system))


def test_a_gap_in_the_numbers_of_references_is_named(system):
    for number in (0, 2):
        (system["folder"] / f"many{number}").write_text(REFERENCE)
    said = refused(system, ref=system["folder"] / "many")
    assert "there is many2, but no many1" in said


# Decoders that fail.


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('$MOSES "$@"; [ -f "$LIST" ] && kill -9 $$; true', "was killed by SIGKILL"),
        (
            '$MOSES "$@"; [ -f "$LIST" ] && head -c 1000 "$LIST" > x && mv x "$LIST"; true',
            "list (is )?cut off",
        ),
        (
            '$MOSES "$@"; [ -f "$LIST" ] && sed -i "3i WARNING: no such phrase" "$LIST"; true',
            r"nbest:3: 1 field separated by",
        ),
    ],
)
def test_a_decoder_that_fails_is_one_line(system, script, said):
    assert re.search(said, fault(*command(system, decoder=wrapper(system, script))))
    work = system["folder"] / "work"
    assert not (work / "run1.best10.out.gz").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs programs of Unix")
@pytest.mark.parametrize("launcher", ["nice -n 5", "timeout 600"])
def test_a_decoder_behind_another_program(system, launcher):
    (path,) = programs(launcher.split()[0])
    script = wrapper(system, f'exec {path} {launcher.partition(" ")[2]} $MOSES "$@"')
    assert first_hypotheses(tune(system, decoder=script)) == first_hypotheses(tune(system))


def test_the_line_that_moses_dies_at_is_named(system):
    spoil = """for a; do [ "$p" = -input-file ] && sed -i '4s/$/ [x]/' "$a"; p=$a; done"""
    said = fault(*command(system, decoder=wrapper(system, f'{spoil}\nexec $MOSES "$@"')))
    assert "SIGSEGV" in said
    place = re.search(r"printed (\d) translations?, so it ended at .*dev.src:(\d) or", said)
    assert place is None or int(place[1]) + 1 == int(place[2]) <= 4


def test_a_full_disk_is_called_one(system, monkeypatch):
    full = shutil.disk_usage(system["folder"])._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: full)
    cut = '$MOSES "$@"; [ -f "$LIST" ] && head -c 1000 "$LIST" > x && mv x "$LIST"; true'
    said = fault(*command(system, decoder=wrapper(system, cut)))
    assert re.search(r"cut off.*\(the disk of .*work/decoder is full; make room", said)


@pytest.mark.parametrize("how", [(), ("--continue",)])
@pytest.mark.parametrize("name", ["source", "ref"])
def test_the_folder_of_another_tuning_is_left_alone(system, how, name):
    work = tune(system)
    before = {path.name: path.read_bytes() for path in work.glob("*") if path.is_file()}
    tune(system, *how)  # the same texts again
    system[name].write_text("haus\n" * 5)
    assert "has a tuning on another source or other references" in fault(*command(system, *how))
    after = {path.name: path.read_bytes() for path in work.glob("*") if path.is_file()}
    assert before.keys() == after.keys()
    assert before["run1.scores.dat"] == after["run1.scores.dat"]


# Options and daily setups.


@pytest.mark.parametrize("sctype", ["M2", "M2SCORER"])
def test_edits_of_an_m2_file_are_tuned_on(system, sctype):
    gold = "".join(f"S {line}\nA 0 1|||R|||the|||REQUIRED|||-NONE-|||0\n\n"
                   for line in system["source"].read_text().splitlines())  # fmt: skip
    (system["folder"] / "gold.m2").write_text(gold)
    config = "--scconfig=beta:0.5,max_unchanged_words:2,case:false"
    work = tune(system, f"--sctype={sctype}", config, ref=system["folder"] / "gold.m2")
    lists = read_dat([work / "run1.features.dat"], [work / "run1.scores.dat"])
    assert lists.counted.metric == "M2"
    assert lists.counted.rows.shape[1] == 3


def test_arguments_for_extractor_and_kbmira(system):
    result = run(*command(system, "--mertargs=--binary --type powell"))
    assert "extractor --binary is ignored: text is written, and exact" in result.stderr
    tune(system, "--batch-mira", "--batch-mira-args=-D 0.5 -J 2")
    said = fault(*command(system, "--batch-mira", "--batch-mira-args=--model-bg"), status=2)
    assert "--model-bg: not supported" in said


def scripts():
    folder = PROGRAMS.parent / "scripts"
    if not folder.exists():
        pytest.skip("shared data: tools/moses/scripts")
    programs("perl")
    return folder


def test_a_tuning_of_ems(system):
    ems = scripts() / "ems" / "experiment.perl"
    folder = system["folder"]
    page = (ROOT / "docs" / "how-to" / "moses.md").read_text()
    text = re.search(r"```ini\n(.*?)```", page, re.DOTALL)[1]
    for path, real in {
        "/path/to/experiment": folder / "ems", "/path/to/mosesdecoder/scripts": scripts(),
        "/path/to/mosesdecoder/bin": PROGRAMS, "/path/to/mosesdecoder": PROGRAMS.parent,
        "/path/to/portmert": f"{sys.executable} -m portmert", "/path/to/moses.ini": system["ini"],
        "/path/to/dev.de": system["source"], "/path/to/dev.en": system["ref"],
    }.items():  # fmt: skip
        text = text.replace(path, str(real))
    text = text.replace('tuning-settings = "', f'tuning-settings = "{" ".join(SETTINGS[:2])} ')
    (folder / "config").write_text(text)
    (folder / "ems").mkdir()
    words = ["perl", ems, "-config", folder / "config", "-no-graph", "-exec", "-final-step",
             "TUNING:apply-weights"]  # fmt: skip
    done = subprocess.run(
        list(map(str, words)), cwd=ROOT, capture_output=True, text=True, check=False
    )
    tuned = folder / "ems" / "tuning" / "moses.tuned.ini.1"
    assert tuned.exists(), done.stdout + done.stderr
    by_us = read_weights(folder / "ems" / "tuning" / "moses.ini.1").values
    assert read_weights(tuned).values == by_us


def test_tables_are_filtered_by_the_script_of_moses(system):
    folder = system["folder"]
    with (folder / "table").open("a") as table:
        table.write("katze ||| cat ||| 0.8 0.7 0.9 0.6 ||| 0-0 ||| 1 1 1 ||| |||\n")
    options = [word for word in command(system) if word != "--no-filter-phrase-table"]
    run(*options, f"--rootdir={scripts()}")
    (filtered,) = (folder / "work" / "filtered").glob("phrase-table*.gz")
    with gzip.open(filtered, "rt") as lines:
        sources = {line.split(" ||| ")[0] for line in lines}
    assert sources == {"das", "haus", "kleine", "kleine haus"}
    assert str(folder / "table") in (folder / "work" / "moses.ini").read_text()


def test_jobs_are_processes_here_and_no_queue_is_asked(system, monkeypatch):
    folder = system["folder"]
    plain = first_hypotheses(tune(system))
    (folder / "bin").mkdir()
    queue = wrapper(system, f"echo called >> {folder}/called; exit 1", "bin/qsub")
    monkeypatch.setenv("PATH", f"{queue.parent}:{os.environ['PATH']}")
    result = run(*command(system, "--jobs=2", "--queue-flags=-hard", "--old-sge"))
    assert "--queue-flags is ignored: decoders run on this machine" in result.stderr
    assert not (folder / "called").exists()
    assert first_hypotheses(folder / "work") == plain


def test_two_language_models_in_an_ini_with_relative_paths(system, monkeypatch):
    folder = system["folder"]
    monkeypatch.chdir(folder)
    (folder / "other.arpa").write_text((folder / "lm.arpa").read_text().replace("-0.9", "-0.7"))
    text = system["ini"].read_text().replace(f"path={folder}/", "path=")
    text = text.replace("[weight]", "KENLM name=LM1 factor=0 path=other.arpa order=2\n[weight]")
    (folder / "two.ini").write_text(f"{text}LM1= 0.25\n")
    four = {"ini": "two.ini", "source": "dev.src", "ref": "dev.ref"}
    # Of BLEU these short texts have nothing to gain.
    work = tune(system, "--activate-features=LM0_0,LM1_0", "--sctype=TER", **four)
    start, tuned = (read_weights(work / name).values for name in ("run1.dense", "moses.ini"))
    assert start["LM1"] == (0.25,)
    assert tuned["LM1"] != tuned["LM0"]
    kept = {name: start[name] for name in ("WordPenalty0", "Distortion0", "PhrasePenalty0")}
    scale = tuned["WordPenalty0"][0] / start["WordPenalty0"][0]
    for name, values in kept.items():  # their ratios stay
        assert tuned[name] == pytest.approx([scale * value for value in values])


def test_lattices_are_decoded_and_confusion_networks_refused(system):
    rows = ["das kleine haus", "haus das", "kleine haus", "das", "haus kleine"]
    lines = ("".join(f"(('{word}',0.9,1),)," for word in row.split()) for row in rows)
    system["source"].write_text("".join(f"({line})\n" for line in lines))
    ini = with_lines(
        system,
        feature="InputFeature num-input-features=1 real-word-count=0",
        weight="InputFeature0= 0.1",
    )
    assert "the small house" in first_hypotheses(tune(system, "--inputtype=2", ini=ini))[0]
    (system["folder"] / "links").write_text("0-0\n" * 5)
    port = f"--scconfig=source:{system['source']},reflinks:{system['folder']}/links"
    said = fault(*command(system, "--inputtype=2", "--sctype=PORT", port, ini=ini))
    assert "-inputtype 2 has no positions of words" in said
    assert "write the input as lattices (-inputtype 2)" in fault(*command(system, "--inputtype=1"))


def test_four_references_of_real_text(tmp_path):
    data = SHARED / "data" / "fisher-es-en"
    if not data.exists():
        pytest.skip("shared data: fisher-es-en")
    decoder, source = real_system(tmp_path)
    (lmplz,) = programs("lmplz")
    count = 40
    rows = {}
    for name in ("es", "en0", "en1", "en2", "en3"):
        with (data / f"dev.{name}").open() as lines:
            rows[name] = list(islice(lines, count))
    source.write_text("".join(rows["es"]))
    for number in range(4):
        (tmp_path / f"dev.en{number}").write_text("".join(rows[f"en{number}"]))
    words = Counter()
    for spanish, english in zip(rows["es"], rows["en0"], strict=True):
        for i, word in enumerate(s := spanish.split()):
            e = english.split()
            if e:
                words[word, e[min(i * len(e) // len(s), len(e) - 1)]] += 1
    table = sorted(f"{s} ||| {e} ||| 0.5 0.{n % 9 + 1} 0.4 0.5 ||| 0-0 ||| 1 1 1 ||| |||\n"
                   for (s, e), n in words.items() if "|" not in s + e)  # fmt: skip
    (tmp_path / "table").write_text("".join(table))
    with (tmp_path / "lm.arpa").open("w") as arpa:
        subprocess.run(
            [str(lmplz), "-o", "2", "--discount_fallback", "-S", "100M", "-T", str(tmp_path)],
            input="".join(rows["en0"]).encode(), stdout=arpa, check=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    system = {"source": source, "ref": tmp_path / "dev.en", "decoder": decoder.program,
              "ini": decoder.config, "folder": tmp_path}  # fmt: skip
    work = tune(system, "--decoder-flags=-v 0 -s 20 -dl 2", "--maximum-iterations=2")
    score = float(re.search(r"=> ([\d.]+)", (work / "run2.mert.log").read_text())[1])
    lists = (work / "run1.scores.dat").read_text()
    (tmp_path / "one").mkdir()
    other = [f"--working-dir={tmp_path}/one/work", "--decoder-flags=-v 0 -s 20 -dl 2"]
    run(*command(system, *other, ref=tmp_path / "dev.en0"))
    assert lists != (tmp_path / "one" / "work" / "run1.scores.dat").read_text()
    assert score > 0.0
