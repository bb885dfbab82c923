#!/usr/bin/env bash
# Makes a jar of the Java examples: build.sh FOLDER
# CLASS_PATH holds the sink's jar, the Iceberg runtime for Flink, Hadoop's client and the jars of Flink's lib folder.
set -euo pipefail
mkdir -p "$1/classes"
cp -r "$(dirname "$0")/java/META-INF" "$1/classes/"
javac --release 17 -cp "$CLASS_PATH" -d "$1/classes" "$(dirname "$0")"/java/com/example/shop/*.java
jar --create --file "$1/shop.jar" -C "$1/classes" .
