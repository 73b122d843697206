import os
import subprocess
import sys
from pathlib import Path

import pytest

from portmert.tuner.base.errors import PortmertError, StateError
from portmert.tuner.runs.folder import PRODUCTS, RunFolder, open_run

PRINT = {"tune.seed": "1", "data.source": '"sha256:aa"'}


def claim(path, fingerprint=PRINT, *, fresh=False):
    with open_run(path, fingerprint, origin="my.toml", fresh=fresh) as folder:
        return folder


def message(path, fingerprint=PRINT):
    with pytest.raises(StateError) as raised:
        claim(path, fingerprint)
    return str(raised.value)


def test_open_run_makes_the_folder_and_accepts_the_same_fingerprint_again(tmp_path):
    path = tmp_path / "a" / "run"
    claim(path)
    assert claim(path) == RunFolder(path)


def test_open_run_names_the_key_that_changed(tmp_path):
    claim(tmp_path)
    said = message(tmp_path, {**PRINT, "tune.seed": "2"})
    assert "another experiment than my.toml: tune.seed was 1, is now 2;" in said
    assert "--fresh" in said


def test_open_run_names_the_file_whose_content_changed(tmp_path):
    claim(tmp_path)
    said = message(tmp_path, {**PRINT, "data.source": '"sha256:bb"'})
    assert "the content of data.source changed" in said


def test_open_run_counts_further_changes_and_sees_absent_keys(tmp_path):
    claim(tmp_path)
    said = message(tmp_path, {"data.source": '"sha256:bb"', "metric.alpha": "0.5"})
    assert "tune.seed was 1, is now absent (and 2 more)" in said


def test_a_tuning_becomes_the_first_of_a_series_even_if_that_was_interrupted(
    tmp_path, monkeypatch
):
    single, series = ({**PRINT, "tune.replicas": count} for count in "12")
    claim(tmp_path, single)
    made = {"iteration-01/a": "1", "iteration-02/a": "2", "weights.json": "3", "result.json": "4"}

    def make():
        for name, text in made.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)

    make()
    rename, done = Path.rename, []

    def killed(self, target):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(self)
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            claim(tmp_path, series)
    claim(tmp_path, single)  # goes on as it was
    make()
    claim(tmp_path, series)
    assert {name: (tmp_path / "replica-1" / name).read_text() for name in made} == made
    assert {one.name for one in tmp_path.iterdir()} == {".lock", "replica-1", "state.json"}
    assert claim(tmp_path / "replica-1", single) == RunFolder(tmp_path / "replica-1")
    claim(tmp_path, {**series, "tune.replicas": "3"})
    assert "tune.replicas was 3, is now 1" in message(tmp_path, single)
    assert "tune.seed was 1, is now 2" in message(tmp_path, {**series, "tune.seed": "2"})


def test_open_run_refuses_work_without_state(tmp_path):
    (tmp_path / "iteration-01").mkdir()
    assert "holds iteration-01, but no state.json" in message(tmp_path)


def test_open_run_refuses_a_state_that_is_not_ours(tmp_path):
    (tmp_path / "state.json").write_text("[]")
    assert "is not what portmert writes" in message(tmp_path)


def test_open_run_refuses_a_file_as_folder(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be the output folder: " in message(tmp_path / "file")


def test_open_run_says_that_links_form_a_loop(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(PortmertError, match="its symbolic links form a loop"):
        claim(tmp_path / "loop")


def test_fresh_removes_the_work_and_nothing_else(tmp_path):
    folder = claim(tmp_path)
    folder.iteration(1).mkdir()
    (folder.iteration(1) / "weights.json").write_text("{}")
    folder.log("one")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "notes.json").write_text("mine")
    claim(tmp_path, {"tune.seed": "2"}, fresh=True)
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        ".lock",
        "notes.json",
        "notes.txt",
        "state.json",
    ]
    assert claim(tmp_path, {"tune.seed": "2"})


def test_fresh_interrupted_goes_on_removing(tmp_path):
    claim(tmp_path)
    (tmp_path / "state.json").write_text('{"fingerprint": {}, "removing": true}')
    (tmp_path / "iteration-02").mkdir()
    claim(tmp_path)
    assert not (tmp_path / "iteration-02").exists()


def test_fresh_without_state_still_refuses_what_no_run_made(tmp_path):
    (tmp_path / "weights.json").write_text("{}")
    with pytest.raises(StateError, match=r"holds weights\.json, but no state"):
        claim(tmp_path, fresh=True)
    assert (tmp_path / "weights.json").exists()


def test_open_run_removes_what_a_killed_process_was_writing(tmp_path):
    folder = claim(tmp_path)
    leftover = folder.iteration(1) / ".nbest.gz.abcd.part"
    leftover.parent.mkdir()
    leftover.write_bytes(b"half")
    mine = tmp_path / "mine" / ".x.part"
    mine.parent.mkdir()
    mine.write_bytes(b"")
    claim(tmp_path)
    assert not leftover.exists()
    assert mine.exists()


def test_open_run_refuses_a_second_process(tmp_path):
    code = (
        "import sys; from pathlib import Path; from portmert.tuner.runs.folder import open_run\n"
        "with open_run(Path(sys.argv[1]), {}, origin='x'):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as other:
        assert other.stdout.readline() == b"held\n"
        assert "another portmert is at work in this folder" in message(tmp_path, {})
        other.kill()
        other.wait()
    assert claim(tmp_path, {})  # the lock ended with its process


def test_looking_makes_no_folder(tmp_path):
    folder = claim(tmp_path)
    before = sorted(tmp_path.iterdir())
    folder.clear_scratch()
    paths = (folder.annotations, folder.scratch, folder.replica(1), folder.iteration(1))
    assert not any(path.exists() for path in paths)
    assert sorted(tmp_path.iterdir()) == before


def test_products_name_no_folder_above():
    assert not any("/" in pattern for pattern in PRODUCTS)


def test_what_a_killed_decoder_left_behind_is_removed_and_its_logs_stay(tmp_path):
    folder = claim(tmp_path)
    folder.scratch.mkdir()
    for name in ("moses.nbest", "moses.out", "thot.journal", "moses.log"):
        (folder.scratch / name).write_text("x")
    folder.clear_scratch()
    assert [path.name for path in folder.scratch.iterdir()] == ["moses.log"]
