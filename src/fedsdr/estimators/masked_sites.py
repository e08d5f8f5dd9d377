"""Sites of one analyst that add under masks, as institutions would."""

from typing import Any

import numpy as np

from fedsdr.disclosure import OpenGate
from fedsdr.method import Method
from fedsdr.protocols.secure import AgreedStudy, SecureSite, SecureSum
from fedsdr.result import Result
from fedsdr.rows import Communication, OwnSites
from fedsdr.run import run
from fedsdr.secure_sum import Identity
from fedsdr.transports import InProcess


def add_under_masks(
    sites: OwnSites, method: Method, generator: np.random.Generator
) -> tuple[Result, Communication]:
    """Fit with all parties in this process, every message made.

    Parameters
    ----------
    sites : OwnSites
        Rows of at least 3 sites; each gets an identity for the occasion.
    method : Method
        Every parameter of the fit.
    generator : numpy.random.Generator
        Decides between equally frequent votes.

    Returns
    -------
    result : Result
        The same as without masks.
    communication : Communication
        Rounds and bytes.
    """
    variables = sites.variables
    identities = {name: Identity.generate() for name in sites.rows}
    roster = {name: identity.public for name, identity in identities.items()}
    terms = method.terms(variables)
    study = AgreedStudy("in process", variables.names, "y (response)", terms, roster)
    parties: dict[str, Any] = {
        name: SecureSite(name, study, own, identities[name], OpenGate())
        for name, own in sites.rows.items()
    }
    transport = InProcess(parties, on_error="raise")
    adder = SecureSum(transport, study)
    adder.agree()
    result = run(adder, method, generator)
    transcript = transport.transcript
    traffic = {name: transcript.bytes_of(name) for name in sites.rows}
    return result, Communication(transcript.rounds, traffic)
