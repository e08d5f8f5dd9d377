"""The doctor looks at a coordinator whose node is real."""

from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.study import example, read_site
from fedsdr.study.site_health import examine_site
from fedsdr.transports.nvflare.connection_health import examine_connection
from fedsdr.transports.nvflare.loopback import Loopback, enrol
from fedsdr.transports.nvflare.ports import free_port
from fedsdr.transports.nvflare.processes import nodes_together
from fedsdr.transports.nvflare.provision import Network, provision

pytestmark = pytest.mark.e2e


def test_everything_is_ok_while_a_coordinator_runs(tmp_path: Path) -> None:
    truth = example.simulate_example(n_rows=200, n_features=12)
    made = example.write_example(tmp_path, truth)
    network = Network("demo", tuple(made.site_files), port=free_port())
    kits = provision(network, tmp_path / "kits")
    enrol(kits, made.study_file, made.site_files)
    site = read_site(made.site_files["north"])
    files = (kits.site("north"), site.at(site.tls))
    with nodes_together() as nodes:
        folder = tmp_path / "nodes"
        folder.mkdir()
        study, sites = made.study_file, made.site_files
        here = Loopback(network, kits, nodes, study, sites, folder)
        here.start_server()
        nodes.wait_for_server(kits.server)
        found = [*examine_site(site), *examine_connection(*files)]
    assert {one.verdict for one in found} == {"ok"}
    assert {one.topic for one in found} >= {"authority", "both clocks"}
    after = {one.topic: one.verdict for one in examine_connection(*files)}
    assert after["coordinator"] == "fail"
