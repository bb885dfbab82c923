package org.apache.iceberg.flink.sink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.jsonplan.JsonPlanGenerator;
import org.apache.flink.runtime.rest.util.RestMapperUtils;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.iceberg.DistributionMode;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.flink.maintenance.api.ExpireSnapshotsConfig;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The graph of a job on our sink beside that of the same job on the standard one. */
class JobGraphTest {

  @TempDir Path warehouse;
  private Table table;

  /** Choices at the builder that change the graph. */
  record Choices(String name, UnaryOperator<IcebergSink.Builder> at) {

    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Choices> choices() {
    return Stream.of(
        new Choices("none", sink -> sink),
        new Choices("uid suffix and parallelism", sink -> sink.uidSuffix("numbers").writeParallelism(3)),
        new Choices("hash", sink -> sink.distributionMode(DistributionMode.HASH)),
        new Choices("range", sink -> sink.distributionMode(DistributionMode.RANGE).uidSuffix("ranged")),
        new Choices("upsert", sink -> sink.upsert(true).equalityFieldColumns(List.of("id", "ts"))),
        new Choices(
            "maintenance",
            sink ->
                sink.rewriteDataFiles().expireSnapshots(Map.of(ExpireSnapshotsConfig.RETAIN_LAST, "5")).deleteOrphanFiles()));
  }

  @BeforeEach
  void setUp() {
    FaultyCatalog.clear();
    PartitionSpec byHour = PartitionSpec.builderFor(SinkTesting.SCHEMA).hour("ts").build();
    table = SinkTesting.create(warehouse, "graph", byHour, Map.of("format-version", "2"));
  }

  @ParameterizedTest
  @MethodSource("choices")
  void offItIsTheStandardOne(Choices choices) {
    StreamGraph standard = standard(choices);
    StreamGraph ours = ours(choices, Map.of("write.format.default", "parquet"));
    assertThat(nodes(ours)).isEqualTo(nodes(standard));
    assertThat(factories(ours)).isEqualTo(factories(standard)).noneMatch(name -> name.contains("Extensible"));
    assertThat(plan(ours.getJobGraph())).isEqualTo(plan(standard.getJobGraph()));
  }

  @ParameterizedTest
  @MethodSource("choices")
  void onItHasTheSameOperatorsNamesUidsAndParallelism(Choices choices) {
    StreamGraph standard = standard(choices);
    StreamGraph ours = ours(choices, SinkTesting.EVENT_TIME);
    assertThat(nodes(ours)).isEqualTo(nodes(standard)).anyMatch(node -> node.contains("aggregator"));
    // Vertices' ids come from uids and the places of operators: what savepoints know the state by.
    JobGraph graph = ours.getJobGraph();
    assertThat(vertices(graph)).isEqualTo(vertices(standard.getJobGraph()));
    assertThat(plan(graph)).isEqualTo(plan(standard.getJobGraph()));
  }

  private StreamGraph standard(Choices choices) {
    StreamExecutionEnvironment environment = environment();
    choices
        .at
        .apply(IcebergSink.forRowData(SinkTesting.rows(environment, 1, 0, SinkTesting::row)))
        .tableLoader(SinkTesting.loader(warehouse, table))
        .append();
    return environment.getStreamGraph();
  }

  private StreamGraph ours(Choices choices, Map<String, String> extensions) {
    StreamExecutionEnvironment environment = environment();
    SinkTesting.sink(
        SinkTesting.rows(environment, 1, 0, SinkTesting::row), SinkTesting.loader(warehouse, table), extensions, choices.at);
    return environment.getStreamGraph();
  }

  private static StreamExecutionEnvironment environment() {
    return StreamExecutionEnvironment.createLocalEnvironment(2, SinkTesting.configuration(2, "1 s"));
  }

  /** The operators in the order of the stream; Flink numbers them anew in every graph. */
  private static List<String> nodes(StreamGraph graph) {
    return ordered(graph).stream()
        .map(
            node ->
                String.join(
                    " | ",
                    node.getOperatorName(),
                    String.valueOf(node.getTransformationUID()),
                    String.valueOf(node.getUserHash()),
                    String.valueOf(node.getSlotSharingGroup()),
                    node.getParallelism() + "/" + node.getMaxParallelism(),
                    node.getInEdges().stream().map(edge -> edge.getPartitioner().toString()).toList().toString()))
        .toList();
  }

  private static List<String> factories(StreamGraph graph) {
    return ordered(graph).stream().map(node -> String.valueOf(node.getOperatorFactory().getClass())).toList();
  }

  private static List<StreamNode> ordered(StreamGraph graph) {
    List<StreamNode> nodes = new ArrayList<>(graph.getStreamNodes());
    nodes.sort((a, b) -> Integer.compare(a.getId(), b.getId()));
    return nodes;
  }

  /** As Flink's REST interface shows it, without the job's own id. */
  private static String plan(JobGraph graph) {
    try {
      String json = RestMapperUtils.getStrictObjectMapper().writeValueAsString(JsonPlanGenerator.generatePlan(graph));
      return json.replace(graph.getJobID().toString(), "JOB");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> vertices(JobGraph graph) {
    List<String> vertices = new ArrayList<>();
    for (JobVertex vertex : graph.getVerticesSortedTopologicallyFromSources()) {
      vertices.add(
          String.join(
              " | ",
              vertex.getName(),
              vertex.getID().toString(),
              vertex.getOperatorIDs().stream()
                  .map(id -> id.getGeneratedOperatorID() + " " + id.getUserDefinedOperatorID())
                  .toList()
                  .toString(),
              vertex.getParallelism() + "/" + vertex.getMaxParallelism()));
    }
    return vertices;
  }
}
