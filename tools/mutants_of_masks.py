"""Defences of masks, keys and signatures, switched off."""

from tools.mutant import ATTACKS, ROUND, SECURE, SUM, VIEW, Edit, Mutant, off

MASKS = (
    off(
        "pair masks from private keys: derived from public keys",
        f"{SUM}round_secrets.py",
        "derive(agree(self._mask, peer.mask_key), info)",
        "derive(b''.join(sorted((raw_public(self._mask), peer.mask_key))), info)",
        VIEW,
    ),
    off(
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
    off(
        "masks depend on their seed",
        f"{SUM}masks.py",
        "algorithms.AES(seed)",
        "algorithms.AES(bytes(32))",
        VIEW,
    ),
    Mutant(
        "secrets of a round are drawn anew",
        (
            Edit(
                f"{SUM}sum_site.py",
                "    def keys(self, ",
                "    def __post_init__(self):\n"
                "        self._secrets = KEPT.setdefault(self.name, self._secrets)\n\n"
                "    def keys(self, ",
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
    off(
        "shares: every share is the secret",
        f"{SUM}sharing.py",
        "coefficients = [secrets.randbelow(ORDER) for _ in range(threshold - 1)]",
        "coefficients = [0] * (threshold - 1)",
        "tests/attacks/test_pooled_shares.py",
    ),
    off(
        "shares: one fewer recovers the secret",
        f"{SUM}sharing.py",
        "range(threshold - 1)",
        "range(threshold - 2)",
        "tests/attacks/test_pooled_shares.py",
    ),
)

AGREEMENT = (
    off(
        "threshold: two sites are enough",
        f"{SUM}agreement.py",
        "low = max(MIN_SITES, n_sites // 2 + 1)",
        "low = 2",
        ATTACKS,
    ),
    off(
        "threshold: half of the sites are enough",
        f"{SUM}agreement.py",
        "n_sites // 2 + 1)",
        "n_sites // 2)",
        ATTACKS,
    ),
    off(
        "roster: a key may be there twice",
        f"{SUM}agreement.py",
        "if len(set(self.roster.values())) < n_sites:",
        "if False:",
        ATTACKS,
    ),
    off(
        "context: no study in what is signed",
        f"{SUM}agreement.py",
        "label, self.study, self.round, self.question",
        "label, self.round, self.question",
        ROUND,
    ),
    off(
        "context: no round in what is signed",
        f"{SUM}agreement.py",
        "label, self.study, self.round, self.question",
        "label, self.study, self.question",
        ROUND,
    ),
    off(
        "context: no question in what is signed",
        f"{SUM}agreement.py",
        "label, self.study, self.round, self.question",
        "label, self.study, self.round",
        ROUND,
    ),
    off(
        "survivors: signed without the keys that were shown",
        f"{SUM}bindings.py",
        "return shown_keys(keys) + digest(sorted(shared))",
        "return digest(sorted(shared))",
        "tests/attacks/test_shown_keys.py",
    ),
    off(
        "survivors: signed without who shared secrets",
        f"{SUM}bindings.py",
        "return shown_keys(keys) + digest(sorted(shared)) +",
        "return shown_keys(keys) +",
        ROUND,
    ),
    off(
        "survivors: signatures are not checked",
        f"{SUM}sum_site.py",
        "check_signature(self.agreement.roster, site, signature, message)",
        "pass",
        ATTACKS,
        ROUND,
    ),
    off(
        "survivors: too few are accepted",
        f"{SUM}sum_site.py",
        "if len(set(named)) < self.agreement.threshold or len",
        "if len",
        ROUND,
    ),
    off(
        "survivors: sites that took no part are accepted",
        f"{SUM}sum_site.py",
        "if self.name not in named or not set(named) <= set(self._held):",
        "if False:",
        ROUND,
    ),
    off(
        "order: a stage is answered again",
        f"{SUM}sum_site.py",
        "if self._stage != stage:",
        "if False:",
        ATTACKS,
        ROUND,
    ),
    off(
        "keys: signatures are not checked by sites",
        f"{SUM}sum_site.py",
        "check_signature(self.agreement.roster, site, public.signature, message)",
        "pass",
        ROUND,
    ),
    off(
        "keys: a site does not look for its own",
        f"{SUM}sum_site.py",
        "keys[self.name] != own",
        "False",
        ROUND,
    ),
    off(
        "masked numbers: signatures are not checked",
        f"{SECURE}secure_coordinator.py",
        "        self._signed(site, reply, "
        'masked_message(context, site, reply["masked"]))\n',
        "",
        "tests/protocols/test_secure.py",
    ),
)
