package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.junit.jupiter.api.Test;

class ExtensionsTest {

  /** The options hold the table's properties as they were a moment before: a watermark of then is no hint. */
  @Test
  void aWatermarkThatMovedWhileTheJobWasSubmittedIsNoHint() {
    Map<String, String> options =
        Map.of(
            "finalization.event-time-column", "ts",
            "finalization.lookback-commits", "1",
            "finalization.watermark", "2013-01-01T10:00:00Z",
            "finalization.watermark@audit", "2013-01-01T10:00:00Z");
    Map<String, String> table =
        Map.of(
            "finalization.event-time-column", "ts",
            "finalization.lookback-commits", "12",
            "finalization.watermark", "2013-01-01T11:00:00Z",
            "finalization.watermark@audit", "2013-01-01T11:00:00Z");
    assertThat(Extensions.of(options, new Configuration()).policyHints(table))
        .isEqualTo(Map.of("finalization.lookback-commits", "1"));
  }
}
