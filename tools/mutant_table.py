"""All defences that `tools.mutants` switches off; add new ones to these modules."""

from tools.mutants_of_halves import OF_HALVES
from tools.mutants_of_masks import AGREEMENT, MASKS
from tools.mutants_of_pages import OF_PAGES, OF_PICTURES
from tools.mutants_of_rules import LEDGER, NUMBERS_SENT
from tools.mutants_of_shares import SHARES
from tools.mutants_of_sites import SITES, SURROUNDINGS

MUTANTS = (
    *MASKS,
    *AGREEMENT,
    *SHARES,
    *NUMBERS_SENT,
    *LEDGER,
    *SITES,
    *SURROUNDINGS,
    *OF_HALVES,
    *OF_PAGES,
    *OF_PICTURES,
)
