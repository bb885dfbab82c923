package io.github.icebergfinalization.api;

import java.util.Map;
import org.apache.flink.table.types.logical.RowType;

/**
 * What an accumulator is opened with.
 *
 * @param rowType the type of the rows that the sink receives
 * @param options the table's properties, with the statement's hints laid over them
 */
public record AccumulatorContext(RowType rowType, Map<String, String> options) {}
