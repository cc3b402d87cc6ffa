// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Second calls.
///
/// Each test is a process of its own, as the handler is one for all.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ResolverMisuseTests {
  // G85
  /// Duplicates are reported and not fatal.
  @Test
  func `A second call returns false and is reported with location and count`() async {
    await #expect(processExitsWith: .success) {
      let misuses = Recorder<ResolverMisuse>()
      ResolverMisuse.handler = { misuses.record($0) }
      let value = try await withResolver(file: "Module/File.swift", line: 42) { (resolver: Resolver<Int>) in
        #expect(resolver.resolve(1))
        #expect(misuses.elements.isEmpty)
        #expect(!resolver.resolve(2))
        #expect(!resolver.fail(Fault(3)))
        #expect(!resolver.resolve(nil, nil))
        #expect(!resolver.resolve { 4 })
        #expect(!resolver.resolve(with: .success(5)))
      }
      #expect(value == 1)
      #expect(misuses.elements.map(\.count) == [2, 3, 4, 5, 6])
      #expect(misuses.elements.allSatisfy { $0.file == "Module/File.swift" && $0.line == 42 })
      #expect(misuses.elements.first?.description.contains("Module/File.swift:42") == true)
      #expect(misuses.elements.first?.description.contains("2 times") == true)
    }
  }

  @Test func `The reported location is the caller's`() async {
    await #expect(processExitsWith: .success) { try await Self.misuseOnKnownLines() }
  }

  /// Outside the macro, whose expansion has lines of its own.
  private static func misuseOnKnownLines() async throws {
    let misuses = Recorder<ResolverMisuse>()
    ResolverMisuse.handler = { misuses.record($0) }
    let line: UInt = #line + 1
    _ = try await withResolver { (resolver: Resolver<Int>) in
      resolver.resolve(1)
      resolver.resolve(2)
    }
    let stepLine: UInt = #line + 1
    let step = Step.callback { (number: Int, resolver: Resolver<Int>) in
      resolver.resolve(number)
      resolver.resolve(number)
    }
    _ = try await Chain(step).run(1)
    #expect(misuses.elements.map(\.line) == [line, stepLine])
    #expect(misuses.elements.allSatisfy { $0.file == #fileID })
  }

  /// A resolver used after its run has no effect and is reported.
  @Test func `A resolver used after its run changes nothing`() async {
    await #expect(processExitsWith: .success) {
      let misuses = Recorder<Int>()
      ResolverMisuse.handler = { misuses.record($0.count) }
      let kept = Recorder<Resolver<Int>>()
      let run = Chain(
        Step.callback { (number: Int, resolver: Resolver<Int>) in
          kept.record(resolver)
          resolver.resolve(number)
        }
      ).start(7)
      let value = try await run.value
      #expect(value == 7)
      let resolver = kept.elements[0]
      #expect(!resolver.resolve(8))
      resolver.report(0.5)
      resolver.onCancel { _ in Issue.record("nothing was cancelled") }
      resolver.onLateValue { _ in Issue.record("nothing is late") }
      #expect(!resolver.fail(Fault(9)))
      let again = try await run.value
      #expect(again == 7)
      #expect(misuses.elements == [2, 3])
    }
  }

  // G85
  @Test func `Only the second call after a cancel is misuse`() async {
    await #expect(processExitsWith: .success) {
      let misuses = Recorder<Int>()
      ResolverMisuse.handler = { misuses.record($0.count) }
      let kept = Recorder<Resolver<Int>>()
      let late = Recorder<Int>()
      let task = Task {
        try await withResolver { (resolver: Resolver<Int>) in
          resolver.onLateValue { late.record($0) }
          kept.record(resolver)
        }
      }
      let resolver = await kept.elements(atLeast: 1)[0]
      task.cancel()
      let result = await task.result
      #expect(throws: CancellationError.self) { try result.get() }
      #expect(!resolver.resolve(1))
      #expect(misuses.elements.isEmpty)
      #expect(!resolver.resolve(2))
      #expect(misuses.elements == [2])
      #expect(late.elements == [1])
    }
  }

  @Test func `A body that throws does not count as a call`() async {
    await #expect(processExitsWith: .success) {
      let misuses = Recorder<Int>()
      ResolverMisuse.handler = { misuses.record($0.count) }
      let kept = Recorder<Resolver<Int>>()
      let value = try await withResolver { (resolver: Resolver<Int>) in
        resolver.resolve(1)
        throw Fault(1)
      }
      #expect(value == 1)
      await #expect(throws: Fault(2)) {
        try await withResolver { (resolver: Resolver<Int>) in
          kept.record(resolver)
          throw Fault(2)
        }
      }
      #expect(!kept.elements[0].resolve(1))
      #expect(misuses.elements.isEmpty)
      #expect(!kept.elements[0].resolve(2))
      #expect(misuses.elements == [2])
    }
  }

  /// The handler may itself use the resolver.
  @Test func `The diagnostic handler runs outside the lock`() async {
    await #expect(processExitsWith: .success) {
      let kept = Recorder<Resolver<Int>>()
      let counts = Recorder<Int>()
      ResolverMisuse.handler = { misuse in
        counts.record(misuse.count)
        if misuse.count < 4 { kept.elements[0].resolve(0) }
      }
      _ = try await withResolver { (resolver: Resolver<Int>) in
        kept.record(resolver)
        resolver.resolve(1)
        resolver.resolve(2)
      }
      #expect(counts.elements == [2, 3, 4])
    }
  }

  @Test func `Debug builds print misuse to standard error`() async throws {
    let result = try await #require(
      processExitsWith: .success,
      observing: [\.standardErrorContent]
    ) {
      _ = try await withResolver(file: "Module/File.swift", line: 42) { (resolver: Resolver<Int>) in
        resolver.resolve(1)
        resolver.resolve(2)
      }
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #if DEBUG
      #expect(text.contains("Stepwise: resolver created at Module/File.swift:42 was called 2 times"))
    #else
      #expect(!text.contains("Module/File.swift"))
    #endif
  }

  /// A user's object may die with the handler that is replaced, and may use a resolver then.
  @Test func `A handler that is replaced is released outside the lock`() async {
    await #expect(processExitsWith: .success) {
      let counts = Recorder<Int>()
      do {
        let object = AtEnd {
          counts.record(0)
          _ = try? Self.misuse()
        }
        ResolverMisuse.handler = { _ in withExtendedLifetime(object) {} }
      }
      ResolverMisuse.handler = { counts.record($0.count) }
      #expect(counts.elements == [0, 2])
    }
  }

  private static func misuse() throws {
    try onThisThread {
      _ = try await withResolver { (resolver: Resolver<Int>) in
        resolver.resolve(1)
        resolver.resolve(2)
      }
    }
  }
}
