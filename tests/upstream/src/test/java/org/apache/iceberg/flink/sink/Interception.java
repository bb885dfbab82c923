package org.apache.iceberg.flink.sink;

import java.util.Map;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.AsmVisitorWrapper;
import net.bytebuddy.dynamic.loading.ClassReloadingStrategy;
import net.bytebuddy.matcher.ElementMatchers;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.runtime.operators.sink.CommitterOperatorFactory;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * Leads upstream's unmodified tests to our sink, at the three places of Flink where they hand it what to run. Nothing
 * of Iceberg's own code is changed.
 */
final class Interception {

  private Interception() {}

  static void install() {
    ByteBuddyAgent.install();
    weave(
        DataStream.class,
        Advice.to(SinkTo.class)
            .on(ElementMatchers.named("sinkTo").and(ElementMatchers.takesArguments(Sink.class))));
    weave(
        FactoryUtil.class, Advice.to(CreateCatalog.class).on(ElementMatchers.named("createCatalog")));
    weave(
        CommitterOperatorFactory.class, Advice.to(NewCommitter.class).on(ElementMatchers.isConstructor()));
  }

  private static void weave(Class<?> type, AsmVisitorWrapper advice) {
    new ByteBuddy()
        .redefine(type)
        .visit(advice)
        .make()
        .load(type.getClassLoader(), ClassReloadingStrategy.fromInstalledAgent());
  }

  /** Skips the method's own code where the rerouting has done its work. */
  private static final class SinkTo {

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static DataStreamSink<?> enter(@Advice.This DataStream<?> stream, @Advice.Argument(0) Sink<?> sink) {
      return Rerouting.sinkTo(stream, sink);
    }

    @Advice.OnMethodExit
    static void exit(
        @Advice.Enter DataStreamSink<?> rerouted,
        @Advice.Return(readOnly = false) DataStreamSink<?> returned) {
      if (rerouted != null) {
        returned = rerouted;
      }
    }
  }

  private static final class CreateCatalog {

    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) Map<String, String> options) {
      options = Rerouting.catalog(options);
    }
  }

  private static final class NewCommitter {

    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, readOnly = false) SupportsCommitter<?> sink) {
      sink = Rerouting.committer(sink);
    }
  }
}
