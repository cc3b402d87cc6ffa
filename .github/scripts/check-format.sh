#!/usr/bin/env bash
# `swift format lint --strict` by the project's rules, over all Swift files but what a build left behind.
. "$(dirname "$0")/common.sh"

files Package.swift Sources Tests | only '*.swift' |
  xargs -0 swift format lint --strict --parallel --configuration "$project/.swift-format" || failed=1
finish
