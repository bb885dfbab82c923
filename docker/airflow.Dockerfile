# Airflow with this project's provider package.
FROM apache/airflow:3.3.2-python3.11
COPY finalization /tmp/src/finalization
