#!/bin/sh
# Compiles the programs for each client version found: compile.sh SOURCES JARS CLASSES. lite: what 4.4 does not have yet.
set -eu
for jars in "$2"/client-*; do
    version=${jars##*/client-}
    case $version in
        4.4.*) sources="common v4" ;;
        4.*) sources="common v4 lite" ;;
        *) sources="common v5 lite" ;;
    esac
    mkdir -p "$3/$version"
    (cd "$1" && find $sources -name '*.java' | xargs javac -nowarn -Xlint:-options -encoding UTF-8 -cp "$jars/*" -d "$3/$version")
done
