"""docker-compose.yml cannot be started where this project is built: these tests hold it to the code."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer
import yaml

from demo.database import COLUMNS, EVENT_TIME, KEY, SCHEMA, TABLE
from finalization.cli.app import create_app
from finalization.pipeline import Pipeline, loads
from local_stack.connect import debezium_source
from local_stack.postgres import Postgres

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
CONNECTOR = json.loads((DOCKER / "connector.json").read_text())
LASTING = {name for name, service in SERVICES.items() if service.get("restart") == "unless-stopped"}


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    text = (DOCKER / "flights.yaml").read_text()
    return loads(text, "docker/flights.yaml", {name: "x" for name in SERVICES["cdc-job"]["environment"]})


def version_in_pom(jar_set: str, artifact: str) -> str:
    pom = (ROOT / "local_stack" / "jars" / f"{jar_set}.pom.xml").read_text()
    found = re.search(rf"<artifactId>{re.escape(artifact)}</artifactId>\s*<version>(.*?)</version>", pom)
    assert found is not None
    return found[1]


def docker_has_compose() -> bool:
    return shutil.which("docker") is not None and (
        subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not docker_has_compose(), reason="the docker client has no compose command")
def test_docker_accepts_the_file():
    subprocess.run(
        ["docker", "compose", "--file", ROOT / "docker-compose.yml", "config", "--quiet"], check=True
    )


def test_every_part_of_a_deployment_is_there():
    # The store `s3` has the REST catalog too.
    parts = {"postgres", "kafka", "connect", "s3", "jobmanager", "taskmanager", "spark-upsert", "airflow"}
    assert parts <= LASTING
    assert "cdc-job" in SERVICES


def test_services_have_only_keys_that_compose_knows():
    known = {"image", "build", "command", "environment", "volumes", "ports", "networks", "depends_on"}
    known |= {"healthcheck", "restart"}
    assert all(service.keys() <= known for service in SERVICES.values())


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_pinned(name):
    assert re.fullmatch(r"[\w./-]+:\d[\w.-]*", SERVICES[name]["image"])


@pytest.mark.parametrize("dockerfile", sorted(DOCKER.glob("*Dockerfile")), ids=lambda path: path.name)
def test_every_base_image_is_pinned(dockerfile):
    bases = re.findall(r"^FROM (\S+)", dockerfile.read_text(), re.MULTILINE)
    assert bases
    assert all(re.fullmatch(r"[\w./-]+:\d[\w.-]*", base) for base in bases)


@pytest.mark.parametrize("name", sorted(LASTING))
def test_every_lasting_service_has_a_health_check(name):
    assert SERVICES[name]["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


def test_services_wait_for_health_or_for_the_end_of_what_they_depend_on():
    for service in SERVICES.values():
        for name, how in service.get("depends_on", {}).items():
            expected = "service_healthy" if name in LASTING else "service_completed_successfully"
            assert how["condition"] == expected


def test_ports_are_published_on_the_loopback_interface_only():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert len(ports) == len(set(ports))


def test_every_file_that_is_mounted_or_built_from_exists_and_every_volume_is_declared():
    for service in SERVICES.values():
        for source, *_ in (volume.split(":") for volume in service.get("volumes", [])):
            assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
        if "build" in service:
            assert (ROOT / service["build"]["dockerfile"]).is_file()


def test_dockerfiles_copy_what_exists():
    for dockerfile in DOCKER.glob("*Dockerfile"):
        for sources in re.findall(
            r"^COPY (?!--from)(?:--\S+ )*(.*) \S+$", dockerfile.read_text(), re.MULTILINE
        ):
            assert all((ROOT / source).exists() for source in sources.split())


def test_the_pipeline_reads_the_broker_and_the_topic_that_debezium_writes(pipeline):
    listeners = SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"PLAINTEXT://{pipeline.kafka.brokers}" in listeners.split(",")
    assert f"bootstrap.servers={pipeline.kafka.brokers}\n" in (DOCKER / "connect.properties").read_text()
    assert pipeline.kafka.topics == [f"{CONNECTOR['topic.prefix']}.{CONNECTOR['table.include.list']}"]
    assert f"--topic={pipeline.kafka.topics[0]}" in SERVICES["topics"]["command"]


def test_the_connector_reads_the_database_of_the_deployment():
    postgres = SERVICES[CONNECTOR["database.hostname"]]
    assert postgres["environment"]["POSTGRES_DB"] == CONNECTOR["database.dbname"]
    assert (
        postgres["environment"]["POSTGRES_PASSWORD"]
        == SERVICES["connect"]["environment"]["POSTGRES_PASSWORD"]
    )
    assert "wal_level=logical" in postgres["command"]
    assert CONNECTOR["table.include.list"] == f"{SCHEMA}.{TABLE}"


def test_the_connector_has_the_settings_the_local_stack_is_tested_with(tmp_path):
    tested = debezium_source(Postgres(tmp_path), CONNECTOR["topic.prefix"], [CONNECTOR["table.include.list"]])
    places = {f"database.{key}" for key in ("hostname", "port", "user", "password", "dbname")}
    pace = {"heartbeat.interval.ms", "poll.interval.ms"}
    assert {k: v for k, v in CONNECTOR.items() if k not in places | pace} == {
        k: v for k, v in tested.items() if k not in places | pace
    }


def test_the_table_and_the_pipeline_have_the_demos_columns(pipeline):
    assert pipeline.columns == {column.name: column.flink for column in COLUMNS}
    assert pipeline.primary_key == [KEY]
    assert pipeline.event_time.column == EVENT_TIME
    definition = re.findall(r"^    (\w+) (.*?),?$", (DOCKER / "flights.sql").read_text(), re.MULTILINE)
    assert definition == [(column.name, column.postgres) for column in COLUMNS]


def test_catalog_and_object_store_are_the_services(pipeline):
    store = SERVICES["s3"]
    catalog = urlsplit(pipeline.catalog.uri)
    assert catalog.hostname in store["networks"]["default"]["aliases"]
    assert f"-s3.port.iceberg={catalog.port}" in store["command"]
    endpoint = urlsplit(pipeline.catalog.properties["s3.endpoint"])
    assert endpoint.hostname == "s3"
    assert f"-s3.port={endpoint.port}" in store["command"]
    assert f"-tableBucket={urlsplit(pipeline.catalog.warehouse).hostname}" in store["command"]
    assert all(str(port) in store["healthcheck"]["test"][1] for port in (catalog.port, endpoint.port))


def test_airflow_has_a_connection_to_the_catalog(pipeline):
    text = SERVICES["airflow"]["environment"][f"AIRFLOW_CONN_{pipeline.catalog.name.upper()}"]
    connection = json.loads(text)
    assert connection["host"] == pipeline.catalog.uri
    assert connection["extra"]["warehouse"] == pipeline.catalog.warehouse
    keys = COMPOSE["x-secrets"]
    assert connection["extra"]["credential"] == f"{keys['AWS_ACCESS_KEY_ID']}:{keys['AWS_SECRET_ACCESS_KEY']}"


def test_checkpoints_are_on_a_volume_that_jobs_and_flink_share(pipeline):
    folder = urlsplit(pipeline.checkpoint.directory).path
    for name in ("jobmanager", "taskmanager", "cdc-job"):
        targets = [volume.split(":")[1] for volume in SERVICES[name]["volumes"]]
        assert any(Path(folder).is_relative_to(target) for target in targets)


def test_the_job_is_submitted_to_the_job_manager_that_flinks_configuration_names():
    flink = yaml.safe_load((DOCKER / "flink.yaml").read_text())
    address = f"{flink['rest.address']}:{flink['rest.port']}"
    assert flink["rest.address"] == flink["jobmanager.rpc.address"] in SERVICES
    assert address in SERVICES["cdc-job"]["command"]
    for name in ("jobmanager", "taskmanager"):
        assert any(address in part for part in SERVICES[name]["healthcheck"]["test"])


@pytest.mark.parametrize("name", ["cdc-job", "spark-upsert"])
def test_jobs_run_the_pipeline_file_that_is_mounted(name):
    command = SERVICES[name]["command"]
    mounted = [volume.split(":")[1] for volume in SERVICES[name]["volumes"]]
    assert command[0] == "finalization"
    assert command[2] in mounted


def test_the_dags_wait_for_the_pipelines_tables(pipeline):
    folder = next(volume.split(":")[0] for volume in SERVICES["airflow"]["volumes"] if "/dags:" in volume)
    dags = [path.read_text() for path in (ROOT / folder).glob("*.py")]
    tables = {table for dag in dags for table in re.findall(r'table="(.*?)"', dag)}
    connections = {name for dag in dags for name in re.findall(r'iceberg_conn_id="(.*?)"', dag)}
    assert tables <= {pipeline.tables.cdc, pipeline.tables.base}
    assert connections == {pipeline.catalog.name}


@pytest.mark.parametrize("name", ["cdc-job", "spark-upsert"])
def test_the_command_line_takes_the_jobs_options(name):
    _, command, *arguments = SERVICES[name]["command"]
    typer.main.get_group(create_app()).commands[command].make_context(command, arguments)


def test_versions_agree_with_the_jars_the_code_is_tested_with():
    assert SERVICES["kafka"]["image"].endswith(":" + version_in_pom("kafka", "kafka_2.13"))
    dockerfile = (DOCKER / "Dockerfile").read_text()
    for jar_set, artifact in (
        ("flink", "iceberg-flink-runtime-2.1"),
        ("spark", "iceberg-spark-runtime-4.1_2.13"),
    ):
        bundle = f"iceberg-aws-bundle:{version_in_pom(jar_set, artifact)} -DoutputDirectory=/jars/{jar_set}"
        assert bundle in dockerfile
