package org.apache.iceberg.flink.sink;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** A metrics reporter that keeps what was registered under {@code IcebergExtensions}, by table and name. */
public final class KeptMetrics implements MetricReporter, MetricReporterFactory {

  private static final Map<String, Metric> METRICS = new ConcurrentHashMap<>();

  /** The value of a table's metric; null if there is no such metric. */
  static Number value(String table, String name) {
    Metric metric = METRICS.get(table + " " + name);
    return metric instanceof Counter counter ? (Number) counter.getCount()
        : metric instanceof Gauge<?> gauge ? (Number) gauge.getValue() : null;
  }

  @Override
  public MetricReporter createMetricReporter(Properties properties) {
    return this;
  }

  @Override
  public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
    String table = group.getAllVariables().get("<table>");
    if (table != null && group.getMetricIdentifier(name).contains("IcebergExtensions")) {
      METRICS.put(table + " " + name, metric);
    }
  }

  @Override
  public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
    // Kept: tests look after the job.
  }

  @Override
  public void open(MetricConfig config) {}

  @Override
  public void close() {}
}
