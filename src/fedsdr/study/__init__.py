"""A study between institutions: its files, its sites, and who conducts it."""

from fedsdr.study.coordinator import Step, conduct
from fedsdr.study.files import CheckError
from fedsdr.study.site import StudySite, open_site
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.study_file import StudyFile, read_study

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
