"""Text for people: without control characters, and digests in words to compare."""

import hashlib
import json
import re
import unicodedata

#: Letters of words that can be said: consonants and vowels take
#: turns, 4 bits a consonant and 2 bits a vowel, as in "proquints" (Wilkerson 2009).
CONSONANTS = "bdfghjklmnprstvz"
VOWELS = "aiou"

#: Bytes of a word, and of the fingerprint of a key.
WORD_BYTES = 2
FINGERPRINT_BYTES = 16

#: Characters of a name; certificates have room for 64.
LONGEST = 63
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST - 1}}}")

#: Besides letters and digits, in names of sites. None of them divides a path.
_BETWEEN = " -_.,'\u2019&()"

#: Words between two dots, so that nobody loses the place.
GROUP = 4


def escaped(text: str) -> str:
    r"""Write characters that a terminal would obey, or that hide, as their codes.

    Parameters
    ----------
    text : str
        From another party, perhaps.

    Returns
    -------
    str
        The same text if all of it can be printed. Control characters, escape sequences,
        line feeds, marks that change the direction of writing, and unusual blanks are
        replaced by ``\x1b``, ``\u202e`` and so on.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def one_line(text: str) -> str:
    """Write a text in one line.

    Parameters
    ----------
    text : str
        Of several lines, perhaps.

    Returns
    -------
    str
        With single blanks, and escaped: no line of it can pass for one of ours.
    """
    return escaped(" ".join(text.split()))


def is_name(text: str) -> bool:
    """Return whether a study or a node can be called so.

    Parameters
    ----------
    text : str
        A name, from another party perhaps.

    Returns
    -------
    bool
        True for ASCII letters, digits, - and _, of which the first is a letter or
        digit: studies have such names, and nodes of NVFLARE.
    """
    return _NAME.fullmatch(text) is not None


def is_site_name(text: str) -> bool:
    """Return whether a site can be called so.

    Parameters
    ----------
    text : str
        A name, from another party perhaps.

    Returns
    -------
    bool
        True for at most 63 letters and digits of any alphabet, and marks between them
        that names have, such as blanks, points and apostrophes. The first one is a
        letter or digit. Characters that cannot be seen, and letters with accents that
        are written as two, would let two names look like one.
    """
    kinds = {unicodedata.category(one)[0] for one in text if one not in _BETWEEN}
    usual = kinds <= set("LMN")
    ends = text[:1].isalnum() and text[-1:] not in (" ", ".")
    composed = unicodedata.is_normalized("NFC", text)
    return len(text) <= LONGEST and ends and usual and composed and "  " not in text


def nearest_name(text: str) -> str:
    """Suggest a name that a site or a study can have.

    Parameters
    ----------
    text : str
        Any text, with accents and blanks perhaps.

    Returns
    -------
    str
        The same letters without accents, with hyphens in place of anything else; empty
        if no letter is left, as of other alphabets.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.findall(r"[A-Za-z0-9_]+", plain)
    return "-".join(words).strip("_-")[:LONGEST]


def as_toml_key(text: str) -> str:
    """Write a name as a key of a TOML file.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        As it is, or in quotes: TOML has keys without quotes for ASCII only.
    """
    plain = text.replace("-", "").replace("_", "")
    return text if plain.isascii() and plain.isalnum() else as_toml_text(text)


def as_toml_text(text: str) -> str:
    """Write a text as a value of a TOML file.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        In quotes.
    """
    # A JSON string is a valid TOML string, except for DEL, which JSON does not escape.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def in_words(content: bytes | str) -> str:
    """Write bytes as words that can be read to each other on the telephone.

    Parameters
    ----------
    content : bytes or str
        An even number of bytes; text is read as hexadecimal digits.

    Returns
    -------
    str
        One word of five letters for each two bytes, consonants and vowels in turns;
        groups of four words are separated by a dot.

    Notes
    -----
    Bits 15 to 12 of a word choose the first consonant, 11 and 10 the vowel after it,
    and so on to bits 3 to 0. Different bytes give different words, and no word has to
    be looked up in a list.
    """
    raw = bytes.fromhex(content) if isinstance(content, str) else content
    words = [
        _word(int.from_bytes(raw[i : i + WORD_BYTES], "big"))
        for i in range(0, len(raw), WORD_BYTES)
    ]
    groups = [words[i : i + GROUP] for i in range(0, len(words), GROUP)]
    return " . ".join(" ".join(group) for group in groups)


def key_words(public: bytes | str) -> str:
    """Write the fingerprint of a public key in words.

    Parameters
    ----------
    public : bytes or str
        The key, or its hexadecimal digits.

    Returns
    -------
    str
        Eight words, of the first 16 bytes of its SHA-256. Another key with the same
        words takes 2^128 attempts.
    """
    raw = bytes.fromhex(public) if isinstance(public, str) else public
    return in_words(hashlib.sha256(raw).digest()[:FINGERPRINT_BYTES])


def _word(number: int) -> str:
    return (
        CONSONANTS[number >> 12 & 15]
        + VOWELS[number >> 10 & 3]
        + CONSONANTS[number >> 6 & 15]
        + VOWELS[number >> 4 & 3]
        + CONSONANTS[number & 15]
    )
