"""Defences against lies about shares and keys, switched off."""

from tools.mutant import (
    ATTACKS,
    BLAME,
    BROKEN,
    PROOFS,
    ROUND,
    SECURE,
    SUM,
    Edit,
    Mutant,
    off,
)

SHARES = (
    off(
        "shares: receivers do not check theirs",
        f"{SUM}parcels.py",
        "if not holds(self.context, dealer, receiver, held, parcel.proof):",
        "if False:",
        BLAME,
    ),
    off(
        "shares: the coordinator checks no proof",
        f"{SUM}parcels.py",
        "guilty = {}\n        for dealer, parcels in dealt.items():",
        "guilty = {}\n        for dealer, parcels in ():",
        BLAME,
    ),
    off(
        "shares: of any degree",
        f"{SUM}dealing.py",
        "if weighted % ORDER or not proves(",
        "if not proves(",
        BLAME,
    ),
    off(
        "shares: of any secret",
        f"{SUM}dealing.py",
        "if weighted % ORDER or not proves(",
        "if weighted % ORDER or not (lambda *_: True)(",
        BLAME,
    ),
    off(
        "shares: commitments may change after the challenge",
        f"{SUM}dealing.py",
        "    if not same:\n",
        "    if False:\n",
        BLAME,
    ),
    off(
        "shares: shown without being those that were given",
        f"{SUM}parcels.py",
        "return fits(\n            self.context",
        "return bool(opened) or fits(\n            self.context",
        BLAME,
    ),
    off(
        "shares: any secret is accepted when the sum is opened",
        f"{SUM}masked_sum.py",
        "return has_public(secret, seed_key if site in self.masked else mask_key)",
        "return True",
        ATTACKS,
    ),
    off(
        "shares: the challenge does not depend on the signed keys",
        f"{SUM}dealing.py",
        "return digest([shown, nonces, *listed])",
        "return digest([nonces, *listed])",
        PROOFS,
    ),
    off(
        "shares: only their hashes are compared",
        f"{SUM}dealing.py",
        "_response(opened, challenge) == proof.response(number)",
        "True",
        PROOFS,
    ),
    off(
        "secrets: compared with keys byte by byte",
        f"{SUM}curve_keys.py",
        "return agree(factor, public) == multiply(scalar, raw_public(factor))",
        "return False",
        PROOFS,
    ),
    off(
        "secrets: those without a key are not opened",
        f"{SUM}curve_keys.py",
        "        factor = new_private()\n        inverse",
        "        if private_from(scalar) is None:\n            break\n"
        "        factor = new_private()\n        inverse",
        PROOFS,
    ),
    off(
        "keys in unusual forms are accepted",
        f"{SUM}curve_keys.py",
        "        if not _is_usual(key):\n",
        "        if False:\n",
        PROOFS,
    ),
    off(
        "parcels: the sender's signature is not checked",
        f"{SUM}parcels.py",
        "check_signature(self.agreement.roster, dealer, parcel.signature, message)",
        "pass",
        BLAME,
    ),
    off(
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
    off(
        "complaints: answered without a signature",
        f"{SUM}parcels.py",
        "        self.check_complaint(receiver, dealer, complaint)\n        return",
        "        return",
        BLAME,
    ),
    off(
        "complaints: always believed",
        f"{SUM}parcels.py",
        "        except Refusal:\n            return False\n        return True\n\n"
        "    def complain",
        "        except Refusal:\n            return False\n        return False\n\n"
        "    def complain",
        BLAME,
    ),
    off(
        "complaints: never believed",
        f"{SUM}parcels.py",
        "        except Refusal:\n            return False\n        return True\n\n"
        "    def complain",
        "        except Refusal:\n            return True\n        return True\n\n"
        "    def complain",
        BLAME,
    ),
    off(
        "keys of low order are accepted",
        f"{SUM}curve_keys.py",
        "% _FIELD in LOW_ORDER:",
        "% _FIELD in ():",
        BLAME,
    ),
    off(
        "keys of low order: only sites look",
        f"{SECURE}secure_coordinator.py",
        "        keys.check(site)\n",
        "",
        BLAME,
    ),
    off(
        "attempts: begun before anything has left",
        f"{SECURE}secure_coordinator.py",
        "            attempt.forget()\n",
        "            pass\n",
        BLAME,
    ),
    off(
        "attempts: forgotten although numbers have left",
        f"{SECURE}secure_coordinator.py",
        "if not replies and set(failures.values()) <= NOTHING_LEFT:",
        "if True:",
        BROKEN,
    ),
)
