package io.github.icebergfinalization.eventtime;

import com.tdunning.math.stats.MergingDigest;
import io.github.icebergfinalization.api.AccumulatorContext;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.writer.BinaryRowWriter;
import org.apache.flink.table.types.logical.RowType;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Nanoseconds that a record costs, from the row to its place in the digest and the partition counts. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgs = {"-Xmx512m", "-XX:+UseSerialGC", "-da:com.tdunning.math.stats.MergingDigest"})
public class EventTimeBenchmark {

  private static final int RECORDS = 1 << 18;
  private static final long NOW = 1_700_000_000_000L;
  private static final long HOUR = 3_600_000;
  private static final RowType ROW =
      (RowType) DataTypes.ROW(DataTypes.FIELD("ts", DataTypes.TIMESTAMP(6))).getLogicalType();

  /** {@code ordered}: most records share a second with their neighbour, as in a stream of changes. */
  @Param({"ordered", "uniform", "bursty", "two-hours-mixed", "heavy-tail"})
  public String times;

  private final RowData[] rows = new RowData[RECORDS];
  private EventTimeAccumulator accumulator;
  private EventTimeExtractor extractor;

  @Setup
  public void setUp() {
    Random random = new Random(1);
    for (int i = 0; i < RECORDS; i++) {
      rows[i] = row(time(random, i));
    }
    Map<String, String> options = Map.of("finalization.event-time-column", "ts");
    accumulator = new EventTimeAccumulator();
    accumulator.open(new AccumulatorContext(ROW, options));
    extractor = EventTimeExtractor.of(ROW, "ts", null);
  }

  private long time(Random random, int i) {
    return switch (times) {
      case "ordered" -> NOW + i * (HOUR / 60) / RECORDS;
      case "uniform" -> NOW + random.nextInt((int) HOUR);
      case "bursty" -> NOW + random.nextInt(6) * 600_000L + random.nextInt(1000);
      case "two-hours-mixed" -> NOW + (i % 10 == 0 ? 0 : 4 * HOUR) + random.nextInt(600_000);
      default -> NOW - Math.min(30 * 24 * HOUR, (long) (60_000 * Math.pow(random.nextDouble(), -0.7)));
    };
  }

  private static RowData row(long epochMs) {
    BinaryRowData row = new BinaryRowData(1);
    BinaryRowWriter writer = new BinaryRowWriter(row);
    writer.writeTimestamp(0, TimestampData.fromEpochMillis(epochMs), 6);
    writer.complete();
    return row;
  }

  @Benchmark
  @OperationsPerInvocation(RECORDS)
  public byte[] accumulator() {
    for (RowData row : rows) {
      accumulator.add(row);
    }
    byte[] state = accumulator.snapshot();
    accumulator.reset();
    return state;
  }

  /** What reading the time alone costs. */
  @Benchmark
  @OperationsPerInvocation(RECORDS)
  public long reading() {
    long sum = 0;
    for (RowData row : rows) {
      sum += extractor.epochMillis(row);
    }
    return sum;
  }

  /** The simplest way, to compare: each time goes into a digest by itself. */
  @Benchmark
  @OperationsPerInvocation(RECORDS)
  public int digestForEachRecord() {
    MergingDigest digest = TDigests.forWriter();
    for (RowData row : rows) {
      digest.add(extractor.epochMillis(row) - NOW);
    }
    digest.compress();
    return digest.centroidCount();
  }
}
