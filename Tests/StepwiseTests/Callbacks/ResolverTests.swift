// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Every way to call a resolver, and that the first call wins.
@Suite(.timeLimit(.minutes(5)))
struct ResolverTests {
  private func value<Value: Sendable>(
    of _: Value.Type = Value.self,
    _ call: (Resolver<Value>) -> Bool
  ) async throws -> Value {
    try await withResolver { (resolver: Resolver<Value>) in #expect(call(resolver)) }
  }

  @Test func `resolve gives the value`() async throws {
    #expect(try await value { $0.resolve(7) } == 7)
  }

  @Test func `fail throws the error as it is`() async {
    await #expect(throws: Fault(7)) { try await value(of: Int.self) { $0.fail(Fault(7)) } }
  }

  @Test func `resolve(with:) gives the result`() async throws {
    #expect(try await value { $0.resolve(with: .success(7)) } == 7)
    await #expect(throws: Fault(7)) { try await value(of: Int.self) { $0.resolve(with: .failure(Fault(7))) } }
  }

  // G89
  @Test func `Given a value and an error, the error wins`() async throws {
    let (some, none): (Int?, Int?) = (7, nil)
    #expect(try await value { $0.resolve(some, nil) } == 7)
    await #expect(throws: Fault(1)) { try await value(of: Int.self) { $0.resolve(none, Fault(1)) } }
    await #expect(throws: Fault(2)) { try await value(of: Int.self) { $0.resolve(some, Fault(2)) } }
  }

  // G89
  @Test func `Neither a value nor an error is an error with its location`() async throws {
    let error = await #expect(throws: ResolverError.self) {
      try await withResolver(file: "Module/File.swift", line: 42) { (resolver: Resolver<Int>) in
        resolver.resolve(nil, nil)
      }
    }
    #expect(error == .noValueAndNoError)
    #expect(error != .abandoned)
    #expect(error?.file == "Module/File.swift")
    #expect(error?.line == 42)
    #expect(error?.description.contains("Module/File.swift:42") == true)
  }

  @Test func `A closure returns its value or its error`() async throws {
    #expect(try await value { resolver in resolver.resolve { 7 } } == 7)
    await #expect(throws: Fault(7)) {
      try await value(of: Int.self) { resolver in resolver.resolve { throw Fault(7) } }
    }
  }

  @Test func `An optional value may be nil`() async throws {
    let none = try await value(of: Int?.self) { $0.resolve(nil) }
    #expect(none == nil)
    let inner = try await value(of: Int?.self) { $0.resolve(.some(nil), nil) }
    #expect(inner == nil)
    let some = try await value(of: Int?.self) { $0.resolve(7) }
    #expect(some == 7)
  }

  @Test func `A resolver of Void is resolved without a value`() async throws {
    try await value(of: Void.self) { $0.resolve() }
    try await value(of: Void.self) { $0.resolve(nil) }
    try await value(of: Void.self) { resolver in resolver.resolve {} }
    try await value(of: Void.self) { $0.resolve(with: .success(())) }
    await #expect(throws: Fault(7)) { try await value(of: Void.self) { $0.resolve(Fault(7)) } }
    let error: (any Error)? = nil
    try await value(of: Void.self) { $0.resolve(error) }
  }

  // MARK: - Exactly once

  enum Call: CaseIterable {
    case resolve, fail, result, pair, closure

    func callAsFunction(_ resolver: Resolver<String>) -> Bool {
      switch self {
      case .resolve: resolver.resolve("value")
      case .fail: resolver.fail(Fault(1))
      case .result: resolver.resolve(with: .success("result"))
      case .pair: resolver.resolve("pair", nil)
      case .closure: resolver.resolve { "closure" }
      }
    }

    var outcome: String {
      switch self {
      case .resolve: "value"
      case .fail: "Fault(number: 1)"
      case .result: "result"
      case .pair: "pair"
      case .closure: "closure"
      }
    }
  }

  // G84
  /// Exactly once, the first wins. (The second is reported to `ResolverMisuse.handler`.)
  @Test(arguments: Call.allCases)
  func `The first call returns true and decides the outcome`(_ call: Call) async {
    let outcome: String
    do {
      outcome = try await withResolver { (resolver: Resolver<String>) in #expect(call(resolver)) }
    } catch {
      outcome = "\(error)"
    }
    #expect(outcome == call.outcome)
  }

  @Test func `The call may come before the body returns or long after`() async throws {
    let before = try await withResolver { (resolver: Resolver<Int>) in
      resolver.resolve(1)
      await Task.yield()
    }
    #expect(before == 1)
    let resolvers = Recorder<Resolver<Int>>()
    async let after = withResolver { (resolver: Resolver<Int>) in resolvers.record(resolver) }
    let resolver = await resolvers.elements(atLeast: 1)[0]
    #expect(await onForeignThread { resolver.resolve(2) })
    #expect(try await after == 2)
  }

  // MARK: - The body

  @Test func `An error of the body is thrown as it is`() async {
    await #expect(throws: Fault(7)) {
      try await withResolver { (_: Resolver<Int>) in throw Fault(7) }
    }
    let kept = Recorder<Resolver<Int>>()
    await #expect(throws: Fault(8)) {
      try await withResolver { (resolver: Resolver<Int>) in
        kept.record(resolver)
        await Task.yield()
        throw Fault(8)
      }
    }
  }

  @Test func `A call before the body throws wins`() async throws {
    let value = try await withResolver { (resolver: Resolver<Int>) in
      #expect(resolver.resolve(7))
      throw Fault(1)
    }
    #expect(value == 7)
  }

  @Test func `A body that threw leaves the first call as a late value`() async {
    let kept = Recorder<Resolver<Int>>()
    let late = Recorder<Int>()
    await #expect(throws: Fault(1)) {
      try await withResolver { (resolver: Resolver<Int>) in
        kept.record(resolver)
        resolver.onLateValue { late.record($0) }
        resolver.onCancel { _ in Issue.record("nothing was cancelled") }
        throw Fault(1)
      }
    }
    #expect(!kept.elements[0].resolve(7))
    #expect(late.elements == [7])
  }

  /// The handlers that the body registered may be the only owner of the resolver, so releasing them may release it.
  @Test func `The resolver may go with the handlers of a body that threw`() async {
    await #expect(throws: Fault(1)) {
      try await withResolver { (resolver: Resolver<Int>) in
        let request = Request { resolver.resolve($0) }
        resolver.onCancel { _ in request.cancel() }
        resolver.onLateValue { [request] _ in request.cancel() }
        throw Fault(1)
      }
    }
  }

  private final class Request: Sendable {
    private let completion: @Sendable (Int) -> Void

    init(_ completion: @escaping @Sendable (Int) -> Void) {
      self.completion = completion
    }

    func cancel() { completion(0) }
  }
}
