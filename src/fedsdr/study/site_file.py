"""``site.toml``: where a site's rows are, and what it lets out."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, StrictInt

from fedsdr.disclosure import Policy
from fedsdr.exceptions import InputError
from fedsdr.study.checked_files import CheckError, read_model
from fedsdr.study.study_columns import FROZEN
from fedsdr.study.study_file import Name, StudyFile, read_study


class SiteFile(BaseModel):
    """A site, as its steward describes it. The file stays at the site.

    Parameters
    ----------
    file : Path
        The file itself; not a key of it.
    name : str
        Its name in the roster.
    data : dict
        Where the rows are, see `fedsdr.data.open_source`.
    study : str, default="study.toml"
        The site's own copy of the study file. Like all paths, relative to the folder
        that this file is in.
    identity : str, default="identity.key"
        Private key that ``fedsdr keygen`` wrote.
    ledger : str, default="ledger"
        File of all releases.
    result : str, default="result.json"
        Where to put the result that the coordinator publishes.
    log : str, default="site.log"
        Where to say what went wrong, for the steward alone.
    memory : int, default=256
        Mebibytes that rows may take in memory; more of them are read anew, batch by
        batch, for every sum.
    columns : dict of str to str
        For columns of the study that have another name in the data: that name.
    policy : dict
        See `fedsdr.disclosure.Policy`.
    """

    model_config = FROZEN

    file: Path
    name: Name
    data: dict[str, Any]
    study: str = "study.toml"
    identity: str = "identity.key"
    ledger: str = "ledger"
    result: str = "result.json"
    log: str = "site.log"
    memory: StrictInt = Field(default=256, ge=1)
    columns: dict[str, str] = Field(default_factory=dict)
    policy: dict[str, Any] = Field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Folder that the file is in."""
        return self.file.parent

    def at(self, path: str) -> Path:
        """Find a file that is named here.

        Parameters
        ----------
        path : str
            Relative to the folder, or absolute.

        Returns
        -------
        Path
            Whether it exists or not.
        """
        return self.folder / Path(path).expanduser()

    def read_study(self) -> StudyFile:
        """Read the site's copy of the study.

        Returns
        -------
        StudyFile
            Validated, and with this site in its roster.
        """
        path = self.at(self.study)
        study = read_study(path)
        if self.name not in study.sites.roster:
            problem = (
                f"sites.roster: has no site '{self.name}': send the line that 'fedsdr "
                "keygen' prints to the coordinator, or correct the name in the site's "
                "file"
            )
            raise CheckError(str(path), [problem])
        known = {study.target.name, *study.columns}
        foreign = [name for name in self.columns if name not in known]
        if foreign:
            raise CheckError(
                str(self.file),
                [f"columns: the study has no column '{name}'" for name in foreign],
            )
        return study

    def read_policy(self) -> Policy:
        """Read the site's limits.

        Returns
        -------
        Policy
            The defaults where the file does not say otherwise.
        """
        return Policy.from_mapping(self.policy)


def read_site(path: str | Path) -> SiteFile:
    """Read and validate a site file.

    Parameters
    ----------
    path : str or Path
        TOML.

    Returns
    -------
    SiteFile
        A `CheckError` says of every key that is wrong what to do about it.
    """
    path = Path(path)
    site = read_model(SiteFile, path, file=path.absolute())
    try:
        site.read_policy()
    except InputError as error:
        raise CheckError(str(path), [f"policy: {error}"]) from error
    return site
