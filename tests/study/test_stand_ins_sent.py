"""Near-twins in a study: the coordinator and every site name the same."""

from pathlib import Path

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr import FedSSIR
from fedsdr.exceptions import Refusal
from fedsdr.protocols import wire
from fedsdr.protocols.secure.secure_schema import SECURE
from fedsdr.result import Result
from fedsdr.study import read_study
from fedsdr.study.conducting import to_message
from fedsdr.study.study_site import read_message
from fedsdr.study.verification import are_equal


def test_a_study_names_the_stand_ins_of_the_fit(tmp_path: Path) -> None:
    rows = simulate_rows()
    rng = np.random.default_rng(0)
    rows["twin"] = rows["x0"] + 0.01 * rng.normal(size=len(rows))
    files = Files(tmp_path, rows)
    result = files.run(files.connect())
    X = rows.drop(columns=["site", "y"])
    expected = FedSSIR().fit(X, rows["y"], sites=rows["site"]).stand_ins_
    assert result.stand_ins == expected
    ((name, (other,)),) = expected.items()
    assert {name, other} == {"x0", "twin"}
    for site in NAMES:
        there = Result.from_json(tmp_path / site / "result.json")
        assert there.stand_ins == expected
        assert are_equal(there, result)

    study, message = read_study(files.study_file), to_message(result)
    message = wire.decode(wire.encode(message))
    SECURE.check("secure.result", "request", message, {"d": 7})
    for pair in ([0, 7], [-1, 0]):
        with pytest.raises(Refusal):
            read_message({**message, "stand_ins": np.array([pair])}, study)
    wrong = {**message, "stand_ins": np.array([[0.0, 1.0]])}
    with pytest.raises(Refusal):
        SECURE.check("secure.result", "request", wrong, {"d": 7})
