# Kafka Connect with Debezium on one class path: the jars that the local stack runs with.
FROM maven:3.9.9-eclipse-temurin-17 AS jars
COPY local_stack/jars/kafka.pom.xml /src/pom.xml
RUN mvn -B -q -f /src/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/jars

FROM eclipse-temurin:17.0.13_11-jre
RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/*
COPY --from=jars /jars /opt/connect/jars
COPY local_stack/log4j2.properties /opt/connect/
COPY docker/connect.properties /opt/connect/
USER 1000
CMD ["java", "-Xmx512m", "-Dlog4j2.configurationFile=/opt/connect/log4j2.properties", "-cp", "/opt/connect/jars/*", \
     "org.apache.kafka.connect.cli.ConnectDistributed", "/opt/connect/connect.properties"]
