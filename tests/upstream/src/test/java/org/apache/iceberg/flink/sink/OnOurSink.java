package org.apache.iceberg.flink.sink;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Runs test classes on our sink, and fails those that did not reach it. JUnit finds this extension by itself, since
 * nothing can be added to upstream's classes.
 *
 * <p>The system property {@code sink.extensions}: {@code on} (facts gathered, and checked at each commit), {@code off}
 * (our way of appending a sink and our catalog type, without any extension), {@code none} (nothing is intercepted: what
 * upstream's sink gives).
 */
public final class OnOurSink implements BeforeAllCallback, AfterEachCallback, AfterAllCallback, ExecutionCondition {

  private static final String MODE = System.getProperty("sink.extensions");
  static final boolean EXTENDED = "on".equals(MODE);
  private static final boolean INTERCEPTED = EXTENDED || "off".equals(MODE);

  private static final List<Unfit> UNFIT =
      List.of(
          new Unfit(
              "TestFlinkTableSinkExtended#testUsedFlinkSinkInterface .*",
              "asks for the class of the standard sink; ours decorates it"),
          new Unfit(
              "TestFlinkTableSinkExtended#testWriteParallelism .*useV2Sink=(false|null)",
              "looks at the operators of the older FlinkSink; with extensions the newer sink always writes"));

  static {
    if (INTERCEPTED) {
      Interception.install();
    } else if (!"none".equals(MODE)) {
      throw new IllegalArgumentException("sink.extensions is '" + MODE + "'; expected on, off or none");
    }
  }

  /** A test that cannot pass with extensions on, by what it looks at. */
  private record Unfit(Pattern test, String reason) {

    Unfit(String test, String reason) {
      this(Pattern.compile(test), reason);
    }
  }

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    if (EXTENDED && context.getTestMethod().isPresent()) {
      String test =
          context.getRequiredTestClass().getSimpleName() + "#" + context.getRequiredTestMethod().getName() + " "
              + context.getDisplayName();
      for (Unfit unfit : UNFIT) {
        if (unfit.test().matcher(test).matches()) {
          return ConditionEvaluationResult.disabled(unfit.reason());
        }
      }
    }
    return ConditionEvaluationResult.enabled("it runs on any sink");
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    Findings.clear();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Findings.failIfAny();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    if (!INTERCEPTED) {
      return;
    }
    String seen =
        context.getDisplayName() + ": " + Findings.SINKS + " sinks, " + Findings.COMMITTERS + " committers, "
            + Findings.CATALOGS + " catalogs, " + Findings.COMMITS + " commits checked";
    System.out.println(seen);
    // Without extensions a table of our catalog may be written by the older FlinkSink, as the session's setting says.
    int reached = Findings.SINKS.get() + Findings.COMMITTERS.get() + (EXTENDED ? 0 : Findings.CATALOGS.get());
    Findings.check(reached > 0, "%s: none was ours", seen);
    Findings.check(!EXTENDED || Findings.COMMITS.get() > 0, "%s: no facts were looked at", seen);
    Findings.failIfAny();
  }
}
