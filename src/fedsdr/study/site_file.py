"""``site.toml``: the source of a site's rows, and its limits on releases."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StrictInt

from fedsdr.disclosure import Policy
from fedsdr.exceptions import InputError
from fedsdr.study.checked_files import CheckError, read_model
from fedsdr.study.study_columns import FROZEN
from fedsdr.study.study_file import SiteName, StudyFile, read_study


def _read_key(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    texts = isinstance(names, list) and all(isinstance(one, str) for one in names)
    if not texts or not names or "" in names or len(set(names)) < len(names):
        raise ValueError('must be a column such as "patient_id", or a list of columns')
    return tuple(names)


class SiteFile(BaseModel):
    """The content of a site file, which stays at the site.

    Parameters
    ----------
    file : Path
        Path of the site file itself; not a key in the file.
    name : str
        Name of the site in the roster.
    data : dict
        Source of the rows, see `fedsdr.data.open_source`.
    study : str, default="study.toml"
        Path of the site's copy of the study file. All paths are relative to the folder
        of the site file.
    identity : str, default="identity.key"
        File with the private key that ``fedsdr keygen`` wrote.
    ledger : str, default="ledger"
        File that records all releases.
    result : str, default="result.json"
        File for the result that the coordinator publishes.
    log : str, default="site.log"
        File for error messages, which stay at the site.
    peers : str, default="peers.json"
        File with the partners that the steward has accepted.
    tls : str, default="tls.key"
        File with the private key of the connection, see ``fedsdr site request``.
    node : str, default="node"
        Folder for the settings and logs of the site's node.
    memory : int, default=256
        Mebibytes that rows may take in memory; larger data are read again, batch by
        batch, for every sum.
    key : tuple of str, default=()
        Columns of the data that identify a row; rows then come in the order of their
        values. It is not sent.
    columns : dict of str to str
        Name in the data of each column of the study whose name differs there.
    policy : dict
        Limits on releases, see `fedsdr.disclosure.Policy`.
    """

    model_config = FROZEN

    file: Path
    name: SiteName
    data: dict[str, Any]
    study: str = "study.toml"
    identity: str = "identity.key"
    ledger: str = "ledger"
    result: str = "result.json"
    log: str = "site.log"
    peers: str = "peers.json"
    tls: str = "tls.key"
    node: str = "node"
    memory: StrictInt = Field(default=256, ge=1)
    key: Annotated[tuple[str, ...], BeforeValidator(_read_key)] = ()
    columns: dict[str, str] = Field(default_factory=dict)
    policy: dict[str, Any] = Field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Folder that contains the file."""
        return self.file.parent

    def at(self, path: str) -> Path:
        """Return the full path of a file that the site file names.

        Parameters
        ----------
        path : str
            Path relative to the folder, or absolute.

        Returns
        -------
        Path
            Full path; the file need not exist.
        """
        return self.folder / Path(path).expanduser()

    def read_study(self) -> StudyFile:
        """Read the site's copy of the study.

        Returns
        -------
        StudyFile
            Validated study file, with this site in its roster.
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
        known = {study.target.name, *study.columns, *study.reads}
        foreign = [name for name in self.columns if name not in known]
        if foreign:
            raise CheckError(
                str(self.file),
                [f"columns: the study has no column '{name}'" for name in foreign],
            )
        return study

    def read_policy(self) -> Policy:
        """Read the site's limits on releases.

        Returns
        -------
        Policy
            Limits; the defaults where the file has none.
        """
        return Policy.from_mapping(self.policy)


def read_site(path: str | Path) -> SiteFile:
    """Read and validate a site file.

    Parameters
    ----------
    path : str or Path
        TOML file.

    Returns
    -------
    SiteFile
        Validated content. A `CheckError` names every wrong key and its correction.
    """
    path = Path(path)
    site = read_model(SiteFile, path, file=path.absolute())
    try:
        site.read_policy()
    except InputError as error:
        raise CheckError(str(path), [f"policy: {error}"]) from error
    return site
