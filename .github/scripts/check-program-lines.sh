#!/usr/bin/env bash
# Each program of Tests/ExampleTests/Programs is shorter with Stepwise than in plain Swift, and the README's table has both
# numbers. Counts lines of code: neither blank lines nor comments.
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

# Programs whose lines the README, where it has a table of them, gives wrongly or not at all.
wrong() {
  local file name row
  grep -q 'Plain Swift [|]$' README.md || return 0
  files 'Tests/ExampleTests/Programs' | only '*+Stepwise.swift' | while IFS= read -r -d '' file; do
    name=$(basename "$file" +Stepwise.swift)
    row="| $(lines "$file") | $(lines "${file%+Stepwise.swift}+Plain.swift") |"
    grep -F "| \`$name\`" README.md | grep -qF "$row" || echo "README.md has no row of $name that ends in $row"
  done
}

complain "a program that is no shorter than in plain Swift" longer
complain "a table that differs from the programs" wrong
finish
