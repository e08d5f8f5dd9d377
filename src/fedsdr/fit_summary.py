"""A result as tables that people read: variables, directions, facts and warnings."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Width of the text: that of a terminal.
WIDTH = 79


@dataclass(frozen=True, slots=True, eq=False)
class FitSummary:
    """Tables of a result, as text, as a data frame or as JSON.

    Parameters
    ----------
    title : str
        First line.
    facts : tuple of (str, str)
        Names and values: rows, sites, certificate.
    variables : tuple of dict
        One row for every selected variable and direction, with the keys "variable",
        "direction", "loading" (per standard deviation), "coefficient" (in the units of
        the variable) and, if the fit has tested, "low", "high" (95 % interval of the
        loading), "p", "q" and "frequency".
    directions : tuple of dict
        One row for every direction, with the keys "direction", "share" and, if known,
        "angle".
    notes : tuple of str
        What must be known to read the tables, and warnings.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    variables: tuple[dict[str, Any], ...]
    directions: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def to_frame(self) -> Any:
        """Return the table of the variables.

        Returns
        -------
        pandas.DataFrame
            One row for every selected variable and direction.
        """
        import pandas as pd

        return pd.DataFrame(list(self.variables))

    def to_json(self, indent: int | None = 2) -> str:
        """Return all tables as JSON.

        Parameters
        ----------
        indent : int or None, default=2
            Indentation, as in `json.dumps`.

        Returns
        -------
        str
            An object with the keys "title", "facts", "variables", "directions" and
            "notes".
        """
        content = {
            "title": self.title,
            "facts": dict(self.facts),
            "variables": list(self.variables),
            "directions": list(self.directions),
            "notes": list(self.notes),
        }
        return json.dumps(content, indent=indent, allow_nan=False)

    def __str__(self) -> str:
        """Write all tables, as wide as a page."""
        rule, thin = "=" * WIDTH, "-" * WIDTH
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [f"{self.title:^{WIDTH}}".rstrip(), rule]
        lines += [f"{name:<{width}}  {value}" for name, value in self.facts]
        for row in self.directions:
            lines += [thin, *self._direction(row)]
        return "\n".join([*lines, rule, *self.notes])

    def _direction(self, row: dict[str, Any]) -> list[str]:
        """Write one direction with its variables."""
        number, share = row["direction"], row["share"]
        heading = f"direction {number}: y explains {share:.3f} of its variance"
        if "angle" in row:
            heading += f"; true one within {row['angle']:.1f} degrees"
        own = [one for one in self.variables if one["direction"] == number]
        width = max([8, *(len(str(one["variable"])) for one in own)])
        tested = any("q" in one for one in own)
        columns = f"{'variable':<{width}} {'loading/sd':>10} {'per unit':>11}"
        if tested:
            columns += f" {'[0.025':>8} {'0.975]':>8} {'p':>8} {'q':>8} {'selected':>8}"
        lines = [heading, columns]
        for one in own:
            line = f"{one['variable']:<{width}} {one['loading']:>10.3f}"
            line += f" {one['coefficient']:>11.4g}"
            if tested:
                line += f" {one['low']:>8.3f} {one['high']:>8.3f}"
                line += f" {_small(one['p']):>8} {_small(one['q']):>8}"
                line += f" {one['frequency']:>8.0%}"
            lines.append(line)
        return lines


def _small(value: float) -> str:
    """Write a probability."""
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def describe_needs(needs: Sequence[int]) -> str:
    """Say how many directions sites need.

    Parameters
    ----------
    needs : sequence of int
        Number of sites that need 1, 2, ..., K directions, and more than these.

    Returns
    -------
    str
        Text such as "7 of 8 sites need 1, 1 needs 2".
    """
    total = sum(needs)
    parts: list[str] = []
    for k, count in enumerate(needs, 1):
        if count:
            of = "" if parts else f" of {total} sites"
            many = str(k) if k < len(needs) else "others"
            parts.append(f"{count}{of} need{'s' if count == 1 else ''} {many}")
    return ", ".join(parts)


def describe_halves(
    n_halves: int, shares: Sequence[tuple[int, float]], *, several: bool
) -> str:
    """Say how many directions halves of the rows show.

    Parameters
    ----------
    n_halves : int
        Number of halves.
    shares : sequence of (int, float)
        Share of the halves that show each number of directions.
    several : bool
        Whether there are several sites, of which halves are told nothing.

    Returns
    -------
    str
        Text such as "8; 2 directions in 88%, 1 in 12%, sites taken as alike".
    """
    ordered = sorted(shares, key=lambda one: -one[1])
    parts = [f"{k} in {share:.0%}" for k, share in ordered]
    if not parts:
        return str(n_halves)
    first = ordered[0][0]
    unit = "direction" if first == 1 else "directions"
    parts[0] = parts[0].replace(" ", f" {unit} ", 1)
    alike = ", sites taken as alike" if several else ""
    return f"{n_halves}; {', '.join(parts)}{alike}"


def explain_halves(
    shares: Sequence[tuple[int, float]], n_directions: int
) -> tuple[str, ...]:
    """Say why halves of several sites may show more directions than a fit has.

    Parameters
    ----------
    shares : sequence of (int, float)
        Share of the halves that show each number of directions.
    n_directions : int
        Number of directions of the fit.

    Returns
    -------
    tuple of str
        A note, or nothing where most halves show no more than the fit.
    """
    more = sum(share for k, share in shares if k > n_directions)
    if more <= 0.5:
        return ()
    kept = "1 direction holds"
    if n_directions != 1:
        kept = f"{n_directions} directions hold"
    note = (
        f"Note: {kept} for the sites as they are. Halves of the rows show more, but "
        "are taken as if sites were alike: what differs between sites then looks like "
        "a further direction."
    )
    return (note,)
