package com.example.shop;

import io.github.icebergfinalization.api.CommitContext;
import io.github.icebergfinalization.api.CommitProcessor;
import java.util.Map;

/** Refuses commits whose revenue is below a limit, and signs those that it lets through. */
public final class RevenueGate implements CommitProcessor {

  private static final String LEAST_KEY = "sink.revenue-gate.least-cents";

  private long least;

  @Override
  public String name() {
    return "revenue-gate";
  }

  @Override
  public void open(Map<String, String> options) {
    least = Long.parseLong(options.getOrDefault(LEAST_KEY, "0"));
  }

  @Override
  public void preCommit(CommitContext context) {
    String cents = context.accumulators().get("revenue").get("cents");
    if (Long.parseLong(cents) < least) {
      throw new IllegalStateException("revenue of " + cents + " cents is below " + LEAST_KEY + " " + least);
    }
    context.setSnapshotProperty("revenue-gate.passed-at-least", Long.toString(least));
  }
}
