#!/usr/bin/env bash
# Shows that each check can fail: it has to pass on a small clean tree, to fail on one where something is planted, and
# to name the planted file. `controls.sh` runs all controls, `controls.sh sleeps` those of `check-sleeps.sh`.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/controls.XXXXXX")
trap 'rm -rf "$work"' EXIT
header='// SPDX-License-Identifier: MIT\n// Copyright (c) 2026 Stepwise contributors\n'
proof='// Safety: planted by a control.'
empty='  dependencies: []'

# write FILE TEXT: a file with this text, in which \n is a new line, and one at the end.
# shellcheck disable=SC2059
write() { mkdir -p "$(dirname "$work/tree/$1")" && printf "$2\\n" > "$work/tree/$1"; }

# tree: a fresh tree which every check accepts.
tree() {
  rm -rf "$work/tree" && mkdir "$work/tree" && git -C "$work/tree" init -q
  write Package.swift "// swift-tools-version: 6.2\n$header\nlet package = Package(\n  name: \"x\",\n$empty\n)"
  write Sources/Stepwise/Clean.swift "$header\nimport Synchronization"
  write Tests/StepwiseTests/CleanTests.swift "$header\nimport Testing\n\nstruct CleanTests {}"
  write README.md "# Clean"
}

# check passes|fails FILE: what the check has to say about the tree and, if it fails, about which file.
check() {
  local status=0 end=fails
  "$scripts/check-$name.sh" "$work/tree" > "$work/output" 2>&1 || status=$?
  if [ "$status" = 0 ]; then end=passes; fi
  if [ "$end" != "$1" ] || [ "$status" -gt 1 ] || { [ "$1" = fails ] && ! grep -qF "$2" "$work/output"; }; then
    echo "error: check-$name.sh ends with $status; it has to be one that $1, because of $2:"
    cat "$work/tree/$2" "$work/output"
    exit 1
  fi
}
passes() { tree; write "$1" "$2"; check passes "$1"; }
fails() { tree; write "$1" "$2"; check fails "$1"; }

# forbids FILE LINE: the line is refused, unless it carries a proof or comment directly above it does.
forbids() {
  fails "$1" "$header\n$2"
  fails "$1" "$header\n$proof\n\n$2"
  fails "$1" "$header\n$2 $proof\n$2"
  passes "$1" "$header\n$2 $proof"
  passes "$1" "$header\n  $proof\n  // It goes on.\n  $2"
}

control() {
  local source=Sources/Stepwise/Planted.swift test=Tests/StepwiseTests/PlantedTests.swift line
  tree; check passes Package.swift
  case $name in
    dependencies)
      fails Package.swift "$empty,\n  x: [.package(path: \"..\")]"
      fails Package.swift "$empty\npackage.dependencies = x"
      fails Package.swift "  // $empty"
      fails Package.swift "    $empty,"
      passes Package.swift "// no .package(path: x)\n$empty"
      fails Package.swift "  targets: [.target(name: \"x\", dependencies: [])]" ;;
    file-length)
      passes $source "$(awk 'BEGIN { while (n++ < 299) printf "\\n" }')"
      fails $source "$(awk 'BEGIN { while (n++ < 300) printf "\\n" }')"
      passes $test "$(awk 'BEGIN { while (n++ < 399) printf "\\n" }')"
      fails $test "$(awk 'BEGIN { while (n++ < 400) printf "\\n" }')" ;;
    forbidden)
      for line in 'final class A: @unchecked Sendable {}' 'nonisolated(unsafe) var a = 0' 'let a = try! b()' \
        'fatalError("")' '  preconditionFailure()' 'let a = 1  // TODO: later' 'let a = 1  // FIXME' \
        'let a = "http://b"; print(a)' 'Swift.print(1)' 'import Foundation' 'import Dispatch' \
        'internal import FoundationEssentials' 'public import struct Foundation.URL'; do
        forbids $source "$line"
      done
      forbids Sources/Tour/Planted.swift 'let a = try! b()'
      forbids Sources/StepwiseTesting/Planted.swift 'print(1)'
      fails $source "$header\n/// TODO: later"
      fails $source "$header\n// Proof: another word.\nfatalError(\"\")"
      for line in '/// print(1)' 'let a = fingerprint(1)' '// fatalError()'; do
        passes $source "$header\n$line"
      done
      passes Sources/Tour/Planted.swift "$header\nimport Foundation\nprint(1)" ;;
    format)
      passes $source "$header\n/// Says what it is.\npublic let a = 1"
      fails $source "$header\npublic let a = 1"
      fails $source "$header\nlet a = b!"
      fails $source "$header\nlet  a = 1"
      fails $source "$header\n// $(printf 'a%.0s' {1..118})"
      passes $source "$header\n// $(printf 'a%.0s' {1..114}) “”"
      fails $test "$header\nimport Testing\nimport Stepwise" ;;
    guarantees)
      local page=Sources/Stepwise/Documentation.docc/Guarantees.md row='| G1 | It works. | `PlantedTests` |'
      tree; write $page "$row"; write $test "$header\n  // G1\n  /// Works.\n  @Test func works() {}"; check passes $page
      write $test "$header\n  @Test func works() {}"; check fails $page
      write $test "$header\n  // G1\n  func works() {}"; check fails $page
      write $test "$header\n  // G1, G2\n  @Test func works() {}"; check fails $page
      write Tests/StepwiseTests/OtherTests.swift "$header\n  // G1\n  @Test func works() {}"
      write $test "$header\n  // G1\n  @Test func works() {}"; check fails $page
      rm "$work/tree/Tests/StepwiseTests/OtherTests.swift"; check passes $page
      write $page "$row\n$row"; check fails $page
      write $page "| G1 | It works. | |"; check fails $page ;;
    layers)
      local early=Sources/Stepwise/Support/Planted.swift late=Sources/Stepwise/Chains/Late.swift letter
      tree; write $late "$header\nstruct Late: Early {}"; write $early "$header\nprotocol Early {}\nlet a = \"Late\"  // Late"
      check passes $early
      write $early "$header\nprotocol Early {}\nlet a: Late? = nil"; check fails $early
      write $early "$header\nprotocol Early {}\nextension A {\n  struct Late {}\n  var a: Late { Late() }\n}"; check passes $early
      fails Sources/Stepwise/Planted/Planted.swift "$header"
      tree
      for letter in AB BC CD DA; do
        write Sources/Stepwise/Jobs/${letter:0:1}.swift "$header\nstruct ${letter:0:1} {\n  let a: ${letter:1}\n}"
      done
      check passes Sources/Stepwise/Jobs/A.swift
      write Sources/Stepwise/Jobs/D.swift "$header\nstruct D {\n  let a: E\n}"
      write Sources/Stepwise/Jobs/E.swift "$header\nstruct E {\n  let a: A\n}"; check fails Sources/Stepwise/Jobs/A.swift ;;
    licence-header)
      fails $source "import Synchronization"
      fails $source "\n$header"
      fails $test "// SPDX-License-Identifier: MIT"
      fails Package.swift "// swift-tools-version: 6.2\n\n$header" ;;
    links)
      fails README.md "See [it](Sources/Stepwise/Missing.md)."
      fails .github/Planted.md "See [it](README.md#top)."
      passes README.md "See [a](Package.swift), [b](Package.swift#top), [c](#top) and [d](https://example.org/Missing.md)." ;;
    machine-paths)
      for line in work root home Users; do
        fails README.md "see \`/$line/a\`"
        fails .github/workflows/ci.yml "/$line/a"
        passes README.md "https://example.org/$line/a and b/$line/a"
      done ;;
    mutants)
      local patch=Tests/Mutants/01-planted.patch change
      change="--- a/$source\n+++ b/$source\n@@ -4,1 +4,1 @@\n-let a = 1\n+let a = isMutant(1) ? 2 : 1"
      tree; write $source "$header\nlet a = 1"; write $test "$header\n@Test func works() {}"
      write $patch "It works not.\nKilled by: StepwiseTests.PlantedTests/works\n\n$change"; check passes $patch
      write $patch "It works not.\nKilled by: StepwiseTests.PlantedTests/work\n\n$change"; check fails $patch
      write $patch "It works not.\nKilled by: StepwiseTests.OtherTests/works\n\n$change"; check fails $patch
      write $patch "It works not.\n\n$change"; check fails $patch
      write $patch "It works not.\nKilled by: StepwiseTests.PlantedTests/works\n\n${change//isMutant(1)/isMutant(2)}"
      check fails $patch
      write $patch "It works not.\nKilled by: StepwiseTests.PlantedTests/works\n\n$change"
      write $source "$header\nlet a = 2"; check fails $patch ;;
    program-lines)
      local program=Tests/ExampleTests/Programs/Planted
      tree; write $program+Stepwise.swift "$header\nlet a = 1"; write $program+Plain.swift "$header\nlet a = 1\nlet b = 2"
      check passes $program+Stepwise.swift
      write $program+Plain.swift "$header\n// A comment.\n\nlet a = 1"; check fails $program+Stepwise.swift
      fails $program+Stepwise.swift "$header\nlet a = 1"
      local table='| Program | Stepwise | Plain Swift |\n|---|---:|---:|\n| `Planted`: does a thing'
      tree; write $program+Stepwise.swift "$header\nlet a = 1"; write $program+Plain.swift "$header\nlet a = 1\nlet b = 2"
      write README.md "$table | 1 | 2 |"; check passes README.md
      write README.md "$table | 1 | 3 |"; check fails README.md ;;
    readme-tests)
      local table='| When | Then | Test |\n|---|---|---|\n| a | b |'
      passes README.md "$table \`CleanTests\` |\n| a | b | none: c |\n\n| d |"
      fails README.md "$table \`OtherTests\` |"
      fails README.md "$table \`CleanTests\`, \`OtherTests\` |"
      fails Sources/Stepwise/Documentation.docc/Guarantees.md "$table \`OtherTests\` |"
      tree; write README.md "$table \`CleanTests\` |"
      write Sources/Stepwise/Documentation.docc/Guarantees.md "${table/a | b/a | c} \`CleanTests\` |"; check fails README.md
      write Sources/Stepwise/Documentation.docc/Guarantees.md "$table \`CleanTests\` |"; check passes README.md
      fails README.md "$table |" ;;
    sleeps)
      for line in 'try await Task.sleep(for: .seconds(1))' 'try await Task<Never, Never>.sleep(nanoseconds: 1)' \
        'Thread.sleep(forTimeInterval: 1)' 'usleep(1)' 'sleep(1)' '  _ = sleep(1)' \
        'try await ContinuousClock().sleep(for: .zero)'; do
        forbids $test "$line"
      done
      fails $test "$header\nlet clock = SuspendingClock()\ntry await clock.sleep(for: .zero)"
      passes $test "$header\nfunc sleep() {}\ntry await clock.sleep(for: .zero)\n// Task.sleep(1)"
      passes Tests/Benchmarks/Planted.swift "usleep(1)" ;;
    top-level)
      passes .planted "" && passes .planted/file "" && passes Migration.md ""
      fails planted "" && fails Documentation/planted.md "" && fails Package.swift.orig "" ;;
    words)
      for line in 'who''ever' 'Some''body' 'thatNo''bodyTakes' 'of who''m' 'an''ew' 'he''eds' 'the jo''ints' \
        'misuse re''port' 'let go'' of' 'aHandlerLet''Go' 'by'' itself' 'all the'' same' 'side by'' side' \
        'so many'' at a time' 'taken'' back'; do
        fails $source "$header\n/// $line"
        fails README.md "$line"
      done
      fails $source "$header\n  /// It runs side by\n  /// side with another."
      passes $source "$header\n/// Lets go on, sideways: the renewed newest manewvre."
      passes Migration.md "It retakes the backup." ;;
    *) echo "error: check-$name.sh has no control"; exit 1 ;;
  esac
  echo "check-$name.sh can fail"
}

if [ $# = 0 ]; then
  set -- "$scripts"/check-*.sh
fi
for name in "$@"; do
  name=${name##*check-}
  name=${name%.sh}
  control
done
