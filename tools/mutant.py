"""What a mutant is: a defence that is switched off, and who has to notice."""

from dataclasses import dataclass

SUM = "src/fedsdr/secure_sum/"
SECURE = "src/fedsdr/protocols/secure/"
DISCLOSURE = "src/fedsdr/disclosure/"
QUESTIONS = "src/fedsdr/questions/"

VIEW = "tests/attacks/test_coordinator_view.py"
BLAME = "tests/attacks/test_blame.py"
PROOFS = "tests/attacks/test_share_proofs.py"
ATTACKS = "tests/attacks/test_secure_sum_attacks.py"
DIFFERENCING = "tests/attacks/test_differencing.py"
NUMBERS = "tests/attacks/test_wrong_numbers.py"
FUZZ = "tests/attacks/test_fuzz.py"
ROUND = "tests/secure_sum/test_round.py"
BROKEN = "tests/study/test_broken_rounds.py"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a file.

    Parameters
    ----------
    file : str
        Path in the clone.
    old, new : str
        Text, and what is put in its place.
    count : int, default=1
        Number of places where the text must occur; all of them are changed.
    """

    file: str
    old: str
    new: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Mutant:
    """A defence that is switched off.

    Parameters
    ----------
    name : str
        What is missing then, in words.
    edits : tuple of Edit
        Changes of the sources.
    tests : tuple of str
        Files of tests that must notice it.
    """

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def off(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    """Describe a mutant with a single change."""
    return Mutant(name, (Edit(file, old, new),), tests)
