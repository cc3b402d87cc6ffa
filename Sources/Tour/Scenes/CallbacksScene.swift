// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Stepwise

extension Scene {
  /// Three callbacks that misbehave, each behind a resolver for which only the first call counts.
  static let callbacks = Scene("callbacks", "callbacks that come twice, never, or late, and do no harm") { _ in
    Console.writeLine("Three callbacks that misbehave, each bridged by")
    Console.writeLine("  Step.callback { input, resolver in legacyCall(input) { value in resolver.resolve(value) } }")
    try await callTwice()
    try await callNever()
    try await callTooLate()
    return .success
  }

  private static func callTwice() async throws {
    Console.writeLine("\nTwice: the first call counts, the second is reported.")
    ResolverMisuse.handler = { misuse in Console.writeLine("  ResolverMisuse: called \(misuse.count) times") }
    let measure = Chain(
      Step.callback("measure") { (_: Void, resolver: Resolver<Int>) in
        for value in [20, 99] {
          Console.writeLine("  resolver.resolve(\(value)) counts: \(resolver.resolve(value))")
        }
      }
    )
    Console.writeLine("  value: \(try await measure.run())")
  }

  private static func callNever() async throws {
    Console.writeLine("\nNever: releasing the resolver is an error instead of an endless wait.")
    let measure = Chain(Step.callback("measure") { (_: Void, _: Resolver<Int>) in })
    do {
      _ = try await measure.run()
    } catch ResolverError.abandoned {
      Console.writeLine("  error: ResolverError.abandoned")
    }

    Console.writeLine("Never, and the resolver is retained: .timeout(.milliseconds(200)) ends the wait.")
    let sensor = Sensor()
    let patient = Chain(Step.callback("measure") { (_: Void, resolver: Resolver<Int>) in sensor.ask(resolver) })
      .timeout(.milliseconds(200))
    do {
      _ = try await patient.run()
    } catch let error as TimeoutError {
      Console.writeLine("  error: \(error)")
    }
  }

  private static func callTooLate() async throws {
    Console.writeLine("\nAfter cancel: the run has completed, and `onLateValue` receives the value.")
    let sensor = Sensor()
    let measure = Chain(
      Step.callback("measure") { (_: Void, resolver: Resolver<Int>) in
        resolver.onCancel { reason in Console.writeLine("  onCancel: \(reason ?? "-")") }
        resolver.onLateValue { value in Console.writeLine("  onLateValue: \(value)") }
        sensor.ask(resolver)
        resolver.report(0.5)
      }
    )
    .finally { _ in Console.writeLine("  finally") }

    let run = measure.start()
    for await progress in run.progress where progress.fractionCompleted > 0 { break }
    run.cancel(reason: "the screen was closed")
    _ = await run.outcome
    Console.writeLine("  resolver.resolve(20) counts: \(sensor.answer(20))")
  }
}

/// Third-party code: it retains its callback and calls it at any time.
private final class Sensor: Sendable {
  private let pending = Lock<Resolver<Int>?>(nil)

  func ask(_ resolver: Resolver<Int>) {
    _ = pending.withLock { pending in exchange(&pending, with: resolver) }
  }

  func answer(_ value: Int) -> Bool {
    let resolver = pending.withLock { pending in pending }
    return resolver?.resolve(value) ?? false
  }
}
