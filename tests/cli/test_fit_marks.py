"""``fedsdr fit`` with weights and subjects of rows."""

import numpy as np
import pytest

from fedsdr import FedSSIR
from fedsdr.result import Result

MEANT = ("--target", "y", "--site-column", "hospital")


def test_weights_and_groups_reach_the_fit(run, hospitals, tmp_path) -> None:
    rng = np.random.default_rng(0)
    weights, groups = rng.integers(0, 3, len(hospitals)), np.arange(400) // 2
    X = hospitals.filter(like="lab")
    frame = hospitals.assign(seen=weights, patient=groups)
    frame.to_csv(tmp_path / "p.csv", index=False)
    words = ("--weights", "seen", "--groups", "patient", "--select", "tested")
    outcome = run("fit", "p.csv", *MEANT, *words, "--out", "found.json")
    assert outcome.exit_code == 0, outcome.stderr
    found = Result.from_json(tmp_path / "found.json")
    assert found.feature_names == tuple(X.columns)
    assert found.n_rows == weights.sum()
    model = FedSSIR(select="tested", random_state=0).fit(
        X,
        hospitals["y"],
        sites=hospitals["hospital"],
        sample_weight=weights,
        groups=groups,
    )
    assert found.certainty is not None
    np.testing.assert_allclose(
        found.certainty.p_values, model.result_.certainty.p_values, rtol=1e-6
    )
    assert "repeats in" not in outcome.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--weights", "lab1"), "sample_weight counts rows"),
        (("--weights", "weight"), "weight"),
        (("--groups", "patients"), "patients"),
        (("--groups", "lab1", "--evaluate", "3"), "divides rows, not subjects"),
    ],
)
def test_wrong_marks_are_named(run, csv, words, said) -> None:
    outcome = run("fit", csv, *MEANT, *words)
    assert outcome.exit_code != 0
    assert said in outcome.stderr.replace("\n", " ")
