#!/usr/bin/env bash
# Tests wait for events, never for time: no sleep in Tests (benchmarks aside), unless a `// Safety:` comment on or
# directly above the line says why no time passes. A manual clock may sleep; in a file that names a real one, none may.
. "$(dirname "$0")/common.sh"

# The last part is a plain `sleep(`, neither a member nor `func sleep(`.
sleeps='(Task(<.*>)?|Thread)[.]sleep|(usleep|nanosleep)[(]|(^ *|[^A-Za-z0-9_. ]|[^c ] +)sleep[(]'
real='(Continuous|Suspending)Clock|[.](continuous|suspending)([^A-Za-z0-9_]|$)'

tests() { files Tests | only '*.swift' 'Tests/Benchmarks/*'; }
sleeping() { tests | unproven "$sleeps"; }
sleeping_on_a_real_clock() {
  tests | { xargs -0 grep -lE "$real" /dev/null || true; } | tr '\n' '\0' | unproven '[.]sleep[(]'
}

complain "a test that sleeps" sleeping
complain "a test that sleeps on a real clock" sleeping_on_a_real_clock
finish
