"""A study between institutions: its files, its sites, and its coordinator."""

from fedsdr.study.checked_files import CheckError
from fedsdr.study.conducting import Step, conduct
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.study_file import StudyFile, read_study
from fedsdr.study.study_site import StudySite, open_site

__all__ = [
    "CheckError",
    "SiteFile",
    "Step",
    "StudyFile",
    "StudySite",
    "conduct",
    "open_site",
    "read_site",
    "read_study",
]
