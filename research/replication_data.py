"""Make the data of the conditions in configs/paper-port from their public repositories.

git clone https://github.com/joshua-decoder/fisher-callhome-corpus
python -m research.replication_data es-en fisher-callhome-corpus data/es-en

git clone --branch 3.14 https://github.com/python/python-docs-zh-cn
pip install jieba==0.42.1
python -m research.replication_data zh-en python-docs-zh-cn data/zh-en

git clone https://github.com/multi30k/dataset
python -m research.replication_data de-en dataset data/de-en

git clone https://github.com/odashi/small_parallel_enja
python -m research.replication_data ja-en small_parallel_enja data/ja-en

Spanish: Fisher and CALLHOME Spanish-English, CC BY-SA 3.0. The Spanish is the path of the
recogniser's lattice that is closest to the transcript. Training pairs are CALLHOME's. Dev and test
are 1,500 segments of Fisher's dev and 2,000 of its dev2, drawn from those of at least four Spanish
words and four references.

Chinese: the translation of Python's documentation (PSF licence, translations CC0), sentences of
its messages without code and markup. Some pages are dev, others test. 1,500 and 2,000 of their
sentences are drawn.

German: Multi30k, captions of pictures, tokenised and lowercased there. Test is the test sets of
2016 and 2017 on Flickr.

Japanese: sentences of the Tanaka corpus (CC BY 2.0 FR), tokenised and lowercased there. Its test
set has 500 segments, so the last 2,000 training pairs are dev and test too.
"""

import gzip
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

GERMAN = {"train": ("train",), "dev": ("val",), "test": ("test_2016_flickr", "test_2017_flickr")}
"""The files of Multi30k that are each part."""
JAPANESE_DEV, JAPANESE_TEST = 500, 1500
"""The last training pairs are these numbers of dev and of test segments."""
REFERENCES = 4
FEWEST_WORDS = 4
PARTS = {"dev": ("fisher_dev", 1500), "test": ("fisher_dev2", 2000)}
LONGEST = 80
SEED = 7
DEV_PAGES = """
c-api/init_config c-api/method c-api/weakref extending/index glossary howto/descriptor howto/enum
library/asyncio-runner library/concurrent.futures library/curses.panel library/ensurepip
library/glob library/importlib.metadata library/numbers library/pkgutil library/pyexpat
library/resource library/symtable library/threading library/time library/venv
library/xml.etree.elementtree whatsnew/3.10 whatsnew/3.14
"""
TEST_PAGES = """
c-api/file c-api/import c-api/module c-api/reflection c-api/tuple c-api/type extending/embedding
faq/library howto/remote_debugging library/configparser library/datetime library/email.header
library/filecmp library/hmac library/http.client library/json library/modulefinder
library/multiprocessing.shared_memory library/select library/smtplib library/tokenize
library/xml.dom.minidom library/xml.dom.pulldom library/xml library/xml.sax.handler
library/xml.sax.utils library/zipapp license reference/expressions tutorial/errors whatsnew/3.0
whatsnew/3.8
"""
PAGES = {"dev": DEV_PAGES.split(), "test": TEST_PAGES.split()}
"""The pages of Python's documentation that are dev and test; all others are training."""
DRAWN = {"dev": 1500, "test": 2000}
ENGLISH_WORDS, CHINESE_WORDS, RATIO = range(4, 51), range(3, 61), (0.4, 2.5)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
MARKUP = (
    (r":[\w:+-]+:`[!~.]*([^`]*?)(?:\s*<[^>`]*>)?`", r"\1"),
    (r"``(.+?)``", r"\1"),
    (r"`([^`<]*?)\s*(?:<[^>`]*>)?`_*", r"\1"),
    (r"\*\*(.+?)\*\*", r"\1"),
    (r"(?<!\\)\*(.+?)(?<!\\)\*", r"\1"),
    (r"\|(\w+)\|", r"\1"),
    (r"\\", ""),
)
"""reStructuredText's marks -> what is left of them."""
TOKEN = re.compile(r"\w+(?:[-.']\w+)*|[^\w\s]")
CHINESE_END = re.compile(
    "(?<=[\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}\N{FULLWIDTH QUESTION MARK}])"
)
HAN = re.compile(r"([\u4e00-\u9fff]+)")


def lines(path: Path) -> list[str]:
    """Return the lines of a file, lowercased. A carriage return inside a line ends no line."""
    text = path.read_bytes().decode("utf-8").lower()
    return [" ".join(line.split()) for line in text.split("\n")[:-1]]


def english(path: Path) -> list[str]:
    """Return lowercased lines without punctuation; clitics are split before the apostrophe."""
    found = []
    for line in lines(path):
        words = re.sub(r"[^\w' ]", " ", line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
        words = re.sub(r"(?<=\w)'(?=\w)", " '", words)
        found.append(" ".join(word for word in words.split() if word != "'"))
    return found


def make_spanish(corpus: Path, out: Path) -> None:
    """Write train, dev and test from Spanish."""
    out.mkdir(parents=True, exist_ok=True)
    spanish = lines(corpus / "oracle/callhome_train.es")
    pairs = zip(spanish, english(corpus / "ldc/callhome_train.en"), strict=True)
    kept = [pair for pair in pairs if all(0 < len(text.split()) <= LONGEST for text in pair)]
    for name, texts in zip(("es", "en"), zip(*kept, strict=True), strict=True):
        with gzip.open(out / f"train.{name}.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
    for part, (name, size) in PARTS.items():
        files = [english(corpus / f"ldc/{name}.en.{number}") for number in range(REFERENCES)]
        segments = zip(lines(corpus / f"oracle/{name}.es"), *files, strict=True)
        rows = [row for row in segments if len(row[0].split()) >= FEWEST_WORDS and all(row)]
        places = list(range(len(rows)))
        random.Random(SEED).shuffle(places)
        chosen = [rows[place] for place in sorted(places[:size])]
        names = ("es", *(f"en{number}" for number in range(REFERENCES)))
        for end, texts in zip(names, zip(*chosen, strict=True), strict=True):
            text = "".join(f"{text}\n" for text in texts)
            (out / f"{part}.{end}").write_text(text, encoding="utf-8")


def messages(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (English, Chinese) messages of a PO file that are translated and have no line ends."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        parts = re.split(r"^(?:msgid|msgstr) ", block, flags=re.MULTILINE)
        if len(parts) == 3 and "#, fuzzy" not in parts[0]:
            texts = ["".join(STRING.findall(part)) for part in parts[1:]]
            if all(texts) and not re.search(r"(?<!\\)\\n", texts[0]):
                yield plain(texts[0]), plain(texts[1])


def plain(text: str) -> str:
    """Return a message without reStructuredText's markup."""
    text = re.sub(r"\\(.)", r"\1", text)
    for pattern, replacement in MARKUP:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split())


def sentences(path: Path, cut: Callable[[str], Iterator[str]]) -> Iterator[tuple[str, str]]:
    """Yield (English, Chinese) sentences of a PO file, in lowercased words."""
    for english_text, chinese_text in messages(path):
        left = re.split(r"(?<=[.!?])\s+(?=[A-Z])", english_text)
        right = [one for one in CHINESE_END.split(chinese_text) if one.strip()]
        if len(left) != len(right):
            left, right = [english_text], [chinese_text]
        for one, other in zip(left, right, strict=True):
            words = TOKEN.findall(one.lower())
            cuts = HAN.split(other.lower())
            chinese = [w for c in cuts for w in (cut(c) if HAN.match(c) else TOKEN.findall(c))]
            sizes = len(words) in ENGLISH_WORDS and len(chinese) in CHINESE_WORDS
            if sizes and RATIO[0] <= len(words) / len(chinese) <= RATIO[1]:
                pair = " ".join(words), " ".join(chinese)
                if not re.search(r"[][|<>&]", "".join(pair)):  # markup to Moses
                    yield pair


def make_chinese(corpus: Path, out: Path, cut: Callable[[str], Iterator[str]]) -> None:
    """Write train, dev and test from Chinese. `cut` divides a text into words.

    English sentences are unique over all parts.
    """
    part_of = {page: part for part, pages in PAGES.items() for page in pages}
    seen: set[str] = set()
    found: dict[str, list[tuple[str, str]]] = {"train": [], "dev": [], "test": []}
    for path in sorted(corpus.rglob("*.po")):
        page = path.relative_to(corpus).with_suffix("").as_posix()
        for pair in sentences(path, cut):
            if pair[0] not in seen:
                seen.add(pair[0])
                found[part_of.get(page, "train")].append(pair)
    for part, size in DRAWN.items():
        places = sorted(random.Random(SEED).sample(range(len(found[part])), size))
        found[part] = [found[part][place] for place in places]
    write("zh", found, out)


def write(language: str, parts: dict[str, list[tuple[str, str]]], out: Path) -> None:
    """Write the (English, other) pairs of train, dev and test."""
    out.mkdir(parents=True, exist_ok=True)
    for part, pairs in parts.items():
        for name, texts in zip(("en", language), zip(*pairs, strict=True), strict=True):
            data = "".join(f"{text}\n" for text in texts).encode()
            if part == "train":
                data = gzip.compress(data, mtime=0)
            (out / f"{part}.{name}{'.gz' if part == 'train' else ''}").write_bytes(data)


def make_german(corpus: Path, out: Path) -> None:
    """Write train, dev and test from German."""
    parts = {}
    for part, names in GERMAN.items():
        files = [[corpus / f"{name}.lc.norm.tok.{end}" for name in names] for end in ("en", "de")]
        texts = [[line for file in each for line in lines(file)] for each in files]
        parts[part] = list(zip(*texts, strict=True))
    write("de", parts, out)


def make_japanese(corpus: Path, out: Path) -> None:
    """Write train, dev and test from Japanese. No Japanese sentence of dev or test is in train."""
    parts = {}
    for part in ("train", "dev", "test"):
        texts = [lines(corpus / f"{part}.{end}") for end in ("en", "ja")]
        parts[part] = list(zip(*texts, strict=True))
    last = parts["train"][-JAPANESE_DEV - JAPANESE_TEST :]
    parts["dev"] += last[:JAPANESE_DEV]
    parts["test"] += last[JAPANESE_DEV:]
    seen = {pair[1] for part in ("dev", "test") for pair in parts[part]}
    parts["train"] = [pair for pair in parts["train"][: -len(last)] if pair[1] not in seen]
    write("ja", parts, out)


def main(condition: str, corpus: str, out: str) -> None:
    """Make the data of a condition."""
    if condition == "es-en":
        make_spanish(Path(corpus) / "corpus", Path(out))
    elif condition == "de-en":
        make_german(Path(corpus) / "data/task1/tok", Path(out))
    elif condition == "ja-en":
        make_japanese(Path(corpus), Path(out))
    else:
        import jieba

        make_chinese(Path(corpus), Path(out), jieba.cut)


if __name__ == "__main__":
    main(*sys.argv[1:])
