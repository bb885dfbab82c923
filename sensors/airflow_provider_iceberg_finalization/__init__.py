"""Airflow sensors and triggers that wait for final partitions of Apache Iceberg tables."""
