package org.apache.iceberg.flink.sink;

import io.github.icebergfinalization.api.Accumulator;
import io.github.icebergfinalization.api.AccumulatorContext;
import io.github.icebergfinalization.api.CommitProcessor;
import io.github.icebergfinalization.api.Plugins;
import io.github.icebergfinalization.eventtime.EventTimeAccumulator;
import io.github.icebergfinalization.python.PythonProcessor;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.types.logical.RowType;

/** Which accumulators and processors a sink's options ask for, and how to make them on the workers. */
final class Extensions implements Serializable {

  static final String ACCUMULATORS = "sink.accumulators";
  static final String PROCESSORS = "sink.commit-processors";
  static final String ON_FAILURE = "sink.commit-processors.on-failure";
  static final String EVENT_TIME = EventTimeAccumulator.NAME;
  private static final String POLICY_PREFIX = "finalization.";
  private static final String EVENT_TIME_COLUMN = POLICY_PREFIX + "event-time-column";
  private static final String FINALIZATION = "python:finalization.processor:FinalizationProcessor";
  private static final long serialVersionUID = 1L;

  private final HashMap<String, String> options;
  private final List<String> accumulators;
  private final List<String> processors;
  private final boolean failOnPostCommit;

  private Extensions(HashMap<String, String> options) {
    this.options = options;
    Set<String> accumulatorNames = new LinkedHashSet<>(list(options.get(ACCUMULATORS)));
    Set<String> processorNames = new LinkedHashSet<>(list(options.get(PROCESSORS)));
    if (options.get(EVENT_TIME_COLUMN) != null) {
      // Naming the event time turns finalization on: its facts, and the processor that draws the conclusion.
      accumulatorNames.add(EVENT_TIME);
      processorNames.add(FINALIZATION);
    }
    this.accumulators = List.copyOf(accumulatorNames);
    this.processors = List.copyOf(processorNames);
    this.failOnPostCommit = failOnPostCommit(options.getOrDefault(ON_FAILURE, "fail"));
  }

  /**
   * Reads the options.
   *
   * @param options table properties with hints laid over them
   * @param config the session's configuration: it may name the Python interpreter, which is no property of a table
   */
  static Extensions of(Map<String, String> options, ReadableConfig config) {
    HashMap<String, String> all = new HashMap<>(options);
    PythonProcessor.OPTIONS.forEach(
        option -> config.getOptional(option).ifPresent(value -> all.putIfAbsent(option.key(), value)));
    return new Extensions(all);
  }

  private static List<String> list(String value) {
    return value == null
        ? List.of()
        : Arrays.stream(value.split(",")).map(String::trim).filter(name -> !name.isEmpty()).toList();
  }

  private static boolean failOnPostCommit(String value) {
    return switch (value) {
      case "fail" -> true;
      case "log" -> false;
      default ->
          throw new IllegalArgumentException(ON_FAILURE + " is '" + value + "'; expected 'fail' or 'log'");
    };
  }

  boolean isEmpty() {
    return accumulators.isEmpty() && processors.isEmpty();
  }

  Map<String, String> options() {
    return options;
  }

  /**
   * The policy that a statement's hints lay over the table's properties, as they are when the job is submitted. All other
   * policy stays with the table, so that a change of it reaches the running job. A watermark is state: options may hold an
   * older one than the table has by now.
   */
  HashMap<String, String> policyHints(Map<String, String> tableProperties) {
    HashMap<String, String> hints = new HashMap<>(options);
    hints.keySet().removeIf(key -> !key.startsWith(POLICY_PREFIX) || key.startsWith(ExtensionMetrics.WATERMARK));
    hints.entrySet().removeAll(tableProperties.entrySet());
    return hints;
  }

  boolean failOnPostCommit() {
    return failOnPostCommit;
  }

  /** New accumulators, ready for rows of the given type. */
  List<Accumulator> openAccumulators(RowType rowType) {
    AccumulatorContext context = new AccumulatorContext(rowType, options);
    List<Accumulator> opened =
        accumulators.stream()
            .map(name -> create(name, ACCUMULATORS, Accumulator.class, Accumulator::name))
            .toList();
    opened.forEach(accumulator -> accumulator.open(context));
    return opened;
  }

  List<CommitProcessor> createProcessors() {
    return processors.stream()
        .map(
            name ->
                name.startsWith(PythonProcessor.PREFIX)
                    ? new PythonProcessor(name)
                    : create(name, PROCESSORS, CommitProcessor.class, CommitProcessor::name))
        .toList();
  }

  /** Finds every processor, and has Python import its own, so that a wrong name fails when the job is submitted. */
  void checkProcessors() {
    for (CommitProcessor processor : createProcessors()) {
      if (processor instanceof PythonProcessor python) {
        python.check(options);
      }
    }
  }

  private static <T> T create(String name, String key, Class<T> type, Function<T, String> nameOf) {
    try {
      return Plugins.find(name, type, nameOf)
          .orElseThrow(
              () ->
                  new IllegalArgumentException(
                      "'" + name + "' is neither a known name " + Plugins.names(type, nameOf)
                          + " nor a class on the class path"));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(key + " names something that cannot be used: " + e.getMessage(), e);
    }
  }
}
