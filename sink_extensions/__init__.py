"""Flink's Iceberg sink with accumulators and commit processors, for Python."""

from sink_extensions.builder import ExtensibleSink

__all__ = ["ExtensibleSink"]
