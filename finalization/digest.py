"""The t-digest of a commit's event times, in the text form it has in snapshot summaries.

Base64 without padding of: version byte 1; the number of centroids; the minimum (zigzag); maximum − minimum;
then for each centroid, ascending, the rounded offset of its mean from the minimum, as the difference to
the one before, and its weight. All numbers are unsigned LEB128 varints, all times milliseconds.
"""

import binascii
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING

from finalization.exceptions import MalformedFactsError

if TYPE_CHECKING:
    from tdigest import TDigest

VERSION = 1

# Below one record's weight at any size: the package then keeps every centroid as it was given. At its default
# it would merge neighbours, picking at random between equally near ones.
_KEEP_CENTROIDS = 1e-15


@dataclass(frozen=True)
class Digest:
    """Exact bounds, and (mean in ms, weight) centroids in strictly ascending order."""

    min_ms: int
    max_ms: int
    centroids: tuple[tuple[int, int], ...]

    def to_tdigest(self) -> "TDigest":
        """The same as an object of the `tdigest` package; its values are offsets from the minimum."""
        from tdigest import TDigest

        digest = TDigest(delta=_KEEP_CENTROIDS)
        for mean, weight in self.centroids:
            digest.update(mean - self.min_ms, weight)
        return digest

    def percentile(self, percent: float) -> int:
        """The time below which `percent` of the event times lie, as the `tdigest` package interpolates it.

        In whole ms, rounded down, within the exact bounds.
        """
        return self._bounded(self.to_tdigest().percentile(percent))

    def fast_percentile(self, percent: float) -> int:
        """Equal to `percentile`, without the package's tree: a backtest asks very many times."""
        positions, offsets = self._positions
        wanted = percent / 100.0 * self.weight
        right = bisect_right(positions, wanted)
        if (
            right == 0
        ):  # the package goes on with the first step's slope; below a single centroid there is none
            right = 1
        if right >= len(positions):
            return self._bounded(offsets[-1])
        after, before = wanted - positions[right - 1], positions[right] - wanted
        return self._bounded((offsets[right - 1] * before + offsets[right] * after) / (before + after))

    @cached_property
    def _positions(self) -> tuple[list[float], list[int]]:
        """How many records lie before each centroid's middle, and its offset from the minimum."""
        positions: list[float] = []
        seen = last = 0.0
        for _, weight in self.centroids:
            seen += (last + weight) / 2.0
            positions.append(seen)
            last = weight
        return positions, [mean - self.min_ms for mean, _ in self.centroids]

    @cached_property
    def weight(self) -> int:
        """The number of event times."""
        return sum(weight for _, weight in self.centroids)

    def _bounded(self, offset: float) -> int:
        return min(max(self.min_ms + floor(offset), self.min_ms), self.max_ms)

    def encode(self) -> str:
        """The text form."""
        out = bytearray([VERSION])
        _write(out, len(self.centroids))
        _write(out, self.min_ms * 2 if self.min_ms >= 0 else -self.min_ms * 2 - 1)
        _write(out, self.max_ms - self.min_ms)
        previous = self.min_ms
        for mean, weight in self.centroids:
            _write(out, mean - previous)
            _write(out, weight)
            previous = mean
        return b64encode(out).rstrip(b"=").decode()


def decode(text: str) -> Digest:
    """Reads the text form. Raises MalformedFactsError."""
    try:
        data = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as e:
        raise MalformedFactsError(f"digest is not base64: {e}") from None
    if not data or data[0] != VERSION:
        raise MalformedFactsError(
            f"digest of version {data[0] if data else 'none'}; this reads version {VERSION}"
        )
    numbers = _read_all(data)
    if len(numbers) < 3 or len(numbers) != 3 + 2 * numbers[0] or numbers[0] == 0:
        raise MalformedFactsError(f"digest of {len(numbers)} numbers does not hold what its head says")
    min_ms = (numbers[1] >> 1) ^ -(numbers[1] & 1)
    mean = min_ms
    centroids: list[tuple[int, int]] = []
    for i in range(3, len(numbers), 2):
        weight = numbers[i + 1]
        if (
            numbers[i] == 0 and centroids
        ):  # two means that rounding made one; the package knows distinct ones only
            weight += centroids.pop()[1]
        mean += numbers[i]
        centroids.append((mean, weight))
    return Digest(min_ms, min_ms + numbers[2], tuple(centroids))


def of_values(values_ms: Iterable[int]) -> Digest:
    """An exact digest, one centroid for each distinct value. Raises ValueError when there is none."""
    weights: dict[int, int] = {}
    for value in values_ms:
        weights[value] = weights.get(value, 0) + 1
    centroids = tuple(sorted(weights.items()))
    if not centroids:
        raise ValueError("no values")
    return Digest(centroids[0][0], centroids[-1][0], centroids)


def _write(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _read_all(data: bytes) -> list[int]:
    numbers = []
    value = shift = 0
    for byte in data[1:]:
        value |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            numbers.append(value)
            value = shift = 0
    if shift:
        raise MalformedFactsError("digest ends in the middle of a number")
    return numbers
