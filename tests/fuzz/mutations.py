"""Damages bytes as disks, editors, other programs and ill will do."""

import re

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORD = re.compile(rb'[^\s",:={}\[\]|<>]+')
LARGE = 2**20
"""Bytes beyond which nothing grows any more: memory and time are judged for small input."""
NUMBERS = (
    b"0", b"-1", b"-0.0", b"1e999", b"-1e999", b"1e308", b"5e-324", b"1e155", b"NaN", b"nan",
    b"Infinity", b"-inf", b"1_000", b"0x10", b"1e", b"+1", b"01", b"1.5", b"2147483648",
    b"9223372036854775808", b"99999999", b"1" * 5000, b"\xd9\xa1", b"true", b"null", b"",
)  # fmt: skip
TOKENS = (
    b"|||", b" ||| ", b"\x00", b"\x1b[2J", b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b"\xff",
    b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"\xe2\x80\xa8", b"\xc2\x85", b"\xc2\xa0",
    b"\xef\xbb\xbf", b"\xe2\x80\xae",
    b"=", b"==", b"{}", b"[]", b'""', b"'", b"#", b"<b>", b"%s%n", b"../",
    b"[" * 2000, b'{"a":' * 1000, b"(" * 3000, b"]", b"w" * 100_000, b"a " * 3000, b"-", b"0-0",
)  # fmt: skip


def mutate(data, rng):
    """Return `data` with one to three damages, of which some may change nothing."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        if len(data) < LARGE:
            data = rng.choice(DAMAGES)(data, rng)
    return data


def _place(data, rng):
    return rng.randrange(len(data) + 1)


def _span(data, rng):
    begin = _place(data, rng)
    return begin, min(len(data), begin + rng.choice((1, 1, 3, 20, 300)))


def flip_bit(data, rng):
    if not data:
        return b"\x01"
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def put_byte(data, rng):
    place = _place(data, rng)
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def truncate(data, rng):
    return data[: _place(data, rng)]


def remove(data, rng):
    begin, end = _span(data, rng)
    return data[:begin] + data[end:]


def repeat(data, rng):
    begin, end = _span(data, rng)
    return data[:end] + data[begin:end] * rng.choice((1, 2, 50)) + data[end:]


def insert(data, rng):
    found = list(WORD.finditer(data))
    place = rng.choice(found).start() if found and rng.random() < 0.6 else _place(data, rng)
    return data[:place] + rng.choice(TOKENS) + data[place:]


def replace_number(data, rng):
    return _replace(data, rng, NUMBER, lambda _: rng.choice(NUMBERS))


def replace_word(data, rng):
    return _replace(data, rng, WORD, lambda _: rng.choice(TOKENS))


def swap_words(data, rng):
    found = list(WORD.finditer(data))
    if len(found) < 2:
        return data
    one, two = sorted(rng.sample(found, 2), key=lambda match: match.start())
    middle = data[one.end() : two.start()]
    return data[: one.start()] + two[0] + middle + one[0] + data[two.end() :]


def change_lines(data, rng):
    lines = data.splitlines(keepends=True)
    return b"".join(_change(lines, rng, b"\n")) if lines else b"\n"


def change_fields(data, rng):
    """Change the fields of one line."""
    lines = data.splitlines(keepends=True)
    signs = [sign for sign in (b" ||| ", b"\t", b",", b" ") if sign in data]
    if not signs:
        return data
    sign = rng.choice(signs)
    number = rng.choice([n for n, line in enumerate(lines) if sign in line] or [0])
    lines[number] = sign.join(_change(lines[number].split(sign), rng, b""))
    return b"".join(lines)


def _change(parts, rng, empty):
    """Double, drop, swap, empty or multiply lines or fields."""
    one, two = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(5):
        case 0:
            parts.insert(two, parts[one])
        case 1:
            del parts[one]
        case 2:
            parts[one], parts[two] = parts[two], parts[one]
        case 3:
            parts[one] = empty
        case 4:
            parts[one:one] = [parts[two]] * 200
    return parts


def _replace(data, rng, pattern, made):
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + made(match) + data[match.end() :]


DAMAGES = (
    flip_bit, put_byte, truncate, remove, repeat, insert, insert, replace_number, replace_number,
    replace_word, replace_word, swap_words, change_lines, change_lines, change_fields,
    change_fields,
)  # fmt: skip
