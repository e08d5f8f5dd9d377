"""Run the secure protocol between the sites of one analyst, in one process."""

from typing import Any

import numpy as np

from fedsdr.disclosure import OpenGate
from fedsdr.method import Method
from fedsdr.protocols.secure import AgreedStudy, SecureSite, SecureSum
from fedsdr.result import Result
from fedsdr.rows import Communication, OwnSites
from fedsdr.run import run
from fedsdr.secure_sum import Identity
from fedsdr.terms import Terms
from fedsdr.transports import InProcess


def add_under_masks(
    sites: OwnSites, method: Method, generator: np.random.Generator
) -> tuple[Result, Communication]:
    """Fit with masked sums, with all parties and all messages in this process.

    Parameters
    ----------
    sites : OwnSites
        Rows of at least 3 sites; each site gets a temporary identity.
    method : Method
        Parameters of the fit.
    generator : numpy.random.Generator
        Generator that decides between equally frequent votes.

    Returns
    -------
    result : Result
        Result of the fit, the same as without masks.
    communication : Communication
        Number of rounds, and bytes per site.
    """
    adder, transport = join_under_masks(sites, method.terms(sites.variables))
    result = run(adder, method, generator)
    transcript = transport.transcript
    traffic = {name: transcript.bytes_of(name) for name in sites.rows}
    return result, Communication(transcript.rounds, traffic)


def join_under_masks(sites: OwnSites, terms: Terms) -> tuple[SecureSum, InProcess]:
    """Agree on a study between sites, with all parties in this process.

    Parameters
    ----------
    sites : OwnSites
        Rows of at least 3 sites; each site gets a temporary identity.
    terms : Terms
        Terms that the sites agree on.

    Returns
    -------
    adder : SecureSum
        Function that computes masked sums over the sites.
    transport : InProcess
        Transport, which counts the messages.
    """
    names = sites.variables.names
    identities = {name: Identity.generate() for name in sites.rows}
    roster = {name: identity.public for name, identity in identities.items()}
    study = AgreedStudy("in process", names, "y (response)", terms, roster)
    parties: dict[str, Any] = {
        name: SecureSite(name, study, own, identities[name], OpenGate())
        for name, own in sites.rows.items()
    }
    transport = InProcess(parties, on_error="raise")
    adder = SecureSum(transport, study)
    adder.agree()
    return adder, transport
