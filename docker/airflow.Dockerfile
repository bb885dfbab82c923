# Airflow with this project's provider package.
FROM apache/airflow:3.3.2-python3.11
COPY --chown=airflow:0 . /opt/finalization
# Editable: a wheel would want the sink's jar, which Airflow has no use for.
RUN pip install --no-cache-dir apache-airflow==3.3.2 apache-airflow-providers-apache-iceberg==2.1.2 \
        -e /opt/finalization /opt/finalization/sensors
