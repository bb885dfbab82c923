package org.apache.iceberg.flink.sink;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** What was seen in the test class that runs: the MiniCluster is in the same JVM. */
final class Findings {

  private static final Queue<String> FAILURES = new ConcurrentLinkedQueue<>();
  static final AtomicInteger CATALOGS = new AtomicInteger();
  static final AtomicInteger COMMITTERS = new AtomicInteger();
  static final AtomicInteger SINKS = new AtomicInteger();
  static final AtomicInteger COMMITS = new AtomicInteger();

  private Findings() {}

  static void clear() {
    FAILURES.clear();
    CATALOGS.set(0);
    COMMITTERS.set(0);
    SINKS.set(0);
    COMMITS.set(0);
  }

  /** Fails the test at its end. Nothing is thrown here, in a job: Flink would restart it again and again. */
  static void check(boolean holds, String message, Object... arguments) {
    if (!holds) {
      FAILURES.add(String.format(message, arguments));
    }
  }

  static void commitChecked() {
    COMMITS.incrementAndGet();
  }

  /** Whether the test drives a committer with committables of its own, which carry no facts. */
  static boolean committerOnly() {
    return COMMITTERS.get() > 0;
  }

  static void failIfAny() {
    String failure = FAILURES.poll();
    FAILURES.clear();
    if (failure != null) {
      throw new AssertionError(failure);
    }
  }
}
