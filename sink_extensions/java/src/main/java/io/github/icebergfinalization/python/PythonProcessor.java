package io.github.icebergfinalization.python;

import io.github.icebergfinalization.api.CommitContext;
import io.github.icebergfinalization.api.CommitProcessor;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;

/**
 * A commit processor written in Python: {@code python:package.module:Class}.
 *
 * <p>The class runs in one Python process beside the committer, for as long as the committer lives. An exception in it
 * becomes a commit failure that carries the Python traceback.
 */
public final class PythonProcessor implements CommitProcessor {

  public static final String PREFIX = "python:";

  public static final ConfigOption<String> EXECUTABLE =
      ConfigOptions.key("sink.python.executable")
          .stringType()
          .noDefaultValue()
          .withDescription("The Python interpreter of commit processors; default: python3 on the worker's path.");

  public static final ConfigOption<String> TIMEOUT =
      ConfigOptions.key("sink.python.timeout")
          .stringType()
          .noDefaultValue()
          .withDescription("How long one call of a Python commit processor may take (ISO-8601 duration, PT60S).");

  /** Options that a session may set for all its sinks. */
  public static final List<ConfigOption<String>> OPTIONS = List.of(EXECUTABLE, TIMEOUT);

  private final String name;
  private PythonWorker worker;

  /** @param name with the prefix */
  public PythonProcessor(String name) {
    this.name = name;
  }

  @Override
  public String name() {
    return name;
  }

  /** Reads the options, and has Python import the class. @throws IllegalArgumentException saying what would be right */
  public void check(Map<String, String> options) {
    timeout(options);
    try {
      PythonWorker.check(executable(options), target());
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "sink.commit-processors names '" + name + "', which does not load with " + executable(options)
              + "; expected python:package.module:Class, importable there (another interpreter: "
              + EXECUTABLE.key() + "): " + e.getMessage(), e);
    }
  }

  @Override
  public void open(Map<String, String> options) throws IOException {
    worker = PythonWorker.start(executable(options), target(), timeout(options));
  }

  @Override
  public void preCommit(CommitContext context) throws IOException {
    worker.call(python -> python.preCommit(new PythonCommitContext(context)));
  }

  @Override
  public void postCommit(CommitContext context) throws IOException {
    worker.call(python -> python.postCommit(new PythonCommitContext(context)));
  }

  @Override
  public void close() {
    if (worker != null) {
      worker.close();
    }
  }

  private String target() {
    return name.substring(PREFIX.length());
  }

  private static String executable(Map<String, String> options) {
    return options.getOrDefault(EXECUTABLE.key(), "python3");
  }

  private static Duration timeout(Map<String, String> options) {
    String value = options.getOrDefault(TIMEOUT.key(), "PT60S");
    try {
      return Duration.parse(value);
    } catch (DateTimeException e) {
      throw new IllegalArgumentException(
          TIMEOUT.key() + " is '" + value + "'; expected an ISO-8601 duration such as PT60S", e);
    }
  }
}
