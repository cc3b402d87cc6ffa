#!/usr/bin/env bash
# Constructs that Sources does without, unless a `// Safety:` comment on or directly above the line says why it is
# right.
. "$(dirname "$0")/common.sh"

unsafe='@unchecked|nonisolated[(]unsafe[)]|try!'
traps='(^|[^A-Za-z0-9_])(fatalError|preconditionFailure)[(]'
prints='(^|[^A-Za-z0-9_.]|Swift[.])(print|debugPrint|dump)[(]'
imports='(^|[^A-Za-z0-9_])import +([a-z]+ +)?(Foundation[A-Za-z]*|Dispatch)([^A-Za-z0-9_]|$)'

# sources DIRECTORY EXCEPT PATTERN [anywhere]
sources() { files "$1" | only '*.swift' "$2" | unproven "$3" "${4:-}"; }

complain "unsafe without a proof" sources Sources '' "$unsafe"
complain "a trap without a proof" sources Sources '' "$traps"
complain "unfinished work" sources Sources '' 'TODO|FIXME' anywhere
complain "a library that prints" sources Sources 'Sources/Tour/*' "$prints"
complain "Foundation or Dispatch in the core" sources Sources/Stepwise '' "$imports"
finish
