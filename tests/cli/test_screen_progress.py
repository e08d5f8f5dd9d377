from io import StringIO

from fedsdr.cli.screen import SafeConsole, Screen, _time_left
from fedsdr.telling import Doing, tell


def shown(*, quiet: bool = False, terminal: bool = True) -> str:
    screen, stream = Screen(quiet=quiet), StringIO()
    screen.err = SafeConsole(file=stream, force_terminal=terminal, width=100)
    with screen.stage("Fitting [b]") as stage:
        tell("validating \x1b]0;penalties", 2, 5)
        stage.done = "Fitted"
    return stream.getvalue()


def test_a_terminal_shows_what_is_told() -> None:
    text = shown()
    assert "Fitting [b]: validating" in text
    assert "2 of 5" in text
    assert "0:00:0" in text
    assert "Fitted (" in text
    # What is told cannot change the terminal.
    assert "\x1b]0;" not in text


def test_a_log_has_one_line_per_step_and_quiet_none() -> None:
    text = shown(terminal=False)
    assert text.startswith("Fitted (")
    assert text.count("\n") == 1
    assert shown(quiet=True) == ""


def test_the_time_left_follows_from_the_parts(monkeypatch) -> None:
    clock = iter([0.0, 20.0, 30.0, 30.5])
    monkeypatch.setattr("fedsdr.cli.screen.time.perf_counter", lambda: next(clock))
    begun: dict[str, float] = {}
    assert _time_left(Doing("x", 0, 4), begun) == ""
    assert _time_left(Doing("x", 1, 4), begun) == "about 60 s left"
    assert _time_left(Doing("x", 3, 4), begun) == "about 10 s left"
    assert _time_left(Doing("another"), begun) == ""
