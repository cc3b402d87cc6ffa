// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CallbackFuzzerTests {
  @Test func `A resolver withstands all behaviours`() async throws {
    let seen = Recorder<CallbackFuzzer.Behaviour>()
    try await CallbackFuzzer.check(seeds: 0..<200) { api in
      seen.record(api.behaviour)
      return try await withResolver { (resolver: Resolver<Int>) in
        let request = api.start { value, error in resolver.resolve(value, error) }
        resolver.onCancel { _ in request.cancel() }
      }
    }
    #expect(Set(seen.elements) == Set(CallbackFuzzer.Behaviour.allCases))
  }

  @Test func `An adapter that hangs is found`() async throws {
    let failure = try #require(
      await #expect(throws: SimulationFailure.self) {
        try await CallbackFuzzer.check(seeds: 0..<200) { api in
          await withUnsafeContinuation { continuation in
            let isResumed = Recorder<Int>()
            api.start { value, _ in
              if isResumed.elements.isEmpty { continuation.resume(returning: value ?? 1) }
              isResumed.record(1)
            }
          }
        }
      }
    )
    #expect(!failure.description.isEmpty)
  }

  @Test func `An adapter that returns the last result is found`() async throws {
    let failure = try #require(
      await #expect(throws: SimulationFailure.self) {
        try await CallbackFuzzer.check(seeds: 0..<200) { api in
          let answers = AsyncThrowingStream<Int, any Error>.makeStream()
          api.start { value, error in
            if let value { answers.continuation.yield(value) }
            if value == 2 || api.behaviour != .twice { answers.continuation.finish(throwing: error) }
          }
          var last: Int?
          for try await answer in answers.stream { last = answer }
          guard let last else { throw CancellationError() }
          return last
        }
      }
    )
    #expect(failure.description.contains("twice"))
  }

  /// An object that cancels the request when it is released.
  private final class Canceller: Sendable {
    let request = Recorder<CallbackFuzzer.Request>()
    deinit { for request in request.elements { request.cancel() } }
  }

  @Test
  func `Releasing a replaced callback may cancel the first request`() async {
    await #expect(processExitsWith: .success) {
      try await CallbackFuzzer.check(seeds: 0..<50) { api in
        try await withResolver { (resolver: Resolver<Int>) in
          do {
            let canceller = Canceller()
            let request = api.start { value, error in
              withExtendedLifetime(canceller) { _ = resolver.resolve(value, error) }
            }
            canceller.request.record(request)
          }
          let second = api.start { value, error in resolver.resolve(value, error) }
          resolver.onCancel { _ in second.cancel() }
        }
      }
    }
  }
}
