package io.github.icebergfinalization.eventtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.icebergfinalization.eventtime.TDigests.Centroids;
import java.io.File;
import java.io.IOException;
import java.util.stream.StreamSupport;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

/** The examples that the Python tests read too: both sides write and read the same text. */
class SharedFactsTest {

  private static final JsonNode EXAMPLES = read();

  private static JsonNode read() {
    try {
      return new ObjectMapper().readTree(new File(System.getProperty("fixtures"), "facts.json"));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void digestsAreWrittenAndReadAsInPython() {
    assertThat(EXAMPLES.get("digests")).isNotEmpty();
    for (JsonNode example : EXAMPLES.get("digests")) {
      double[] means = doubles(example.get("centroids"), 0);
      long[] weights = StreamSupport.stream(example.get("centroids").spliterator(), false)
          .mapToLong(centroid -> centroid.get(1).asLong()).toArray();
      long minMs = example.get("min_ms").asLong();
      long maxMs = example.get("max_ms").asLong();
      String name = example.get("name").asText();
      String text = example.get("base64").asText();
      assertThat(DigestCodec.encode(minMs, maxMs, new Centroids(means, weights))).as(name).isEqualTo(text);
      DigestCodec.Decoded decoded = DigestCodec.decode(text);
      assertThat(decoded.minMs()).as(name).isEqualTo(minMs);
      assertThat(decoded.maxMs()).as(name).isEqualTo(maxMs);
      assertThat(decoded.centroids().weights()).as(name).isEqualTo(weights);
      assertThat(decoded.centroids().means()).as(name).containsExactly(means, org.assertj.core.data.Offset.offset(0.5));
    }
  }

  @Test
  void partitionsAreWrittenAsPythonReadsThem() {
    assertThat(EXAMPLES.get("partitions")).isNotEmpty();
    for (JsonNode example : EXAMPLES.get("partitions")) {
      String[] label = example.get("granularity").asText().split("@", 2);
      PartitionCounts counts = new PartitionCounts(Granularity.parse(label[0], label.length > 1 ? label[1] : "UTC"));
      example.get("counts").fields()
          .forEachRemaining(entry -> counts.add(Long.parseLong(entry.getKey()), entry.getValue().asLong()));
      counts.addOlder(example.get("older").asLong());
      assertThat(counts.encode()).as(example.get("name").asText()).isEqualTo(example.get("text").asText());
    }
  }

  private static double[] doubles(JsonNode pairs, int index) {
    return StreamSupport.stream(pairs.spliterator(), false).mapToDouble(pair -> pair.get(index).asDouble()).toArray();
  }
}
