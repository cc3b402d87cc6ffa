#!/usr/bin/env bash
# Each program of Tests/ExampleTests/Programs is shorter with Stepwise than in plain Swift. Counts lines of code: neither
# blank lines nor comments.
. "$(dirname "$0")/common.sh"

lines() { awk '!/^[ \t]*(\/\/.*)?$/ { count++ } END { print count + 0 }' "$1"; }

longer() {
  local file twin
  files 'Tests/ExampleTests/Programs' | only '*+Stepwise.swift' | while IFS= read -r -d '' file; do
    twin=${file%+Stepwise.swift}+Plain.swift
    if [ ! -f "$twin" ]; then
      echo "$file has no twin in plain Swift"
    elif [ "$(lines "$file")" -ge "$(lines "$twin")" ]; then
      echo "$file: $(lines "$file") lines, in plain Swift $(lines "$twin")"
    fi
  done
}

complain "a program that is no shorter than in plain Swift" longer
finish
