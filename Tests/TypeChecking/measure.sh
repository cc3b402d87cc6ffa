#!/usr/bin/env bash
# Measures what a mistake in a chain costs: how long the compiler takes, whether its first error is on the right line, and
# whether that names the mistake. Needs the library to be built, with or without the tests.
#
#   measure.sh required   what has to hold, in about a minute; fails where it does not
#   measure.sh beyond     what is beyond the compiler, beside a stand-in of five lines with one single `then`; fails where
#                         the stand-in is better; takes ten minutes
#   measure.sh steps      steps in plain Swift, beside the same statements without `step`; fails where those are better, or a
#                         correct function takes more than 1.3 times as long; takes two minutes
#   measure.sh all        a table of everything, beside a stand-in of five lines with one single `then`; takes an hour
#
# Seconds are user CPU seconds of the compiler, so that a busy machine changes little.
# shellcheck disable=SC2034,SC2086,SC2317,SC2329 # Functions that the last lines call by their names.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
modules=${STEPWISE_MODULES:-$(swift build --package-path "$here/../.." --show-bin-path)/Modules}
work=$(mktemp -d "${TMPDIR:-/tmp}/typechecking.XXXXXX")
trap 'rm -rf "$work"' EXIT
limit=${LIMIT:-1}
mistakes="none member function unknown return try capture"
failed=0

# The words by which an error names the mistake.
words() {
  case $1 in
    member) echo "has no member 'f(oo|rist|liter)'" ;;
    function) echo "cannot convert value of type .*T[0-9]+" ;;
    call) echo "cannot find 'describbe' in scope" ;;
    unknown) echo "cannot find 'g[0-9]+' in scope" ;;
    return) echo "String" ;;
    try) echo "not marked with 'try'" ;;
    capture) echo "non-Sendable (type 'Box'|function value)" ;;
    variable) echo "cannot find 'factr' in scope" ;;
    label) echo "incorrect argument label" ;;
    await) echo "not marked with 'await'" ;;
    type | operator) echo "'?String'?" ;;
  esac
}

# compile: leaves `seconds`, and the errors as LINE: TEXT in `$work/errors`. More than 40 seconds are cut off.
compile() {
  local TIMEFORMAT=%U
  { time (
    ulimit -t 40
    swiftc -swift-version 6 -typecheck -suppress-warnings -I "$modules" "$work/chain.swift" > "$work/output" 2>&1
  ) || true; } 2> "$work/time"
  seconds=$(tail -n 1 "$work/time")
  sed -nE 's/^[^ ].*chain[.]swift:([0-9]+):[0-9]+: error: /\1: /p' "$work/output" > "$work/errors"
}

# measure LIBRARY STEPS FORM TYPES MISTAKE: leaves `seconds` and a verdict: exact, or what is not.
measure() {
  awk -v library="$1" -v steps="$2" -v form="$3" -v types="$4" -v mistake="$5" \
    -f "$here/chain.awk" > "$work/chain.swift"
  compile
  judge "$5"
}

# judge MISTAKE: leaves the verdict on what was compiled last.
judge() {
  local line first
  line=$(sed -n '/[/][/] mistake$/=' "$work/chain.swift")
  first=$(head -n 1 "$work/errors")
  if [ "$1" = none ]; then
    verdict=exact
    [ -z "$first" ] || verdict="does not compile"
  elif [ -z "$first" ]; then
    verdict="no error"
  elif [ "${first%%:*}" != "$line" ]; then
    verdict="wrong line"
  elif ! grep -qE "$(words "$1")" <<< "$first"; then
    verdict="right line, wrong words"
  elif [ "$(wc -l < "$work/errors")" -gt 1 ]; then
    verdict="exact, and more errors"
  else
    verdict=exact
  fi
}

slow() { awk -v seconds="$seconds" -v limit="$limit" 'BEGIN { exit !(seconds > limit) }'; }

# require STEPS FORM TYPES [MISTAKES]: each is exact within the limit; one that takes longer is tried twice more.
require() {
  local mistake attempt
  for mistake in ${4:-$mistakes}; do
    for attempt in 1 2 3; do
      measure Stepwise "$1" "$2" "$3" "$mistake"
      slow || break
    done
    if slow || [ "$verdict" != exact ]; then
      echo "error: $1 steps, $2, types: $3, mistake: $mistake: $seconds s, $verdict: $(head -n 1 "$work/errors")"
      failed=1
    fi
    count=$((count + 1))
    if awk -v a="$seconds" -v b="$longest" 'BEGIN { exit !(a > b) }'; then longest=$seconds; fi
  done
}

required() {
  local steps
  count=0 longest=0
  for steps in 5 10 12; do
    for form in named unnamed; do
      require $steps $form none
      require $steps $form annotated
    done
    require $steps functions none
    require $steps named-functions none
    # Operators and several statements: what the compiler can do at all; see `beyond`.
    require $steps operators none "none member try"
    require $steps statements none "none try capture"
    require $steps operators annotated
    require $steps statements annotated
  done
  for steps in 5 10; do require $steps mixed none; done
  for form in named unnamed operators statements undo; do require 20 $form annotated; done
  require 20 functions none
  require 20 named-functions none
  echo "$count chains, the longest took $longest s"
}

is_exact() { [ "$verdict" = exact ] && ! slow; }

# compare STEPS FORM TYPES MISTAKE: a line of the table; returns whether the stand-in is no better.
compare() {
  local mine was_exact=0
  measure Stepwise "$@"
  ! is_exact || was_exact=1
  mine="$seconds | $verdict"
  measure StandIn "$@"
  echo "| $1 | $2 | $3 | $4 | $mine | $seconds | $verdict |"
  [ $was_exact = 1 ] || ! is_exact
}

heading() {
  echo "| steps | form | types | mistake | s | first error | stand-in, s | first error |"
  echo "|---:|---|---|---|---:|---|---:|---|"
}

beyond() {
  local steps form mistake
  heading
  for steps in 14 16 20; do compare $steps named none member || failed=1; done
  for mistake in function unknown return; do compare 10 operators none $mistake || failed=1; done
  for mistake in member function return; do compare 10 statements none $mistake || failed=1; done
  [ $failed = 0 ] || echo "error: the stand-in is better"
}

# measureSteps LIBRARY STEPS MISTAKE: leaves the least `seconds` of five, and a verdict.
measureSteps() {
  local least=
  awk -v library="$1" -v steps="$2" -v mistake="$3" -f "$here/steps.awk" > "$work/chain.swift"
  for _ in 1 2 3 4 5; do
    compile
    least=$(printf '%s\n' $least $seconds | sort -n | head -n 1)
  done
  seconds=$least
  judge "$3"
}

steps() {
  local count mistake mine mySeconds myVerdict
  echo "| steps | mistake | s | first error | plain Swift, s | first error |"
  echo "|---:|---|---:|---|---:|---|"
  for count in 5 10 20 40; do
    for mistake in none member variable type operator call label try await; do
      measureSteps Stepwise $count $mistake
      mySeconds=$seconds myVerdict=$verdict
      measureSteps Plain $count $mistake
      echo "| $count | $mistake | $mySeconds | $myVerdict | $seconds | $verdict |"
      [ "$verdict" != exact ] || [ "$myVerdict" = exact ] || failed=1
      [ $mistake != none ] || awk -v a=$mySeconds -v b=$seconds 'BEGIN { exit !(a > 1.3 * b) }' || continue
      [ $mistake != none ] || failed=1
    done
  done
  [ $failed = 0 ] || echo "error: plain Swift is better"
}

all() {
  local steps form types mistake mine theirs
  heading
  for steps in 5 10 12 20; do
    for form in named unnamed functions named-functions undo operators statements steps mixed; do
      for types in none input output annotated; do
        case $form:$types in functions:[^n]* | named-functions:[^n]*) continue ;; esac
        for mistake in $mistakes; do
          measure Stepwise $steps $form $types $mistake
          mine="$seconds | $verdict" theirs="| "
          case $form in steps | mixed) ;; *)
            measure StandIn $steps $form $types $mistake
            theirs="$seconds | $verdict" ;;
          esac
          echo "| $steps | $form | $types | $mistake | $mine | $theirs |"
        done
      done
    done
  done
}

case ${1:-} in
  required | beyond | steps | all) "$1" ;;
  *) echo "usage: measure.sh required|beyond|steps|all"; exit 2 ;;
esac
exit "$failed"
