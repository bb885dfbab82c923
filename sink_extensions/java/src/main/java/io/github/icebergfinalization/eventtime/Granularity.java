package io.github.icebergfinalization.eventtime;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;

/**
 * How event times fall into finalization partitions: lengths that divide a day, counted from the epoch in UTC, or the
 * calendar days of a time zone.
 *
 * @param label as in the facts: {@code hour}, {@code PT15M}, {@code day@Europe/Berlin}
 * @param lengthMs the length in milliseconds; for days the usual one
 * @param zone the zone whose calendar days are meant, or null for plain lengths
 */
record Granularity(String label, long lengthMs, ZoneId zone) {

  static final String KEY = "finalization.granularity";
  static final String ZONE_KEY = "finalization.time-zone";
  private static final long HOUR_MS = Duration.ofHours(1).toMillis();
  private static final long DAY_MS = Duration.ofDays(1).toMillis();

  /** @throws IllegalArgumentException if the value is none of the known forms or does not divide a day */
  static Granularity parse(String value, String zone) {
    switch (value) {
      case "hour":
        return new Granularity("hour", HOUR_MS, null);
      case "day":
        try {
          return new Granularity("day@" + zone, DAY_MS, ZoneId.of(zone));
        } catch (DateTimeException e) {
          throw new IllegalArgumentException(
              ZONE_KEY + " is '" + zone + "'; expected a time zone such as UTC or Europe/Berlin", e);
        }
      default:
        return new Granularity(value, parseLength(value), null);
    }
  }

  private static long parseLength(String value) {
    try {
      long length = Duration.parse(value).toMillis();
      if (length > 0 && DAY_MS % length == 0) {
        return length;
      }
    } catch (DateTimeException e) {
      // answered below, together with lengths that do not fit
    }
    throw new IllegalArgumentException(
        KEY + " is '" + value + "'; expected hour, day or an ISO-8601 duration that divides a day, such as PT15M");
  }

  /** The index of the partition that holds an instant: partitions since the epoch, or the local epoch day. */
  long index(long epochMs) {
    return zone == null
        ? Math.floorDiv(epochMs, lengthMs)
        : LocalDate.ofInstant(Instant.ofEpochMilli(epochMs), zone).toEpochDay();
  }

  /** The first instant of a partition, in epoch milliseconds. */
  long start(long index) {
    return zone == null
        ? index * lengthMs
        : LocalDate.ofEpochDay(index).atStartOfDay(zone).toInstant().toEpochMilli();
  }
}
