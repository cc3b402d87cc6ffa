#!/usr/bin/env bash
# The package depends on no other package, and its manifest says so.
. "$(dirname "$0")/common.sh"

dependencies() {
  awk '
    { sub("//.*", "") }
    /[.]package *[(]|[.]dependencies/ { print FILENAME ":" FNR ": " $0 }
    /^  dependencies: \[\],?$/ { found = 1 }
    END { if (!found) print FILENAME ": no line that says dependencies: []" }
  ' Package.swift
}

complain "the package has no dependencies and says so" dependencies
finish
