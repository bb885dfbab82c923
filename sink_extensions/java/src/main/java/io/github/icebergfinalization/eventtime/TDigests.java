package io.github.icebergfinalization.eventtime;

import com.tdunning.math.stats.Centroid;
import com.tdunning.math.stats.MergingDigest;
import java.util.List;

/** Deterministic t-digests of event times, kept as offsets from a base so that doubles stay exact to the millisecond. */
final class TDigests {

  /** In a writer: finer than what is stored, so that merging loses little. */
  static final double WRITER_COMPRESSION = 200;

  /** In the summary: about 40 centroids, which keeps all facts of an ordinary commit below 600 bytes. */
  static final double SUMMARY_COMPRESSION = 64;

  private TDigests() {}

  /** Centroid means (milliseconds since the epoch) in ascending order, and their weights. */
  record Centroids(double[] means, long[] weights) {}

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

  /**
   * Merges centroids into one digest of {@link #SUMMARY_COMPRESSION}.
   *
   * <p>T-digests are not associative, so all centroids are merged in one pass, in ascending order of mean, then weight:
   * the result does not depend on how they were spread over subtasks' states or in which order those came.
   */
  static Centroids merge(Centroids all, long baseMs) {
    Integer[] order = new Integer[all.means.length];
    for (int i = 0; i < order.length; i++) {
      order[i] = i;
    }
    java.util.Arrays.sort(
        order,
        (a, b) -> {
          int byMean = Double.compare(all.means[a], all.means[b]);
          return byMean != 0 ? byMean : Long.compare(all.weights[a], all.weights[b]);
        });
    // A buffer that holds every centroid: one merge at the end, no order-dependent merges on the way.
    MergingDigest digest =
        new MergingDigest(SUMMARY_COMPRESSION, Math.max(order.length + 1, (int) (5 * SUMMARY_COMPRESSION)));
    for (int i : order) {
      digest.add(all.means[i] - baseMs, Math.toIntExact(all.weights[i]));
    }
    return read(digest, baseMs);
  }
}
