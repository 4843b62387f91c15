"""Penalized curves against a general minimizer, least squares and the curves they stand for."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from simjudge.method.penalized_fit import CurveBasis, PenalizedProblem, bounded_minimum, fit_penalized, penalized_loss


def basis_of(covariates):
    return CurveBasis.of_samples(covariates, np.arange(len(covariates)) % 2 == 0)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("rising", [False, True])
def test_parameters_are_those_of_a_general_minimizer(logistic, rising):
    random = np.random.default_rng(3)
    covariates = random.normal(size=(300, 2))
    expected = np.sin(2 * covariates[:, 0]) + covariates[:, 1]
    target = (random.random(300) < 1 / (1 + np.exp(-expected))).astype(float) if logistic else expected
    basis = basis_of(covariates)
    design = np.concatenate([basis.design(covariates), np.ones((300, 1))], axis=1)
    count = design.shape[1]
    penalty = 1e-3 * np.eye(count)
    penalty[:-1, :-1] += 0.01 * basis.roughness()
    sign = np.zeros(count, np.int64)
    if rising:  # and the second covariate's curve may only fall, though it rises
        sign[:-1] = np.where(basis.covariate == 0, 1, -1)
    problem = PenalizedProblem(penalty, sign, logistic)
    found = fit_penalized(design, target, problem)
    other = minimize(
        lambda x: penalized_loss(design, target, x, problem),
        np.zeros(count),
        method="L-BFGS-B",
        bounds=[{0: (None, None), 1: (0, None), -1: (None, 0)}[each] for each in sign.tolist()],
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 1_000_000},
    )
    assert penalized_loss(design, target, found, problem) <= other.fun + 1e-9
    assert found == pytest.approx(other.x, abs=2e-3)
    assert (found * sign >= 0).all()


def test_bounded_minimum_is_that_of_scipy():
    random = np.random.default_rng(6)
    for _ in range(100):
        factor, linear = random.normal(size=(12, 12)), random.normal(size=12)
        curvature, sign = factor @ factor.T + 1e-3 * np.eye(12), random.integers(-1, 2, 12)
        low, high = np.where(sign > 0, 0, -np.inf), np.where(sign < 0, 0, np.inf)
        root = np.linalg.cholesky(curvature)
        other = lsq_linear(root.T, np.linalg.solve(root, linear), (low, high), method="bvls", tol=1e-14)
        assert bounded_minimum(curvature, linear, sign) == pytest.approx(other.x, abs=1e-6)


def test_without_a_penalty_it_is_least_squares():
    random = np.random.default_rng(4)
    design, target = random.normal(size=(50, 4)), random.normal(size=50)
    free = PenalizedProblem(np.zeros((4, 4)), np.zeros(4, np.int64), logistic=False)
    assert fit_penalized(design, target, free) == pytest.approx(np.linalg.lstsq(design, target, rcond=None)[0])


def test_a_logit_of_samples_that_part_stays_finite():
    design = np.stack([np.ones(40), np.arange(40) >= 20], axis=1).astype(float)
    problem = PenalizedProblem(np.eye(2) / 40, np.zeros(2, np.int64), logistic=True)
    found = fit_penalized(design, design[:, 1], problem)
    assert np.isfinite(found).all()
    assert found[1] > 2


def test_a_curve_with_equal_slopes_is_a_line_without_roughness():
    covariates = np.random.default_rng(5).gamma(2.0, size=(200, 1))
    basis = basis_of(covariates)
    slopes = np.full(len(basis.covariate), 2.0)
    curve = basis.design(covariates) @ slopes
    standard = (covariates[:, 0] - covariates.mean()) / covariates.std()
    assert np.ptp(curve - 2 * standard) == pytest.approx(0, abs=1e-12)
    assert slopes @ basis.roughness() @ slopes == pytest.approx(0)
    assert basis.design(np.array([[-100.0], [covariates.min()]])).tolist() == [[0.0] * len(slopes)] * 2


def test_roughness_is_of_the_squared_second_derivative():
    covariates = np.linspace(-1, 1, 2001)[:, None]
    basis = basis_of(covariates)
    [knots] = basis.knots
    slopes = (knots[1:] + knots[:-1]) / 2  # of x^2 / 2, whose second derivative is 1
    inner = (knots[-1] + knots[-2]) / 2 - (knots[0] + knots[1]) / 2
    assert slopes @ basis.roughness() @ slopes == pytest.approx(inner)


def test_a_constant_covariate_has_no_curve_and_a_flag_has_a_line():
    covariates = np.stack([np.full(100, 0.1), np.arange(100) % 2.0, np.arange(100.0)], axis=1)
    basis = basis_of(covariates)
    assert [len(knots) for knots in basis.knots][:2] == [1, 2]
    assert set(basis.covariate.tolist()) == {1, 2}
    assert basis.design(covariates)[:, 0] == pytest.approx(2 * covariates[:, 1])
