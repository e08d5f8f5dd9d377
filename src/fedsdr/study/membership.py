"""Which sites are in the result of a study: decided once, and said aloud."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.protocols.exchange import Payload
from fedsdr.study.study_file import StudyFile

MEMBERS = "members.json"

#: Why a site is not in the result, where it is not the code of a failure.
CHOSEN = "left out by choice"


@dataclass(frozen=True, slots=True)
class Membership:
    """The sites of a result, and those that are not in it.

    Parameters
    ----------
    sites : tuple of str
        Sites in every sum.
    left_out : mapping of str to str, default={}
        Of each other site the reason: `CHOSEN`, or a fixed code.
    """

    sites: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the membership beside the finished sums.

        Parameters
        ----------
        folder : Path
            Folder of the study at the coordinator.
        """
        content = {"sites": list(self.sites), "left_out": dict(self.left_out)}
        with explained(f"cannot write {folder / MEMBERS}"):
            write_atomically(folder / MEMBERS, json.dumps(content, indent=2) + "\n")


def read_members(folder: Path, begun: Mapping[str, Payload]) -> Membership | None:
    """Read over which sites the sums of a study are.

    Parameters
    ----------
    folder : Path
        Folder of the study at the coordinator.
    begun : mapping of str to dict
        Sums that were begun there.

    Returns
    -------
    Membership or None
        None if no sum was begun: then nothing is decided yet. An `InputError` if sums
        are over different sites, since no result may rest on them.
    """
    sets = {tuple(sorted(saved["sites"])) for saved in begun.values()}
    if not sets:
        return None
    if len(sets) > 1:
        found = "; ".join(
            f"{name} over {', '.join(sorted(saved['sites']))}"
            for name, saved in begun.items()
        )
        raise InputError(
            f"{folder} holds sums over different sites, of which there is no common "
            f"result: {found}. Void the rounds of one kind, at the sites and here"
        )
    (sites,) = sets
    try:
        content = json.loads((folder / MEMBERS).read_text(encoding="utf-8"))
        return Membership(
            sites, {str(k): str(v) for k, v in content["left_out"].items()}
        )
    except FileNotFoundError:
        return Membership(sites)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{folder / MEMBERS} is damaged: delete it") from error


def choose_sites(study: StudyFile, without: Collection[str]) -> tuple[str, ...]:
    """Leave out the sites that the coordinator does not want to wait for.

    Parameters
    ----------
    study : StudyFile
        Study file.
    without : collection of str
        Names of these sites.

    Returns
    -------
    tuple of str
        All others. An `InputError` if a name is unknown, or if too few are left.
    """
    agreed = study.to_study()
    unknown = sorted(set(without) - set(agreed.sites))
    if unknown:
        raise InputError(
            f"the study has no site '{unknown[0]}' that could be left out; it has "
            f"{', '.join(agreed.sites)}"
        )
    left = tuple(site for site in agreed.sites if site not in without)
    if len(left) < agreed.agreed_threshold:
        raise InputError(
            f"without {', '.join(sorted(without))} {len(left)} sites are left, and the "
            f"study needs {agreed.agreed_threshold}: bring sites back, or agree on "
            "another study"
        )
    return left


def check_choice(
    members: Membership, without: Collection[str], begun: Mapping[str, Payload]
) -> None:
    """Refuse to leave out a site whose numbers may be in a sum already.

    Parameters
    ----------
    members : Membership
        Sites of the sums that were begun.
    without : collection of str
        Sites that the coordinator wants to leave out.
    begun : mapping of str to dict
        Sums that were begun.

    Raises
    ------
    InputError
        It names who decides, and with which commands.
    """
    gone = sorted(set(without).intersection(members.sites))
    if not gone:
        return
    names = ", ".join(gone)
    rounds = [one for saved in begun.values() for one in saved.get("rounds", ())]
    raise InputError(
        f"masked numbers have left for sums over {', '.join(members.sites)}, and the "
        f"same sums without {names} would show by their difference what {names} sent. "
        f"So the steward of {names} decides. Either {names} comes back ('fedsdr site "
        "join site.toml KIT' there) and you resume without --without; or that steward "
        "agrees, every other steward voids these rounds ('fedsdr site void site.toml "
        "ROUND'), then you ('fedsdr study void STUDY.toml ROUND'), and you resume with "
        f"--without: {', '.join(rounds)}"
    )
