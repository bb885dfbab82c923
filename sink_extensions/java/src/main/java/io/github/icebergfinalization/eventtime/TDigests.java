package io.github.icebergfinalization.eventtime;

import com.tdunning.math.stats.Centroid;
import com.tdunning.math.stats.MergingDigest;
import com.tdunning.math.stats.ScaleFunction;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Deterministic t-digests of event times, kept as offsets from a base so that doubles stay exact to the millisecond. */
final class TDigests {

  private static final double WRITER_COMPRESSION = 600;

  private TDigests() {}

  /** Centroid means (milliseconds since the epoch) in ascending order, and their weights. */
  record Centroids(double[] means, long[] weights) {}

  /**
   * An empty digest for a writer: finer than what is stored. The scale function K1 gives each centroid in the middle at most
   * 0.0026 of the records (K2, the default, gives several times as much there, and less than needed to the tails).
   */
  static MergingDigest forWriter() {
    MergingDigest digest = new MergingDigest(WRITER_COMPRESSION);
    digest.setScaleFunction(ScaleFunction.K_1);
    return digest;
  }

  /** Reads a digest whose values are offsets from {@code baseMs}. */
  static Centroids read(MergingDigest digest, long baseMs) {
    digest.compress();
    List<Centroid> centroids = List.copyOf(digest.centroids());
    double[] means = new double[centroids.size()];
    long[] weights = new long[centroids.size()];
    for (int i = 0; i < means.length; i++) {
      means[i] = baseMs + centroids.get(i).mean();
      weights[i] = centroids.get(i).count();
    }
    return new Centroids(means, weights);
  }

  /** The same centroids in ascending order of mean, then weight. */
  static Centroids sorted(Centroids all) {
    int[] order =
        IntStream.range(0, all.means.length)
            .boxed()
            .sorted(Comparator.<Integer>comparingDouble(i -> all.means[i]).thenComparingLong(i -> all.weights[i]))
            .mapToInt(Integer::intValue)
            .toArray();
    return new Centroids(
        Arrays.stream(order).mapToDouble(i -> all.means[i]).toArray(),
        Arrays.stream(order).mapToLong(i -> all.weights[i]).toArray());
  }
}
