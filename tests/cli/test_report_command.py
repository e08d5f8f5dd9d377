from fedsdr.result import Result


def test_a_file_becomes_a_report_in_two_commands(run, csv, tmp_path) -> None:
    run("fit", csv, "--target", "y", "--site-column", "hospital")
    outcome = run("report", "result.json", "--title", "Four hospitals")
    assert outcome.exit_code == 0
    assert "Wrote report.html" in outcome.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Four hospitals</h1>" in page
    assert "How the response follows" in page
    for name in Result.from_json(tmp_path / "result.json").selected:
        assert name in page


def test_an_earlier_report_is_kept(run, csv, tmp_path) -> None:
    run("fit", csv, "--target", "y", "--site-column", "hospital")
    (tmp_path / "r.html").write_text("mine")
    outcome = run("report", "result.json", "-o", "r.html")
    assert "r.html existed, and was kept as r.1.html" in outcome.stderr
    assert (tmp_path / "r.1.html").read_text() == "mine"


def test_what_is_no_result_is_one_clear_sentence(run, tmp_path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for name, said in (("none.json", "cannot read"), ("other.json", "not a fedsdr")):
        outcome = run("report", name)
        assert outcome.exit_code == 2
        assert said in outcome.stderr
        assert not (tmp_path / "report.html").exists()
    outcome = run("report", "other.json", "-o", "nowhere/r.html")
    assert "does not exist" in outcome.stderr
