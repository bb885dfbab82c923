package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.Accumulator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.table.data.RowData;
import org.apache.iceberg.io.WriteResult;

/** The standard writer, with the accumulators looking on. */
final class ExtensibleSinkWriter implements CommittingSinkWriter<RowData, ExtensibleWriteResult> {

  private final CommittingSinkWriter<RowData, WriteResult> standard;
  private final List<Accumulator> accumulators;
  private final Accumulator[] loop;
  private long sourceWatermarkMs = ExtensibleWriteResult.NO_WATERMARK;

  ExtensibleSinkWriter(
      CommittingSinkWriter<RowData, WriteResult> standard, List<Accumulator> accumulators) {
    this.standard = standard;
    this.accumulators = accumulators;
    this.loop = accumulators.toArray(new Accumulator[0]);
  }

  @Override
  public void write(RowData row, Context context) throws IOException, InterruptedException {
    standard.write(row, context);
    for (Accumulator accumulator : loop) {
      accumulator.add(row);
    }
  }

  @Override
  public void writeWatermark(Watermark watermark) throws IOException, InterruptedException {
    sourceWatermarkMs = watermark.getTimestamp();
    standard.writeWatermark(watermark);
  }

  @Override
  public void flush(boolean endOfInput) throws IOException, InterruptedException {
    standard.flush(endOfInput);
  }

  @Override
  public Collection<ExtensibleWriteResult> prepareCommit() throws IOException, InterruptedException {
    Map<String, byte[]> snapshots = new LinkedHashMap<>();
    for (Accumulator accumulator : accumulators) {
      byte[] snapshot = accumulator.snapshot();
      if (snapshot.length > 0) {
        snapshots.put(accumulator.name(), snapshot);
      }
      accumulator.reset();
    }
    // The standard writer gives one result a checkpoint. Facts go with the first, whatever their number.
    Collection<WriteResult> results = standard.prepareCommit();
    List<ExtensibleWriteResult> extended = new ArrayList<>(Math.max(1, results.size()));
    for (WriteResult result : results) {
      extended.add(
          new ExtensibleWriteResult(result, extended.isEmpty() ? snapshots : Map.of(), sourceWatermarkMs));
    }
    if (extended.isEmpty()) {
      extended.add(new ExtensibleWriteResult(WriteResult.builder().build(), snapshots, sourceWatermarkMs));
    }
    return extended;
  }

  @Override
  public void close() throws Exception {
    standard.close();
  }
}
