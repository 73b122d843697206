"""`portmert humaneval` as its users run it; the form in a real browser."""

import json
import time

import pytest

from portmert.extensions.people.evaluation import read_key, visible
from portmert.extensions.people.sheets import write
from tests.support.browser import browser, console
from tests.support.cli import fault, run
from tests.support.evaluations import HOSTILE, answered_csv, evaluation, side

MAKE = ["make", "A=one", "B=two", "--ref", "ref", "--out", "kit", "--top-share", "1"]
SMALL = [*MAKE, "--judges", "2", "--items", "3", "--common", "2"]
TEXT = "the quick brown fox jumps over the lazy dog again and again"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{TEXT} {number}" for number in range(8)]
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "src").write_text("".join(f"source of {line}\n" for line in lines))
    (tmp_path / "one").write_text("".join(f"{line} one\n" for line in lines))
    (tmp_path / "two").write_text("".join(f"{line} two\n" for line in lines))


def test_sheets_go_out_and_come_back(tmp_path):
    result = run("humaneval", *SMALL, "--source", "src", "--condition", "small")
    assert "segments: 8, reference length: 8, outputs differ: 8, TER: 8" in result.stderr
    names = sorted(path.name for path in (tmp_path / "kit" / "judges").iterdir())
    assert names == [f"judge-{k}.{end}" for k in (1, 2) for end in ("csv", "html")]
    one = read_key(tmp_path / "kit" / "key.json")
    sheets = []
    for judge in one.sheets:
        sheets.append(f"kit/judges/{judge}.csv")
        answered_csv(
            tmp_path / sheets[-1],
            lambda item, judge=judge: side(one, judge, item, 0 if one.items[item].common else 2),
        )
    result = run("humaneval", "read", *sheets, "--json", "r.json", "--latex", "r.tex")
    row = next(line for line in result.stdout.splitlines() if line.startswith("small "))
    assert " ".join(row.split()[1:]) == "2 (50.0 %) 0 (0.0 %) 2 (50.0 %) 4 0.2500 0.5000"
    (found,) = json.loads((tmp_path / "r.json").read_text())["preferences"]
    assert (found["wins"], found["losses"], found["ties"]) == (2, 0, 2)
    assert "A wins" in (tmp_path / "r.tex").read_text()
    message = fault("humaneval", "read", sheets[0])
    assert "no sheet of judge judge-2; give it, or leave the judge out (--without)" in message
    result = run("humaneval", "read", sheets[0], "--without", "judge-2")
    assert "2 (66.7 %)" in result.stdout
    assert "no such judge" in fault("humaneval", "read", *sheets, "--without", "judge-9")
    assert "a sheet of judge judge-2, but" in fault(
        "humaneval", "read", *sheets, "--without", "judge-2"
    )


MIX = """[[condition]]
name = "small"
first = "A=one"
second = "B=two"
refs = ["ref"]
top_share = 0.5

[[condition]]
name = "large"
first = "A=one"
second = "B=two"
refs = ["ref"]
"""


def test_one_set_mixes_conditions_with_a_share_for_each(tmp_path):
    lines = (tmp_path / "one").read_text().splitlines()
    worse = [f"{line}{n * ' x'}" for n, line in enumerate(lines)]
    (tmp_path / "one").write_text("\n".join(worse) + "\n")
    (tmp_path / "two").write_text("\n".join(f"{line} y" for line in worse) + "\n")
    (tmp_path / "mix.toml").write_text(MIX)
    words = ["make", "--conditions", "mix.toml", "--out", "kit", "--judges", "2", "--items", "7",
             "--common", "2", "--top-share", "1"]  # fmt: skip
    result = run("humaneval", *words)
    assert "small: segments: 8, reference length: 8, outputs differ: 8, TER: 4" in result.stderr
    assert "large: segments: 8, reference length: 8, outputs differ: 8, TER: 8" in result.stderr
    one = read_key(tmp_path / "kit" / "key.json")
    assert len(one.items) == 12  # all that there are: 4 and 8
    by = {
        name: [item for item in one.items.values() if item.condition == name]
        for name in ("small", "large")
    }
    assert [len(items) for items in by.values()] == [4, 8]
    assert {item.segment // 8 for item in by["large"]} == {1}
    wins = {"small": 0, "large": 1}
    sheets = []
    for judge in one.sheets:
        sheets.append(f"kit/judges/{judge}.csv")
        answered_csv(
            tmp_path / sheets[-1],
            lambda item, judge=judge: side(one, judge, item, wins[one.items[item].condition]),
        )
    run("humaneval", "read", *sheets, "--common", "agreement-only", "--json", "r.json")
    found = json.loads((tmp_path / "r.json").read_text())
    common = {name: sum(item.common for item in items) for name, items in by.items()}
    counted = {row["condition"]: (row["wins"], row["losses"]) for row in found["preferences"]}
    assert counted["small"] == (4 - common["small"], 0)
    assert counted["large"] == (0, 8 - common["large"])
    assert found["total"]["wins"] + found["total"]["losses"] == 10
    assert found["agreement"][0]["items"] == 2


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (("large", "small"), (), "two conditions have one name"),
        (("x", "x"), ("--condition", "x"), "goes into the file"),
        (("[[condition]]", "[[set]]"), (), "expected tables [[condition]]"),
        (("top_share = 0.5", "top_share = 2"), (), "less than or equal to 1"),
        (("top_share = 0.5", "topshare = 0.5"), (), "topshare"),
        (("A=one", "C=one", 1), (), "all need the same two names of systems"),
    ],
)
def test_a_wrong_file_of_conditions_is_one_line(tmp_path, change, words, message):
    (tmp_path / "mix.toml").write_text(MIX.replace(*change))
    status = 2 if words else 1
    command = ("humaneval", "make", "--conditions", "mix.toml", "--out", "kit")
    assert message in fault(*command, *words, status=status)
    assert not (tmp_path / "kit").exists()
    said = fault("humaneval", "make", "A=one", "--out", "kit", status=2)
    assert "name A and B, or --conditions" in said


def test_the_same_seed_makes_the_same_files(tmp_path):
    run("humaneval", *SMALL)
    (tmp_path / "kit").rename(tmp_path / "kit2")
    run("humaneval", *SMALL)
    for path in (tmp_path / "kit").rglob("*.*"):
        assert (
            path.read_bytes()
            == (tmp_path / "kit2" / path.relative_to(tmp_path / "kit")).read_bytes()
        )
    assert "kit: is there already" in fault("humaneval", *SMALL)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--judges", "2", "--judge", "ada"], 2, "--judges or --judge, not both"),
        (["--judge", "a/b"], 2, "expected a name that a file can have"),
        (["--judge", "\u00e9", "--judge", "E\u0301"], 2, "--judge names one judge twice"),
        (["--top-share", "nan"], 2, "nan is not a finite number"),
        (["--judge", "Ada", "--judge", "ada"], 2, "names one judge twice"),
        (["--items", "2", "--common", "3"], 2, "--common 3 is more than --items 2"),
        (["--min-length", "9", "--max-length", "8"], 2, "--min-length 9 is more than"),
        (["--items", "9"], 1, "the filters let 8 segments pass, but"),
        (["--source", "short"], 1, "short: 1 line, but ref has 8"),
    ],
)
def test_what_cannot_be_made_is_said(tmp_path, arguments, status, message):
    (tmp_path / "short").write_text("x\n")
    base = MAKE if "--judge" in " ".join(arguments) else [*MAKE, "--common", "0"]
    items = [] if "--items" in arguments else ["--items", "1", "--common", "0"]
    assert message in fault("humaneval", *base, *items, *arguments, status=status)
    assert not (tmp_path / "kit").exists()


@pytest.fixture(scope="module")
def chromium():
    with browser() as session:
        yield session


def text(session, css):
    return session.find_element("css selector", css).text


def press(session, *keys):
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(session).send_keys(key).perform()


def test_the_form_in_a_browser(chromium, tmp_path):
    from selenium.webdriver import Keys

    one = evaluation(judges=("Adélaïde",), per_judge=4, common=0)
    write(one, tmp_path / "kit")
    page = (tmp_path / "kit" / "judges" / "Adélaïde.html").as_uri()
    chromium.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    chromium.get(page)
    assert text(chromium, "#count") == "0 of 4 answered"
    assert text(chromium, "#saved") == "Nothing to save yet"
    sheet = [row.item for row in one.sheets["Adélaïde"]]
    assert text(chromium, "#reference .words") == one.items[sheet[0]].reference
    # A click answers and leads on; so do keys.
    chromium.find_element("css selector", "[data-answer=right]").click()
    assert text(chromium, "#title") == f"Item {sheet[1]} (2 of 4)"
    assert text(chromium, "#saved").startswith("Saved in this browser at ")
    press(chromium, Keys.ARROW_LEFT, Keys.ARROW_DOWN, "3")  # the second one scrolls
    assert text(chromium, "#count") == "3 of 4 answered"
    # Closed and opened again: all is there.
    for _ in range(6000):  # another process of the browser may see what was kept a moment later
        chromium.get("about:blank")
        chromium.get(page)
        if text(chromium, "#count") != "0 of 4 answered":
            break
        time.sleep(0.1)
    assert text(chromium, "#count") == "3 of 4 answered"
    assert text(chromium, "#saved") == "Saved in this browser"  # some time ago
    assert text(chromium, "#title") == f"Item {sheet[3]} (4 of 4)"
    press(chromium, "p")
    pressed = chromium.find_element("css selector", "[data-answer=equal]")
    assert pressed.get_attribute("aria-pressed") == "true"
    press(chromium, "n", "2")
    assert text(chromium, "#message").startswith("All items are answered.")
    chromium.find_element("id", "export").click()
    out = tmp_path / f"Adélaïde.{one.id}.json"
    for _ in range(6000):
        if out.exists():
            break
        time.sleep(0.05)
    answers = [row["answer"] for row in json.loads(out.read_text())["answers"]]
    assert answers == ["right", "left", "equal", "right"]
    run("humaneval", "read", out, "--key", tmp_path / "kit" / "key.json")
    assert console(chromium) == []


def test_answers_can_be_taken_to_another_browser(chromium, tmp_path):
    one = evaluation(judges=("ada",), per_judge=2, common=0, seed=7)
    write(one, tmp_path / "kit")
    chromium.get((tmp_path / "kit" / "judges" / "ada.html").as_uri())
    item = one.sheets["ada"][0].item
    answers = [{"item": item, "answer": "equal"}, {"item": "x", "answer": "left"}, None]
    saved = {
        "portmert_humaneval": 1, "evaluation": one.id, "judge": "ada", "answers": answers,
    }  # fmt: skip
    (tmp_path / "saved.json").write_text(json.dumps(saved))
    (tmp_path / "other.json").write_text(json.dumps(saved | {"judge": "bob"}))
    for name, expected in (("other", "has no answers to this sheet"), ("saved", "Loaded the ans")):
        chromium.find_element("id", "load").send_keys(str(tmp_path / f"{name}.json"))
        for _ in range(6000):
            if expected in text(chromium, "#message"):
                break
            time.sleep(0.05)
        assert expected in text(chromium, "#message")
    assert text(chromium, "#count") == "1 of 2 answered"


def test_a_browser_that_keeps_nothing_is_said(chromium, tmp_path):
    write(evaluation(judges=("ada",), per_judge=2, common=0, seed=8), tmp_path / "kit")
    script = chromium.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument",
        {"source": "Storage.prototype.setItem = () => { throw new Error('full'); };"},
    )
    try:
        chromium.get((tmp_path / "kit" / "judges" / "ada.html").as_uri())
        assert text(chromium, "#saved").startswith("NOT saved")
        press(chromium, "1")
        assert text(chromium, "#saved").startswith("NOT saved")
        assert text(chromium, "#count") == "1 of 2 answered"
        # The page would ask before it is left: the answers are nowhere else.
        chromium.execute_script("window.onbeforeunload = null")
    finally:
        chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        chromium.find_element("id", "export").click()


def test_hostile_text_stays_text(chromium, tmp_path):
    one = evaluation(
        judges=("ada",), per_judge=len(HOSTILE), common=0, outputs=(HOSTILE, HOSTILE[::-1]), seed=9
    )
    write(one, tmp_path / "kit")
    chromium.get((tmp_path / "kit" / "judges" / "ada.html").as_uri())
    title = chromium.title
    seen = set()
    for _ in HOSTILE:
        found = chromium.find_element("css selector", "[data-answer=left] .words")
        seen.add(found.get_attribute("textContent"))
        width = chromium.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert width == 0
        press(chromium, "1")
    assert seen <= set(map(visible, HOSTILE))
    assert len(seen) > 4
    assert chromium.title == title
    assert chromium.find_elements("css selector", "main img, main script") == []
    assert console(chromium) == []
