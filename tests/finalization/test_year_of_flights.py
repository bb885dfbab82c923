import pytest

from demo.flights import Kind
from examples.year_of_flights import ADVISED, DEFAULT, commits_of_flights, replay


@pytest.mark.integration
def test_the_advised_policy_beats_the_default_on_a_year_of_flights():
    """No more late rows, a shorter median, and at most 60 % of the p95 wait."""
    default, advised = replay(commits_of_flights([Kind.INSERT]), (DEFAULT, ADVISED))
    assert default.records == advised.records == 328_521
    assert advised.late_records <= default.late_records
    assert advised.wait_median_ms < default.wait_median_ms
    assert advised.wait_p95_ms <= 0.6 * default.wait_p95_ms
    assert advised.final >= default.final
