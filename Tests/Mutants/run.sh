#!/usr/bin/env bash
# Shows that the tests notice a broken guarantee: each entry of `mutants.txt` breaks one, and names the test that has to fail.
#
#   Tests/Mutants/run.sh all            every mutant
#   Tests/Mutants/run.sh 3 12           these
#   Tests/Mutants/run.sh random 3 [42]  three that a seed chooses; without it, a new one, which is printed
#   Tests/Mutants/run.sh find           none
#
# It says first which mutants no longer find their text, and tries the chosen ones in a copy of the sources, all in one build:
# `isMutant(3)` is true while the link `mutant` beside it says 3, in child processes, too. Without a mutant each of the tests
# has to pass, so that what fails, fails because of the mutant.
set -euo pipefail
cd "$(dirname "$0")/../.."
list=Tests/Mutants/mutants.txt
scratch=$PWD/.build/mutants
package=$scratch/package
all=$(sed -nE 's/^([0-9]+) .*/\1/p' "$list")
failed=0

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
  find) numbers="" ;;
  random)
    seed=${3:-$RANDOM}
    echo "mutants chosen by seed $seed"
    numbers=$(choose "${2:-3}" "$seed") ;;
  [0-9]*) numbers=$* ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

# field NUMBER WORD: what an entry has after this word, on each such line.
field() {
  awk -v number="$1" -v word="$2" '
    /^[0-9]/ { inside = $1 == number }
    inside && $1 == word { print substr($0, length(word) + 2) }
  ' "$list"
}

# change FOLDER NUMBER [dry]: makes the changes of a mutant to the sources in the folder, and prints their files. Fails when the
# functions of that name do not have the text exactly once.
change() {
  local symbol old new file found count
  paste -d '\n' <(field "$2" in) <(field "$2" -) <(field "$2" +) |
    while IFS= read -r symbol && IFS= read -r old && IFS= read -r new; do
      found="" count=0
      while IFS= read -r file; do
        # A function ends with the brace that is as far to the left as its first line.
        symbol=$symbol old=$old new=${new//isMutant/isMutant($2)} awk '
          BEGIN {
            old = ENVIRON["old"]
            first = (ENVIRON["symbol"] == "init" ? "^ *([a-z@]+ )*" : "(func|var|let) ") ENVIRON["symbol"] "[^A-Za-z0-9_]"
          }
          { match($0, /^ */); indent = RLENGTH }
          !begun && $0 ~ first { begun = NR; depth = indent }
          begun && (at = index($0, old)) {
            count++
            $0 = substr($0, 1, at - 1) ENVIRON["new"] substr($0, at + length(old))
          }
          begun && indent == depth && (/^ *}/ || (NR == begun && /}$/)) { begun = 0 }
          { print }
          END { print count + 0 > "/dev/stderr" }
        ' "$file" > "$scratch/changed" 2> "$scratch/count"
        [ "$(cat "$scratch/count")" != 0 ] || continue
        count=$((count + $(cat "$scratch/count")))
        found=$file
        mv "$scratch/changed" "$scratch/found"
      done < <(grep -rlF --include='*.swift' -- "$old" "$1" || true)
      if [ "$count" != 1 ]; then
        echo "error: mutant $2 finds this $count times in \`$symbol\`: $old" >&2
        return 1
      fi
      [ -n "${3:-}" ] || cp "$scratch/found" "$found"
      echo "$found"
    done
}

# The targets that these need, and they themselves, by the manifest.
targets() {
  tr '\n' ' ' < Package.swift | awk -v wanted="$*" '
    {
      count = split($0, parts, /[a-zA-Z]*arget\( *name: *"/)
      for (i = 2; i <= count; i++) {
        if (!match(parts[i], /dependencies: *\[[^]]*/)) continue
        uses[substr(parts[i], 1, index(parts[i], "\"") - 1)] = substr(parts[i], RSTART, RLENGTH)
      }
      amount = split(wanted, queue, " ")
      for (i = 1; i <= amount; i++) {
        if (queue[i] in seen) continue
        seen[queue[i]] = 1
        all = all (all == "" ? "" : ",") queue[i]
        count = split(uses[queue[i]], words, "\"")
        for (j = 2; j <= count; j += 2) queue[++amount] = words[j]
      }
      print all
    }
  '
}

# The targets that the tests need, and of the test targets what is no test, and the suites that are named.
copy() {
  local number test file name module modules="TestDefaults" suites=" "
  for number in $numbers; do
    test=$(field "$number" test)
    suites="$suites${test%/*} $(field "$number" needs) "
    file=$(find Tests -name "${test%/*}.swift" | head -n 1)
    [ -n "$file" ] || { echo "error: mutant $number names no suite: $test"; exit 1; }
    module=${file#Tests/}
    modules="$modules ${module%%/*}"
  done
  # shellcheck disable=SC2086 # Several names.
  STEPWISE_TARGETS=$(targets $modules)
  export STEPWISE_TARGETS
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
  # With all mutants, so that one that no longer compiles is noticed even when others are tried.
  for number in $found; do change "$package/Sources" "$number"; done > "$scratch/files"
  sed "s|^\($package/Sources/[^/]*\)/.*|\1|" "$scratch/files" | sort -u | while IFS= read -r module; do
    cat > "$module/Mutant.swift" << END
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
  local status=0 name
  # The name of a test is a sentence, which may have operators of a regular expression.
  name=$(sed 's/[][().*+?|^$\\]/\\&/g' <<< "${2#*/}")
  ln -sfn "$1" "$scratch/mutant"
  run_test "[.]${2%/*}/\`$name\`\\(" > "$scratch/output" 2>&1 < /dev/null || status=$?
  if [ "$status" = 0 ]; then
    grep -q 'Test run with [1-9]' "$scratch/output" || { echo "error: there is no test $2" >&2; exit 1; }
    echo survived
  elif [ "$status" = 124 ]; then
    echo "killed, as it does not end"
  else
    echo killed
  fi
}

mkdir -p "$scratch"
found="" kept=""
for number in $all; do
  if ! change Sources "$number" dry > /dev/null; then
    failed=1
  else
    found="$found$number "
    case " ${numbers//$'\n'/ } " in *" $number "*) kept="$kept$number " ;; esac
  fi
done
numbers=$kept
if [ -n "$numbers" ]; then
  copy
  swift build --build-tests -debug-info-format none --package-path "$package" --scratch-path "$scratch/build" \
    > "$scratch/output" 2>&1 || { grep -E '^[^ ]*error:' "$scratch/output" | sort -u || cat "$scratch/output"; exit 1; }
fi
for number in $numbers; do
  test=$(field "$number" test)
  verdict=$(judge 0 "$test")
  if [ "$verdict" != survived ]; then
    cat "$scratch/output"
    echo "error: $test fails without a mutant"
    exit 1
  fi
  verdict=$(judge "$number" "$test")
  echo "$number: $verdict by $test: $(field "$number" "$number")"
  if [ "$verdict" = survived ]; then failed=1; fi
done
[ "$failed" = 0 ] || { echo "error: a mutant survived, or no longer finds its text"; exit 1; }
