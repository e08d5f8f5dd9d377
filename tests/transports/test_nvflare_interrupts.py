"""Signals during the start of processes, none of which may be lost."""

import signal

import pytest

pytest.importorskip("psutil", reason="the extra fedsdr[federation] is not installed")

from fedsdr.transports.nvflare.interrupts import Interrupts


def interrupt(number: int, steps: list[str]) -> None:
    """Run steps during which a signal arrives."""
    interrupts = Interrupts()
    with interrupts.handled():
        with interrupts.held():
            with interrupts.held():
                signal.raise_signal(number)
                steps.append("inner")
            steps.append("outer")
        steps.append("never")


@pytest.mark.parametrize(
    ("number", "expected"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)],
)
def test_a_signal_waits_for_the_outermost_step(
    number: int, expected: type[BaseException]
) -> None:
    steps: list[str] = []
    with pytest.raises(expected) as caught:
        interrupt(number, steps)
    assert steps == ["inner", "outer"]
    assert getattr(caught.value, "code", 143) == 143


def test_outside_of_a_step_a_signal_acts_at_once_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interrupts().handled():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
