import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalization.digest import Digest, decode, of_values
from finalization.exceptions import MalformedFactsError
from tests.finalization.histories import START

CENTROIDS = st.dictionaries(st.integers(0, 7_200_000), st.integers(1, 100_000), min_size=1, max_size=60)


def digest_from(offsets: dict[int, int], below: int = 0, above: int = 0) -> Digest:
    means = sorted(offsets)
    centroids = tuple((START + mean, offsets[mean]) for mean in means)
    return Digest(START + means[0] - below, START + means[-1] + above, centroids)


@given(CENTROIDS, st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_digest_survives_its_text_form(offsets, below, above):
    digest = digest_from(offsets, below, above)
    assert decode(digest.encode()) == digest


@given(CENTROIDS, st.integers(0, 10_000), st.floats(0.1, 99.9))
def test_the_fast_percentile_is_the_packages(offsets, spread, percent):
    digest = digest_from(offsets, spread, spread)
    assert digest.fast_percentile(percent) == digest.percentile(percent)


@given(CENTROIDS, st.integers(0, 10_000), st.floats(0.1, 99.9))
def test_a_percentile_stays_within_the_exact_bounds(offsets, spread, percent):
    digest = digest_from(offsets, spread, spread)
    assert digest.min_ms <= digest.percentile(percent) <= digest.max_ms


def test_percentiles_of_a_million_even_values_are_close():
    digest = of_values([START + i * 3600 for i in range(1000)])
    assert abs(digest.percentile(50) - (START + 1_800_000)) <= 3600
    assert abs(digest.percentile(5) - (START + 180_000)) <= 3600


def test_equal_means_count_as_one_as_the_package_has_it():
    doubled = Digest(START, START + 10, ((START, 2), (START, 3), (START + 10, 1)))
    assert decode(doubled.encode()).centroids == ((START, 5), (START + 10, 1))


@pytest.mark.parametrize(
    "text", ["", "!!!", "Ag", "AQ", "AQGApO3Y/k4AAA", "AQGApO3Y/k4AAAEB", "AQCApO3Y/k4A", "AQH/"]
)
def test_a_text_that_is_no_digest_is_refused(text):
    with pytest.raises(MalformedFactsError):
        decode(text)


def test_a_digest_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no values"):
        of_values([])
