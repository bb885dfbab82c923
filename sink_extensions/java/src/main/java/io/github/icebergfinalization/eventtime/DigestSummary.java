package io.github.icebergfinalization.eventtime;

import io.github.icebergfinalization.eventtime.TDigests.Centroids;
import java.util.Arrays;
import java.util.BitSet;

/**
 * Turns the many centroids of all writers into the few of a snapshot's summary.
 *
 * <p>A digest of fixed sizes wastes centroids where times are spread evenly, and blurs the places where they are not: next
 * to the empty time between two hours it puts a percentile anywhere in between. A reader draws straight lines between the
 * middles of neighbouring centroids. So the corners of the distribution stay as they are, found as in the line
 * simplification of Douglas and Peucker (1973), and what lies between two corners, on a straight line, is joined into one.
 *
 * <p>The result depends on the centroids alone, not on how they were spread over writers or in which order those came.
 */
final class DigestSummary {

  /** In characters of the digest's text: keeps all facts of an ordinary commit below 600 bytes. */
  private static final int LONGEST_TEXT = 300;

  private static final double MIDDLE_TOLERANCE = 0.004;
  private static final double TAIL_TOLERANCE = 0.0003;

  private final double[] means;
  private final double[] weightBefore;
  private final double[] momentBefore;
  private final BitSet corners = new BitSet();

  private DigestSummary(Centroids sorted, double base) {
    int size = sorted.means().length;
    means = new double[size];
    weightBefore = new double[size + 1];
    momentBefore = new double[size + 1];
    for (int i = 0; i < size; i++) {
      means[i] = sorted.means()[i] - base;
      weightBefore[i + 1] = weightBefore[i] + sorted.weights()[i];
      momentBefore[i + 1] = momentBefore[i] + means[i] * sorted.weights()[i];
    }
  }

  /**
   * The digest's text for a snapshot's summary.
   *
   * @param all centroids in any order, at least one
   */
  static String encode(long minMs, long maxMs, Centroids all) {
    DigestSummary summary = new DigestSummary(TDigests.sorted(all), minMs);
    summary.corners.set(0);
    summary.corners.set(all.means().length - 1);
    String text;
    String longer = DigestCodec.encode(minMs, maxMs, summary.join(minMs));
    do {
      text = longer;
      int farthest = summary.farthestFromLines();
      if (farthest < 0) {
        return text;
      }
      summary.corners.set(farthest);
      longer = DigestCodec.encode(minMs, maxMs, summary.join(minMs));
    } while (longer.length() <= LONGEST_TEXT);
    return text;
  }

  /** How far, in ranks from 0 to 1, a line may be off: less towards the ends. */
  private static double tolerance(double rank) {
    return Math.min(MIDDLE_TOLERANCE, TAIL_TOLERANCE + 0.1 * Math.min(rank, 1 - rank));
  }

  /** The centroid that is farthest, for its rank, from the line between the corners beside it; -1 if all are close. */
  private int farthestFromLines() {
    double total = weightBefore[means.length];
    double worst = 1;
    int farthest = -1;
    for (int from = 0, to; (to = corners.nextSetBit(from + 1)) > 0; from = to) {
      double slope = means[to] > means[from] ? (middleRank(to) - middleRank(from)) / (means[to] - means[from]) : 0;
      for (int i = from + 1; slope > 0 && i < to; i++) {
        double off = Math.abs(middleRank(from) + (means[i] - means[from]) * slope - middleRank(i)) / total;
        double ratio = off / tolerance(middleRank(i) / total);
        if (ratio > worst) {
          worst = ratio;
          farthest = i;
        }
      }
    }
    return farthest;
  }

  private double middleRank(int i) {
    return (weightBefore[i] + weightBefore[i + 1]) / 2;
  }

  private Centroids join(long baseMs) {
    double[] joinedMeans = new double[means.length];
    long[] joinedWeights = new long[means.length];
    int joined = 0;
    for (int from = 0, to; from < means.length; from = to, joined++) {
      to = corners.get(from) ? from + 1 : corners.nextSetBit(from);
      double weight = weightBefore[to] - weightBefore[from];
      joinedMeans[joined] = baseMs + (momentBefore[to] - momentBefore[from]) / weight;
      joinedWeights[joined] = (long) weight;
    }
    return new Centroids(Arrays.copyOf(joinedMeans, joined), Arrays.copyOf(joinedWeights, joined));
  }
}
