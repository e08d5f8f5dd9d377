"""The defences that `tools.mutants` switches off: one entry is one defence."""

from dataclasses import dataclass

SUM = "src/fedsdr/secure_sum/"
SECURE = "src/fedsdr/protocols/secure/"
DISCLOSURE = "src/fedsdr/disclosure/"
QUESTIONS = "src/fedsdr/questions/"

VIEW = "tests/attacks/test_coordinator_view.py"
BLAME = "tests/attacks/test_blame.py"
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


def _off(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    """Describe a mutant with a single change."""
    return Mutant(name, (Edit(file, old, new),), tests)


MASKS = (
    _off(
        "pair masks from private keys: derived from public keys",
        f"{SUM}round_secrets.py",
        "derive(agree(self._mask, peer.mask_key), info)",
        "derive(b''.join(sorted((raw_public(self._mask), peer.mask_key))), info)",
        VIEW,
    ),
    _off(
        "pair masks from private keys: exclusive or of public keys",
        f"{SUM}round_secrets.py",
        "derive(agree(self._mask, peer.mask_key), info)",
        "derive(bytes(a ^ b for a, b in zip("
        "raw_public(self._mask), peer.mask_key)), info)",
        VIEW,
    ),
    Mutant(
        "self mask: none",
        (
            Edit(f"{SUM}sum_site.py", "add=[own, *later]", "add=later"),
            Edit(
                f"{SUM}masked_sum.py",
                "apply_masks(result, subtract=seeds)",
                "apply_masks(result)",
            ),
        ),
        (ATTACKS,),
    ),
    Mutant(
        "self mask: derived from its public key",
        (
            Edit(
                f"{SUM}round_secrets.py",
                "return seed_of(scalar_of(self._self))",
                "return raw_public(self._self)",
            ),
            Edit(
                f"{SUM}masked_sum.py",
                "derive(seed_of(secret), self_info",
                "derive(self.keys[site].commitment, self_info",
            ),
            Edit(
                f"{SUM}round_secrets.py",
                "derive(agree(self._mask, peer.mask_key), info)",
                "derive(b'', info)",
            ),
        ),
        (VIEW,),
    ),
    _off(
        "masks depend on their seed",
        f"{SUM}masks.py",
        "algorithms.AES(seed)",
        "algorithms.AES(bytes(32))",
        "tests/secure_sum/test_masks.py",
    ),
    Mutant(
        "secrets of a round are drawn anew",
        (
            Edit(
                f"{SUM}sum_site.py",
                "    def keys(self) -> PublicKeys:",
                "    def __post_init__(self):\n"
                "        self._secrets = KEPT.setdefault(self.name, self._secrets)\n\n"
                "    def keys(self) -> PublicKeys:",
            ),
            Edit(
                f"{SUM}sum_site.py", "class RoundStage(", "KEPT = {}\nclass RoundStage("
            ),
        ),
        (VIEW,),
    ),
    Mutant(
        "boxes: under a constant key",
        (
            Edit(
                f"{SUM}parcels.py",
                "derive(agree(ephemerals[name], self.keys[name].box_key), info)",
                "derive(bytes(32), info)",
            ),
            Edit(
                f"{SUM}parcels.py",
                "unseal(derive(secret, info)",
                "unseal(derive(bytes(32), info)",
            ),
        ),
        (VIEW,),
    ),
    _off(
        "shares: every share is the secret",
        f"{SUM}sharing.py",
        "coefficients = [secrets.randbelow(ORDER) for _ in range(threshold - 1)]",
        "coefficients = [0] * (threshold - 1)",
        "tests/secure_sum/test_sharing.py",
    ),
    _off(
        "shares: one fewer recovers the secret",
        f"{SUM}sharing.py",
        "range(threshold - 1)",
        "range(threshold - 2)",
        "tests/secure_sum/test_sharing.py",
    ),
)

AGREEMENT = (
    _off(
        "threshold: two sites are enough",
        f"{SUM}agreement.py",
        "low = max(MIN_SITES, n_sites // 2 + 1)",
        "low = 2",
        ROUND,
    ),
    _off(
        "threshold: half of the sites are enough",
        f"{SUM}agreement.py",
        "n_sites // 2 + 1)",
        "n_sites // 2)",
        ROUND,
    ),
    _off(
        "roster: a key may be there twice",
        f"{SUM}agreement.py",
        "if len(set(self.roster.values())) < n_sites:",
        "if False:",
        ROUND,
    ),
    _off(
        "context: no study in what is signed",
        f"{SUM}agreement.py",
        "label, self.study, self.round, self.question",
        "label, self.round, self.question",
        ROUND,
    ),
    _off(
        "context: no round in what is signed",
        f"{SUM}agreement.py",
        "label, self.study, self.round, self.question",
        "label, self.study, self.question",
        ROUND,
    ),
    _off(
        "context: no question in what is signed",
        f"{SUM}agreement.py",
        "label, self.study, self.round, self.question",
        "label, self.study, self.round",
        ROUND,
    ),
    _off(
        "survivors: signed without the keys that were shown",
        f"{SUM}bindings.py",
        "return shown_keys(keys) + digest(sorted(shared))",
        "return digest(sorted(shared))",
        "tests/attacks/test_shown_keys.py",
    ),
    _off(
        "survivors: signed without who shared secrets",
        f"{SUM}bindings.py",
        "return shown_keys(keys) + digest(sorted(shared)) +",
        "return shown_keys(keys) +",
        ROUND,
    ),
    _off(
        "survivors: signatures are not checked",
        f"{SUM}sum_site.py",
        "check_signature(self.agreement.roster, site, signature, message)",
        "pass",
        ATTACKS,
        ROUND,
    ),
    _off(
        "survivors: too few are accepted",
        f"{SUM}sum_site.py",
        "if len(set(named)) < self.agreement.threshold or len",
        "if len",
        ROUND,
    ),
    _off(
        "survivors: sites that took no part are accepted",
        f"{SUM}sum_site.py",
        "if self.name not in named or not set(named) <= set(self._held):",
        "if False:",
        ROUND,
    ),
    _off(
        "order: a stage is answered again",
        f"{SUM}sum_site.py",
        "if self._stage != stage:",
        "if False:",
        ATTACKS,
        ROUND,
    ),
    _off(
        "keys: signatures are not checked by sites",
        f"{SUM}sum_site.py",
        "check_signature(self.agreement.roster, site, public.signature, message)",
        "pass",
        ROUND,
    ),
    _off(
        "keys: a site does not look for its own",
        f"{SUM}sum_site.py",
        "keys[self.name].content != own.content",
        "False",
        ROUND,
    ),
    _off(
        "masked numbers: signatures are not checked",
        f"{SECURE}secure_coordinator.py",
        "        self._signed(site, reply, masked_message(context, site, masked))\n",
        "",
        "tests/protocols/test_secure.py",
    ),
)

SHARES = (
    _off(
        "shares: receivers do not check theirs",
        f"{SUM}parcels.py",
        "if not holds(self.context, dealer, receiver, held, parcel.proof):",
        "if False:",
        BLAME,
    ),
    _off(
        "shares: the coordinator checks no proof",
        f"{SUM}parcels.py",
        "guilty = {}\n        for dealer, parcels in dealt.items():",
        "guilty = {}\n        for dealer, parcels in ():",
        BLAME,
    ),
    _off(
        "shares: of any degree",
        f"{SUM}dealing.py",
        "if weighted % ORDER or not proves(",
        "if not proves(",
        BLAME,
    ),
    _off(
        "shares: of any secret",
        f"{SUM}dealing.py",
        "if weighted % ORDER or not proves(",
        "if weighted % ORDER or not (lambda *_: True)(",
        BLAME,
    ),
    _off(
        "shares: commitments may change after the challenge",
        f"{SUM}dealing.py",
        "    if not same:\n",
        "    if False:\n",
        BLAME,
    ),
    _off(
        "shares: shown without being those that were given",
        f"{SUM}parcels.py",
        "commitment_of(self.context, dealer, holder, number, opened) == signed",
        "bool(signed)",
        BLAME,
    ),
    _off(
        "shares: any secret is accepted when the sum is opened",
        f"{SUM}masked_sum.py",
        "return public_of(secret) == (seed_key if site in self.masked else mask_key)",
        "return True",
        ATTACKS,
    ),
    _off(
        "parcels: the sender's signature is not checked",
        f"{SUM}parcels.py",
        "check_signature(self.agreement.roster, dealer, parcel.signature, message)",
        "pass",
        BLAME,
    ),
    _off(
        "parcels: signed without the receiver",
        f"{SUM}bindings.py",
        'context.bind("parcel", dealer, receiver, shown, content)',
        'context.bind("parcel", dealer, shown, content)',
        ROUND,
        BLAME,
        "tests/attacks/test_shown_keys.py",
    ),
    Mutant(
        "parcels: not bound to the keys that were shown",
        (
            Edit(
                f"{SUM}bindings.py",
                'context.bind("parcel", dealer, receiver, shown, content)',
                'context.bind("parcel", dealer, receiver, content)',
            ),
            Edit(
                f"{SUM}bindings.py",
                'context.bind("box", sender, receiver, shown)',
                'context.bind("box", sender, receiver)',
            ),
        ),
        (ROUND,),
    ),
    _off(
        "complaints: answered without a signature",
        f"{SUM}parcels.py",
        "        self.check_complaint(receiver, dealer, complaint)\n        return",
        "        return",
        BLAME,
    ),
    _off(
        "complaints: always believed",
        f"{SUM}parcels.py",
        "        except Refusal:\n            return False\n        return True\n\n"
        "    def complain",
        "        except Refusal:\n            return False\n        return False\n\n"
        "    def complain",
        BLAME,
    ),
    _off(
        "complaints: never believed",
        f"{SUM}parcels.py",
        "        except Refusal:\n            return False\n        return True\n\n"
        "    def complain",
        "        except Refusal:\n            return True\n        return True\n\n"
        "    def complain",
        BLAME,
    ),
    _off(
        "keys of low order are accepted",
        f"{SUM}curve_keys.py",
        "            agree(new_private(), key)\n",
        "            pass\n",
        BLAME,
    ),
    _off(
        "keys of low order: only sites look",
        f"{SECURE}secure_coordinator.py",
        "        keys.check(site)\n",
        "",
        BLAME,
    ),
    _off(
        "attempts: begun before anything has left",
        f"{SECURE}secure_coordinator.py",
        "            attempt.forget()\n",
        "            pass\n",
        BLAME,
    ),
    _off(
        "attempts: forgotten although numbers have left",
        f"{SECURE}secure_coordinator.py",
        "if not replies and set(failures.values()) <= NOTHING_LEFT:",
        "if True:",
        BROKEN,
    ),
)

NUMBERS_SENT = tuple(
    _off(f"opened sums: {what}", f"{QUESTIONS}possible_sums.py", old, new, NUMBERS)
    for what, old, new in (
        (
            "not checked at all",
            "if not np.isfinite(vector).all():",
            "return\n    if 0:",
        ),
        (
            "kernels larger than covariances",
            "if not _is_definite(scaled.scatter - scaled.between):",
            "if False:",
        ),
        (
            "kernels that are not semi-definite",
            "if definite and not _is_definite(scaled.between):",
            "if False:",
        ),
        (
            "covariances that are not semi-definite",
            "if not _is_definite(scaled.scatter):",
            "if False:",
        ),
        ("negative variances", "if (squares < 0.0).any():", "if False:"),
        (
            "variances beyond declared ranges",
            "if (squares > part.n_rows * limits**2 / 4 * (1 + PRECISION)).any():",
            "if False:",
        ),
        (
            "linear sums larger than kernels",
            "if not _is_definite(scaled.between - common):",
            "if False:",
        ),
        (
            "degrees of freedom beyond the rows",
            "if not (-ROUNDING <= freedom <= rows and squared >= -ROUNDING):",
            "if False:",
        ),
    )
)

LEDGER = (
    _off(
        "rules are not consulted",
        f"{DISCLOSURE}release_gate.py",
        "        _refuse(review_alone(release, facts, self.policy, entries))\n",
        "",
        DIFFERENCING,
    ),
    _off(
        "the ledger is not consulted",
        f"{DISCLOSURE}release_gate.py",
        "*review_history(release, facts, self.policy, entries, fingerprint),",
        "",
        DIFFERENCING,
    ),
    _off(
        "the ledger: nothing is recorded",
        f"{DISCLOSURE}release_gate.py",
        "            self.ledger.append(\n",
        "            (lambda *_, **__: None)(\n",
        DIFFERENCING,
    ),
    _off(
        "the ledger: no fingerprints of columns",
        f"{DISCLOSURE}release_gate.py",
        "columns=facts.prints or dict.fromkeys",
        "columns=dict.fromkeys",
        DIFFERENCING,
    ),
    _off(
        "the ledger: other sites are allowed",
        f"{DISCLOSURE}differencing.py",
        "        other_sites(release, policy, related),\n",
        "",
        DIFFERENCING,
    ),
    _off(
        "the ledger: offers without a release do not count",
        f"{DISCLOSURE}differencing.py",
        'if entry.stage == "released" or _key(entry) not in closed:',
        'if entry.stage == "released":',
        BROKEN,
        "tests/disclosure/test_differencing.py",
    ),
    _off(
        "the ledger: any number of questions",
        f"{DISCLOSURE}differencing.py",
        "        other_question(release, entries),\n",
        "",
        DIFFERENCING,
    ),
    _off(
        "the ledger: changed rows are allowed",
        f"{DISCLOSURE}differencing.py",
        "        changed_rows(facts, release, policy, related, fingerprint),\n",
        "",
        DIFFERENCING,
    ),
    _off(
        "a voided round goes on",
        f"{DISCLOSURE}differencing.py",
        "if own in voided_rounds(related):",
        "if False:",
        BROKEN,
    ),
    _off(
        "voiding one round voids all",
        f"{DISCLOSURE}differencing.py",
        "        if _key(entry) in voided:\n",
        "        if voided:\n",
        BROKEN,
    ),
    _off(
        "messages are not compared with their schema at sites",
        f"{SECURE}secure_site.py",
        '        SECURE.check(name, "request", payload, self._study.sizes)\n',
        "",
        FUZZ,
    ),
)

MUTANTS = (*MASKS, *AGREEMENT, *SHARES, *NUMBERS_SENT, *LEDGER)
