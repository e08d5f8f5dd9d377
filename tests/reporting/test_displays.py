import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from fedsdr import FedSSIR, InputError
from fedsdr.reporting import (
    AssumptionsDisplay,
    BinnedSummaryDisplay,
    DimensionDisplay,
    LoadingsDisplay,
    SelectionPathDisplay,
    SitesDisplay,
    StabilityDisplay,
    SummaryDisplay,
)
from fedsdr.reporting.display import short_names, shorten
from fedsdr.reporting.smooth_curves import density, smooth_curve


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


def widths(axis) -> np.ndarray:
    return np.array([bar.get_width() for bar in axis.patches])


def test_loadings_are_drawn_as_bars_the_largest_first(model) -> None:
    shown = LoadingsDisplay.from_estimator(model)
    result = model.result_
    assert shown.figure_ is shown.axes_[0].figure
    assert set(labels(shown.axes_[0])) == set(result.selected)
    sizes = np.linalg.norm(shown.loadings, axis=1)
    assert (np.diff(sizes) <= 0.0).all()
    for k, axis in enumerate(shown.axes_):
        drawn = dict(zip(labels(axis), widths(axis), strict=True))
        for j in np.flatnonzero(result.support):
            value = result.loadings[j, k]
            assert drawn[result.feature_names[j]] == pytest.approx(value)


def test_of_many_variables_the_largest_are_drawn(rng) -> None:
    X = rng.normal(size=(400, 40))
    y = X @ np.linspace(1.0, 2.0, 40) + 0.1 * rng.normal(size=400)
    model = FedSSIR(1, penalty=1e-3).fit(X, y)
    shown = LoadingsDisplay.from_estimator(model)
    total = int(model.support_.sum())
    assert total > 30
    assert len(labels(shown.axes_[0])) == 30
    assert shown.n_hidden == total - 30
    texts = [text.get_text() for text in shown.axes_[0].texts]
    assert f"and {total - 30} smaller" in texts


def test_the_caller_may_give_axes_as_many_as_panels(model) -> None:
    figure, axes = pyplot.subplots(1, 2)
    shown = LoadingsDisplay.from_result(model.result_, ax=axes)
    assert shown.figure_ is figure
    assert shown.plot(ax=axes) is shown
    with pytest.raises(InputError, match="2 axes, one per panel, got 1"):
        LoadingsDisplay.from_result(model.result_, ax=axes[0])


def test_the_curve_follows_the_rows(rows, model) -> None:
    X, y, sites = rows
    shown = SummaryDisplay.from_estimator(model, X, y, sites=sites)
    points, curve = shown.axes_[0].lines
    assert len(points.get_xdata()) == len(y)
    np.testing.assert_allclose(np.sort(points.get_ydata()), np.sort(y))
    np.testing.assert_allclose(curve.get_xydata().T, shown.curves_[0])
    assert shown.axes_[0].get_ylabel() == "grade"
    for site in np.unique(sites):
        assert np.abs(shown.positions[sites == site].mean(axis=0)).max() < 1e-8


def test_classes_are_drawn_as_densities_that_sum_to_one(rows, classes) -> None:
    X, _, sites = rows
    model, y = classes
    shown = SummaryDisplay.from_estimator(model, X, y, sites=sites)
    (found,) = shown.densities_
    for label in ("ill", "well"):
        assert np.trapezoid(found[label], found["grid"]) == pytest.approx(1.0, abs=0.02)
    entries = [text.get_text() for text in shown.axes_[0].get_legend().get_texts()]
    assert entries == ["state ill", "state well"]


def test_a_smooth_curve_reproduces_lines_and_follows_curves(rng) -> None:
    x = rng.normal(size=3000)
    grid, line = smooth_curve(x, 2.0 - 3.0 * x)
    np.testing.assert_allclose(line, 2.0 - 3.0 * grid, atol=1e-8)
    grid, curve = smooth_curve(x, np.sin(x) + 0.1 * rng.normal(size=3000))
    assert np.abs(curve - np.sin(grid)).max() < 0.15
    _, flat = smooth_curve(np.ones(20), np.arange(20.0))
    np.testing.assert_allclose(flat, 9.5)


def test_a_density_is_near_the_normal_one(rng) -> None:
    grid = np.linspace(-3.0, 3.0, 50)
    truth = np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi)
    assert np.abs(density(rng.normal(size=5000), grid) - truth).max() < 0.03
    assert np.isfinite(density(np.zeros(5), grid)).all()


def test_the_dimension_shows_what_the_tests_said(rows) -> None:
    X, y, sites = rows
    model = FedSSIR().fit(X, y, sites=sites)
    shown = DimensionDisplay.from_estimator(model)
    tests = [row for row in model.result_.validation if row["step"] == "sites"]
    heights = [bar.get_height() for bar in shown.axes_[0].patches]
    assert heights == pytest.approx([row["eigenvalue"] for row in tests])
    heights = [bar.get_height() for bar in shown.axes_[1].patches]
    assert heights == pytest.approx([row["evidence"] for row in tests])
    assert shown.chosen.sum() == model.n_directions_
    assert shown.noise == pytest.approx(
        tests[0]["eigenvalue"] / tests[0]["noise_ratio"]
    )


def test_without_tests_the_eigenvalues_are_drawn_alone(rows) -> None:
    X, y, sites = rows
    model = FedSSIR(1, refit=False).fit(X, y, sites=sites)
    shown = DimensionDisplay.from_result(model.result_)
    assert shown.axes_.shape == (1,)
    np.testing.assert_allclose(shown.eigenvalues, model.eigenvalues_)


def test_the_path_has_the_fits_that_it_says(rows, model) -> None:
    X, y, sites = rows
    penalties = [0.02, 0.05, 0.1, 99.0]
    shown = SelectionPathDisplay.from_estimator(
        model, X, y, sites=sites, penalties=penalties
    )
    # No variable is left at the last.
    assert shown.penalties.tolist() == penalties[:3]
    assert (shown.gaps <= 1e-6).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again = FedSSIR(2, penalty=0.05, refit=False).fit(X, y, sites=sites)
    found = dict(zip(shown.names, shown.sizes[1], strict=True))
    for j, name in enumerate(X):
        expected = np.linalg.norm(again.result_.loadings[j])
        assert found.get(name, 0.0) == pytest.approx(expected, abs=1e-6)
    assert shown.chosen == model.penalty_
    tolerance = shown.axes_[1].lines[1].get_ydata()
    assert tolerance[0] == 1e-6


def test_a_path_that_selects_nothing_is_refused(rows, model) -> None:
    X, y, sites = rows
    with pytest.raises(InputError, match="selects no variable"):
        SelectionPathDisplay.from_estimator(model, X, y, sites=sites, penalties=[99.0])
    with pytest.raises(InputError, match="one penalty at least"):
        SelectionPathDisplay.from_results([], 0.1)


def test_stability_takes_frequencies(model) -> None:
    shares = np.where(model.support_, 0.9, 0.0)
    shares[-1] = 0.3
    shown = StabilityDisplay.from_estimator(model, shares, threshold=0.8)
    names = model.result_.feature_names
    assert set(labels(shown.axes_[0])) == {*model.result_.selected, names[-1]}
    drawn = dict(zip(labels(shown.axes_[0]), widths(shown.axes_[0]), strict=True))
    assert drawn[names[-1]] == pytest.approx(0.3)
    with pytest.raises(InputError, match="no selection frequencies"):
        StabilityDisplay.from_result(model.result_)
    with pytest.raises(InputError, match="one per column"):
        StabilityDisplay.from_result(model.result_, shares[:3])
    with pytest.raises(InputError, match="from 0 to 1"):
        StabilityDisplay.from_result(model.result_, 2.0 + shares)


def test_every_site_has_a_panel_with_its_own_curve(rows, model) -> None:
    X, y, sites = rows
    shown = SitesDisplay.from_estimator(model, X, y, sites, direction=1)
    names = {str(site) for site in np.unique(sites)}
    assert set(shown.curves_) == {"all sites", *names}
    assert len(shown.axes_) == len(names)
    one = str(sites[0])
    here = sites == sites[0]
    grid, curve = smooth_curve(shown.position[here], y.to_numpy()[here])
    np.testing.assert_allclose(shown.curves_[one][0], grid)
    np.testing.assert_allclose(shown.curves_[one][1], np.clip(curve, y.min(), y.max()))
    with pytest.raises(InputError, match="direction must be from 0 to 1"):
        SitesDisplay.from_result(model.result_, X, y, sites, direction=2)


def test_of_classes_the_share_of_the_last_is_drawn(rows, classes) -> None:
    X, _, sites = rows
    model, y = classes
    shown = SitesDisplay.from_estimator(model, X, y, sites)
    np.testing.assert_array_equal(shown.y, y == "well")
    curves = [curve for _, curve in shown.curves_.values()]
    assert min(map(np.min, curves)) >= 0.0
    assert max(map(np.max, curves)) <= 1.0


def test_skewness_and_curvature_are_those_of_the_rows(rng) -> None:
    x = rng.normal(size=(4000, 5))
    X = pd.DataFrame(x, columns=list("abcde"))
    # b is a curve of the direction; c is skewed.
    X["b"] = 0.3 * x[:, 1] + (X.a**2 - 1.0)
    X["c"] = np.exp(x[:, 2])
    y = 5.0 * X.a + X.b + X.c
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = FedSSIR(1, penalty=0.01).fit(X, y)
    shown = AssumptionsDisplay.from_estimator(model, X)
    found = dict(zip(shown.names, shown.skewness, strict=True))
    column = X.c - X.c.mean()
    expected = (column**3).mean() / column.std(ddof=0) ** 3
    assert found["c"] == pytest.approx(expected)
    place = shown.names.index("b")
    z = model.result_.place(X)[:, 0]
    z = z - z.mean()
    sums = [
        np.linalg.lstsq(np.column_stack(by), X.b - X.b.mean(), rcond=None)[1][0]
        for by in ([z], [z, z**2 - (z**2).mean()])
    ]
    gain = (sums[0] - sums[1]) / ((X.b - X.b.mean()) ** 2).sum()
    assert shown.curvature[place] == pytest.approx(gain)
    assert gain > 0.05


def test_bins_of_rows_have_the_means_of_these_rows(rows, model) -> None:
    X, y, sites = rows
    shown = BinnedSummaryDisplay.from_estimator(model, X, y, sites=sites)
    position = SummaryDisplay.from_estimator(model, X, y, sites=sites).positions[:, 0]
    bins = shown.bins[0]
    inner = bins.edges[1:-1]
    place = np.searchsorted(inner, position, side="right")
    means = y.groupby(place).mean()
    np.testing.assert_allclose(bins.means, means)
    (line,) = shown.axes_[0].lines
    np.testing.assert_allclose(line.get_ydata(), means)
    assert position.min() < bins.edges[0]
    assert not np.isin(bins.edges, position).any()


def test_nothing_is_drawn_of_noise(rng) -> None:
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    model = FedSSIR(min_directions=0).fit(X, y)
    for draw in (
        lambda: LoadingsDisplay.from_estimator(model),
        lambda: SummaryDisplay.from_estimator(model, X, y),
        lambda: SitesDisplay.from_estimator(model, X, y, np.zeros(200)),
        lambda: AssumptionsDisplay.from_estimator(model, X),
        lambda: BinnedSummaryDisplay.from_estimator(model, X, y),
    ):
        with pytest.raises(InputError, match="no direction was found"):
            draw()


def test_an_estimator_that_was_not_fitted_is_named() -> None:
    with pytest.raises(InputError, match="FedSSIR has no result_: fit it first"):
        LoadingsDisplay.from_estimator(FedSSIR())


def test_names_that_differ_in_the_middle_stay_different() -> None:
    names = [f"laboratory value number {j} in mmol per litre" for j in range(3)]
    assert short_names(names) == ["…0…", "…1…", "…2…"]
    assert short_names(["age", "sex"]) == ["age", "sex"]
    assert short_names(["age", "age"]) == ["age", "age"]


def test_long_and_strange_names_become_labels(model) -> None:
    assert shorten("x" * 100) == "x" * 18 + "…" + "x" * 9
    assert len(shorten("a long name of a laboratory value")) == 28
    assert shorten("$\\alpha$") == "\\$\\alpha\\$"
    assert shorten(" \n ") == "(no name)"
    shown = LoadingsDisplay(("$x_1", "a\nb", "<b>"), np.ones((3, 1)) / 2).plot()
    shown.figure_.canvas.draw()
