#!/usr/bin/env bash
# Shows that the tests notice a broken guarantee: each patch in this folder breaks one, and its second line names the test
# that has to fail then.
#
#   Tests/Mutants/run.sh all            every mutant
#   Tests/Mutants/run.sh 3 12           these
#   Tests/Mutants/run.sh random 3 [42]  three that a seed chooses; without it, a new one, which is printed
#
# The patches are applied to a copy of the sources, all in one build: `isMutant(3)` is true while the link `mutant` beside it
# says 3, in child processes, too. Without a mutant each of the tests has to pass, so that what fails, fails because of the
# mutant.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$PWD/.build/mutants
package=$scratch/package

all=$(find Tests/Mutants -name '*.patch' | sed 's|.*/0*||; s|-.*||' | sort -n)

choose() { # choose COUNT SEED: so many of all numbers, the same ones for the same seed.
  local left count=$1
  read -r -a left <<< "${all//$'\n'/ }"
  RANDOM=$2
  while [ "$count" -gt 0 ] && [ ${#left[@]} -gt 0 ]; do
    local index=$((RANDOM % ${#left[@]}))
    echo "${left[$index]}"
    left=("${left[@]:0:$index}" "${left[@]:$((index + 1))}")
    count=$((count - 1))
  done
}

case ${1:-} in
  all) numbers=$all ;;
  random)
    seed=${3:-$RANDOM}
    echo "mutants chosen by seed $seed"
    numbers=$(choose "${2:-3}" "$seed") ;;
  [0-9]*) numbers=$* ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

patch_of() { # patch_of NUMBER
  local patch
  patch=$(printf 'Tests/Mutants/%02d-*.patch' "$1")
  # shellcheck disable=SC2086 # A pattern, which one file matches.
  set -- $patch
  [ -f "$1" ] || { echo "error: there is no $1" >&2; return 1; }
  echo "$1"
}
test_of() { sed -n 's/^Killed by: //p' "$(patch_of "$1")"; }

# The targets that the tests need, and of the test targets what is no test, and the suites that are named.
copy() {
  local number test suite module targets="Stepwise,StepwiseTracing,StepwiseFiles,StepwiseCheckpoints,StepwiseTesting,TestDefaults" suites=" "
  for number in $numbers; do
    test=$(test_of "$number")
    suite=${test%/*}
    suites="$suites${suite#*.} $(sed -n 's/^Needs: //p' "$(patch_of "$number")") "
    case ",$targets," in *",${test%%.*},"*) ;; *) targets="$targets,${test%%.*}" ;; esac
  done
  case $targets in *StepwiseCheckpointsTests*) targets="$targets,CheckpointCrashChild" ;; esac
  case $targets in *StepwiseHTTPTests*) targets="$targets,CurlShim,StepwiseHTTP,StepwiseHTTPTesting,Loopback" ;; esac
  export STEPWISE_TARGETS=$targets
  rm -rf "$package"
  mkdir -p "$package"
  git ls-files -z --cached --others --exclude-standard Package.swift Sources Tests | while IFS= read -r -d '' file; do
    [ -f "$file" ] || continue
    name=${file##*/}
    name=${name%.swift}
    case $file in
      Tests/*Tests.swift) case $suites in *" $name "*) ;; *) continue ;; esac ;;
    esac
    printf '%s\0' "$file"
  done | tar --null -T - -cf - | tar -xf - -C "$package"
  for number in $numbers; do
    # The copy is in the project's checkout, but not of it.
    GIT_CEILING_DIRECTORIES=$scratch git -C "$package" apply --unidiff-zero "$PWD/$(patch_of "$number")"
  done
  for module in Stepwise StepwiseCheckpoints StepwiseHTTP; do
    cat > "$package/Sources/$module/Mutant.swift" << END
#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

private let mutant: Int = {
  var number = [CChar](repeating: 0, count: 16)
  return readlink("$scratch/mutant", &number, number.count - 1) > 0 ? Int(atoi(number)) : 0
}()

func isMutant(_ number: Int) -> Bool { number == mutant }
END
  done
}

# Of a crash only its fact counts.
export SWIFT_BACKTRACE=enable=no

# The test runner as a process of its own can be ended after a time; where there is none, `swift test` runs the tests.
run_test() { # run_test NAME
  local runner=$scratch/build/debug/stepwisePackageTests.xctest
  if [ -f "$runner" ] && command -v timeout > /dev/null; then
    timeout 120 "$runner" --testing-library swift-testing --filter "$1"
  else
    swift test --skip-build --package-path "$package" --scratch-path "$scratch/build" --filter "$1"
  fi
}

# judge MUTANT TEST: says whether the test fails with the mutant; 0 is none.
judge() {
  local status=0
  ln -sfn "$1" "$scratch/mutant"
  run_test "^${2//./\\.}\\(" > "$scratch/output" 2>&1 < /dev/null || status=$?
  if [ "$status" = 0 ]; then
    grep -q 'Test run with [1-9]' "$scratch/output" || { echo "error: there is no test $2" >&2; exit 1; }
    echo survived
  elif [ "$status" = 124 ]; then
    echo "killed, as it does not end"
  else
    echo killed
  fi
}

copy
swift build --build-tests -debug-info-format none --package-path "$package" --scratch-path "$scratch/build" > "$scratch/output" 2>&1 ||
  { grep -E '^[^ ]*error:' "$scratch/output" | sort -u || cat "$scratch/output"; exit 1; }
failed=0
for number in $numbers; do
  patch=$(patch_of "$number")
  test=$(test_of "$number")
  verdict=$(judge 0 "$test")
  if [ "$verdict" != survived ]; then
    cat "$scratch/output"
    echo "error: $test fails without a mutant"
    exit 1
  fi
  verdict=$(judge "$number" "$test")
  echo "$(basename "$patch" .patch): $verdict by $test"
  case $verdict in survived) failed=1 ;; esac
done
[ "$failed" = 0 ] || { echo "error: a mutant survived: its test does not test what it says"; exit 1; }
