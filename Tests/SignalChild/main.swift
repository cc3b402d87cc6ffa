// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

// A command-line tool that the tests of `withTerminationSignals` signal, with the handler used from top-level code.

@Sendable func say(_ line: String) {
  print(line)
  fflush(nil)
}

func work(isStubborn: Bool) -> Chain<Void, Int> {
  Chain("reserve", undo: { (_: Int) in say("undone") }) { 1 }
    .then("wait") { seat in
      say("begun")
      try await Task.sleep(for: .seconds(3_600))
      return seat
    }
    .finally { state in
      if isStubborn {
        say("stubborn")
        await Once<Void>().valueIgnoringCancellation()
      }
      // Time enough for the tool to end without it.
      for _ in 0..<10_000 { await Task.yield() }
      say("\(state)")
    }
}

let form = CommandLine.arguments.dropFirst().first ?? "started"
let chain = work(isStubborn: form == "stubborn")
do {
  try await withTerminationSignals {
    if form == "plain" {
      _ = try await chain.run()
    } else {
      _ = try await chain.start().value
    }
  }
} catch is CancellationError {
  say("returned")
}
