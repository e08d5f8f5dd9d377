"""What the server of FedSVD can compute about one holder, and when it cannot."""

import numpy as np
import pytest
from tests.peers.fed_svd.masked import (
    centred,
    draw_rows,
    masked_columns,
    masks_of,
    record,
    summed,
)

from fedsdr.peers.fed_svd import SvdTerms
from fedsdr.peers.fed_svd.rotations import haar
from fedsdr.peers.fed_svd.svd_terms import CODE
from fedsdr.secure_sum.fixed_point import accumulate, total

COUNTS = (6, 1, 9, 4)


def recover_parts(messages, names):
    """Recover the part of each holder from what the server has seen."""
    whole = summed(messages, names)
    parts = {}
    for name in names:
        covers = [
            m.payload["cover"]
            for m in messages
            if m.sender == name and m.name == "fedsvd.cover"
        ]
        found, start = [], 0
        for cover in covers:
            columns = whole[:, start : start + len(cover)]
            found.append(columns @ cover @ cover.T)
            start += len(cover)
        parts[name] = np.hstack(found) if found else None
    return parts


@pytest.mark.parametrize("center", ["global", "site", False])
@pytest.mark.parametrize("block_size", [None, 6])
def test_recovering_rows_shows_the_server_each_holders_part(rng, center, block_size):
    rows = draw_rows(rng, COUNTS)
    _, transcript = record(rows, SvdTerms(center, recover_rows=True), block_size)
    parts = recover_parts(list(transcript.seen_by("server")), list(rows))
    for name, X in centred(rows, center).items():
        P, Q = masks_of(transcript, name)
        np.testing.assert_allclose(parts[name], P.apply(X.T) @ Q, atol=1e-12)
        spectrum = np.linalg.svd(parts[name], compute_uv=False)[: min(X.shape)]
        expected = np.linalg.svd(X, compute_uv=False)
        np.testing.assert_allclose(spectrum, expected, atol=1e-12)


def test_a_single_row_is_covered_by_a_sign_only(rng):
    rows = draw_rows(rng, COUNTS)
    _, transcript = record(rows, SvdTerms(False, recover_rows=True))
    _, Q = masks_of(transcript, "holder 1")
    cover = next(
        m.payload["cover"]
        for m in transcript.seen_by("server")
        if m.sender == "holder 1" and m.name == "fedsvd.cover"
    )
    np.testing.assert_allclose(np.abs(cover[:, 0]), np.abs(Q[0]), atol=1e-15)


def test_without_recovered_rows_other_holders_explain_all_that_the_server_saw(rng):
    rows = draw_rows(rng, COUNTS)
    names = list(rows)
    _, transcript = record(rows, SvdTerms(center=False))
    messages = list(transcript.seen_by("server"))
    assert all(part is None for part in recover_parts(messages, names).values())
    P, _ = masks_of(transcript, names[0])
    Q = np.vstack([masks_of(transcript, name)[1] for name in names])
    X = np.vstack(list(rows.values())).T
    # Mix the rows of all holders, and let Q undo it: another study with the same sum.
    mixing = haar(X.shape[1], rng.standard_normal)
    edges = np.cumsum(COUNTS)[:-1]
    others = np.split(X @ mixing, edges, axis=1)
    other_Q = np.split(mixing.T @ Q, edges)
    leftover = []
    for name, own, own_Q in zip(names, others, other_Q, strict=True):
        explained = CODE.encode(P.apply(own) @ own_Q, len(names))
        rest = masked_columns(messages, name).copy()
        accumulate(rest, minus=[explained])
        leftover.append(rest)
        spectrum = np.linalg.svd(own, compute_uv=False)
        truth = np.linalg.svd(rows[name], compute_uv=False)
        assert np.linalg.norm(spectrum - truth) > 1e-4
    # Masks that cancel, as all masks do: nothing tells the two studies apart.
    np.testing.assert_allclose(CODE.decode(total(leftover)), 0.0, atol=1e-13)


def test_two_holders_can_subtract_their_own_scatter(rng):
    rows = draw_rows(rng, (8, 7))
    found, _ = record(rows, SvdTerms(center=False))
    factors = found["holder 0"]
    pooled = (factors.left * factors.values**2) @ factors.left.T
    own, other = rows["holder 0"], rows["holder 1"]
    np.testing.assert_allclose(pooled - own.T @ own, other.T @ other, atol=1e-11)


@pytest.mark.parametrize("block_size", [None, 5])
def test_the_server_learns_the_spectrum_of_every_block(rng, block_size):
    rows = draw_rows(rng, COUNTS)
    _, transcript = record(rows, SvdTerms(center=False), block_size)
    whole = summed(list(transcript.seen_by("server")), list(rows))
    Q = np.vstack([masks_of(transcript, name)[1] for name in rows])
    X = np.vstack(list(rows.values()))
    pattern = Q != 0
    blocks = np.unique(pattern, axis=1).T
    assert len(blocks) == (1 if block_size is None else 4)
    for members in blocks:
        columns = pattern[members][0]
        seen = np.linalg.svd(whole[:, columns], compute_uv=False)
        expected = np.linalg.svd(X[members], compute_uv=False)
        np.testing.assert_allclose(seen, expected, atol=1e-12)
