"""Logs without anything that could be a value, a key, a token or a person's folder.

A log of a site is written for its steward. What helps somebody else to find a fault is
when something happened, of which kind it was, and where in the program: that is kept,
and what an error *said* is left out, since it may quote the data.
"""

import re
from collections.abc import Iterable, Iterator

#: Written in place of what is left out.
LEFT_OUT = "[left out]"

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*"
#: A line of a node's log: time, logger, level, message.
_NODE = re.compile(
    rf"(?:\x1b\[[0-9;]*m)*({_TIME}) - ([\w.]+) - ([A-Z]+) - (.*?)(?:\x1b\[[0-9;]*m)*"
)
#: A line of a site's log: time, message, code; explanations are indented.
_SITE = re.compile(rf"({_TIME}) ([\w.]+) ([A-Z]+)")
_RULE = re.compile(r"\s+([A-Z]{4,12}): .*")
_FRAME = re.compile(r'\s*File "([^"]*)", line (\d+)(?:, in (\w+|<\w+>))?')
_ERROR = re.compile(r"\s*((?:\w+\.)*\w*(?:Error|Exception|Refusal|Warning))\b.*")

#: What may stand in a message of NVFLARE besides words.
_HIDDEN = (
    (re.compile(r"""(["']).*?\1"""), "[text]"),
    (re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s,;'\")\]]*"), "[path]"),
    (re.compile(r"\S+@\S+"), "[person]"),
    (re.compile(r"\S*[0-9a-fA-F]{8,}\S*"), "[id]"),
    (re.compile(r"[-+]?\d[\d.,eE+-]*"), "[n]"),
    (re.compile(r"(?i)\b(token|secret|password|key|nonce|ssid)\b\W+\S+"), r"\1 [text]"),
)


def redact_node_log(lines: Iterable[str]) -> Iterator[str]:
    """Reduce the log of a node.

    Parameters
    ----------
    lines : iterable of str
        Of a log that NVFLARE wrote.

    Yields
    ------
    str
        Time, logger and level of each message. The words of messages below the level
        of errors, without numbers, quoted texts, paths and identifiers; of errors and
        tracebacks only types and places in the program.
    """
    for line in lines:
        if found := _NODE.fullmatch(line.rstrip("\n")):
            when, logger, level, message = found.groups()
            words = _kind(message) if level in ("ERROR", "CRITICAL") else plain(message)
            yield f"{when} {logger} {level} {words}"
        elif place := _place(line):
            yield place


def redact_site_log(lines: Iterable[str]) -> Iterator[str]:
    """Reduce the log of a site.

    Parameters
    ----------
    lines : iterable of str
        Written by `fedsdr.study.study_site.log_failure`.

    Yields
    ------
    str
        Times, messages and codes, the names of rules that forbade something, and types
        and places of errors. Explanations are left out: they have counts.
    """
    for line in lines:
        plain_line = line.rstrip("\n")
        if found := _SITE.fullmatch(plain_line):
            yield " ".join(found.groups())
        elif found := _RULE.fullmatch(plain_line):
            yield f"    {found.group(1)}: {LEFT_OUT}"
        elif place := _place(plain_line):
            yield place


def plain(message: str) -> str:
    """Take everything out of a message that is not a word of the program.

    Parameters
    ----------
    message : str
        Message of NVFLARE.

    Returns
    -------
    str
        Without quoted texts, paths, addresses of people, identifiers and numbers; what
        follows the type of an error is left out.
    """
    head, error, _ = _split_error(message)
    for pattern, word in _HIDDEN:
        head = pattern.sub(word, head)
    return f"{head}{error} {LEFT_OUT}" if error else head


def _kind(message: str) -> str:
    error = _split_error(message)[1]
    return f"{error} {LEFT_OUT}".strip()


def _split_error(message: str) -> tuple[str, str, str]:
    found = re.search(r"\b\w+(?:Error|Exception|Refusal)\b", message)
    if found is None:
        return message, "", ""
    return message[: found.start()], found.group(), message[found.end() :]


def _place(line: str) -> str:
    """Keep of a traceback where it was in the program, and the type of the error."""
    if found := _FRAME.fullmatch(line.rstrip("\n")):
        path, number, function = found.groups()
        module = re.split(r"site-packages[/\\]|[/\\]src[/\\]", path)[-1]
        if module == path:
            module = re.split(r"[/\\]", path)[-1]
        return f"    {module}:{number} {function or ''}".rstrip()
    if found := _ERROR.fullmatch(line.rstrip("\n")):
        return f"    {found.group(1)} {LEFT_OUT}"
    return ""
