#!/usr/bin/env bash
# Shows that a build with the options given as arguments fails on a warning, on a public type that does not say whether
# it is Sendable, on an import that the manifest does not declare, and with the limit of the tests of old code on an
# expression that is slow to check; and that ThreadSanitizer sees a race.
set -euo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/control.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/Sources/Base" "$work/Sources/Planted"
cat > "$work/Package.swift" << 'END'
// swift-tools-version: 6.2
import PackageDescription
let package = Package(name: "control", targets: [.target(name: "Base"), .target(name: "Planted")])
END
echo 'public func base() {}' > "$work/Sources/Base/Base.swift"

# build passes|fails WORD SOURCE: how a build of this source has to end, and a word of its output.
build() {
  local end=passes
  echo "$3" > "$work/Sources/Planted/Planted.swift"
  swift build --package-path "$work" "${options[@]}" > "$work/output" 2>&1 || end=fails
  if [ "$end" != "$1" ] || ! grep -q "$2" "$work/output"; then
    echo "error: a build that $end, and not one that $1 with '$2', of: $3"
    cat "$work/output"
    exit 1
  fi
}

options=("$@")
build passes 'complete' 'public struct A: Sendable {}'
build fails 'never used' 'func a() { let b = 1 }'
build fails 'Sendable' 'public struct A {}'
build fails 'without declaring' 'import Base'
# A shorter limit than that of the tests of old code, so that an ordinary expression is slow.
options+=(-Xswiftc -Xfrontend -Xswiftc -warn-long-expression-type-checking=1)
# shellcheck disable=SC2016
build fails 'expression took' 'func a(b: [Int]) -> String { b.map { "\($0 + 1)" + "c" }.joined() + b.map { "\(-$0)" }.joined() }'
echo "the build options can fail"

cat > "$work/race.swift" << 'END'
import Foundation
final class Box: @unchecked Sendable { var count = 0 }
let box = Box()
let ends = DispatchSemaphore(value: 0)
for _ in 0..<2 {
  Thread.detachNewThread {
    for _ in 0..<1_000 { box.count += 1 }
    ends.signal()
  }
}
ends.wait()
ends.wait()
END
swiftc -sanitize=thread "$work/race.swift" -o "$work/race"
if "$work/race" > "$work/output" 2>&1 || ! grep -q 'WARNING: ThreadSanitizer' "$work/output"; then
  echo "error: ThreadSanitizer does not see a race"
  cat "$work/output"
  exit 1
fi
echo "ThreadSanitizer can fail"
