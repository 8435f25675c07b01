"""Rows dealt out to owners for an experiment."""

import numpy as np
import pytest

from treaty.fitness import RowRisk
from treaty.losses import Hinge, Squared
from treaty.papers.lab import Lab
from treaty.studies import fraud, hospital, lending


@pytest.fixture(scope="module")
def lab():
    return Lab(lending.study(lending.generate(40_000, seed=2), "generated"))


def test_owners_have_the_first_rows_and_the_next(lab):
    x, y = lab.rows
    risks = lab.risks(Squared(), lab.dealt((1_000, 3_000)))
    theta = np.full(x.shape[1], 0.1)
    for risk, part in zip(risks.values(), (slice(0, 1_000), slice(1_000, 4_000)), strict=True):
        expected = np.mean((x[part] @ theta - y[part]) ** 2)
        assert float(risk.value(theta)) == pytest.approx(expected)
    assert lab.said([1_000, 3_000]) == "generated rows, not real ones"


def test_rows_that_run_out_are_used_again_and_it_is_said(lab):
    holdings = lab.dealt((50_000, 50_000))
    first, second = holdings.rows.values()
    assert first[:3].tolist() == first[30_000:30_003].tolist() == [0, 1, 2]
    assert second[0] == 20_000
    risks = lab.risks(Squared(), holdings)
    assert [risk.n for risk in risks.values()] == [50_000, 50_000]
    assert list(holdings.records.values()) == [50_000, 50_000]
    assert "used again where they run out" in lab.said([50_000, 50_000])


@pytest.mark.parametrize("size", [2_999, 3_000, 7_000])
def test_rows_used_again_count_as_often_as_they_are(size):
    frame = fraud.generate(4_000, seed=2)
    lab = Lab(fraud.study(frame, "generated"))
    x, y = lab.rows
    assert len(y) == 3_000
    holdings = lab.dealt((size, size))
    theta = np.random.default_rng(1).normal(0, 0.1, (5, x.shape[1]))
    for single, tolerance in ((False, 1e-12), (True, 1e-4)):
        risks = lab.risks(Hinge(), holdings, single=single)
        for name, rows in holdings.rows.items():
            exact = RowRisk(Hinge(), x[rows], y[rows])
            np.testing.assert_allclose(risks[name].value(theta), exact.value(theta), rtol=tolerance)
            np.testing.assert_allclose(
                risks[name].gradient(theta), exact.gradient(theta), atol=10 * tolerance
            )


def test_hospitals_of_a_part_count_as_many_times_as_they_have_rows_fewer():
    frame = hospital.generate(47_000, seed=1)
    lab = Lab(hospital.study(frame, "generated"))
    holdings = lab.by_owner(10_000, hospital.FULL_ROWS)
    owners = lab.study.private["facility_name"].to_numpy()
    counts = {name: int((owners == name).sum()) for name in set(owners)}
    times = hospital.FULL_ROWS / 47_000
    assert set(holdings.rows) == {n for n, c in counts.items() if round(times * c) >= 10_000}
    for name, rows in holdings.rows.items():
        assert set(owners[rows]) == {name}
        assert len(rows) == counts[name]
        assert holdings.records[name] == round(times * counts[name])


def test_hospitals_of_the_whole_file_count_once():
    frame = hospital.generate(47_000, seed=1)
    holdings = Lab(hospital.study(frame, "full")).by_owner(300, 47_000)
    assert all(len(rows) == holdings.records[name] for name, rows in holdings.rows.items())


def test_results_of_other_rows_or_owners_are_told_apart(lab):
    again = Lab(lending.study(lending.generate(40_000, seed=2), "generated"))
    assert again.fingerprint == lab.fingerprint
    other = Lab(lending.study(lending.generate(40_000, seed=3), "generated"))
    assert other.fingerprint != lab.fingerprint
    frame = hospital.generate(5_000, seed=1)
    owners = frame.with_columns(facility_name=frame["facility_name"].reverse())
    one, two = (Lab(hospital.study(f, "generated")) for f in (frame, owners))
    assert one.fingerprint != two.fingerprint


def test_rows_are_described(lab):
    assert lab.described() == (
        "lending: generated rows, not real ones; 40,000 rows, the last 10,000 of them public; "
        "a linear model explains 0.78 of the variance of int_rate"
    )
