// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// A stage of an old progression as one of a new one, whose work is done by a performer.
@available(*, deprecated)
struct Stage<Base: Progression>: Stepwise.Progression {
  typealias Result = Sent<Base.Result>

  private let content: Sent<Base>
  private let performer: Performer

  init(_ base: Base, performer: Performer) {
    content = Sent(base)
    self.performer = performer
  }

  var base: Base { content.value }

  var result: Sent<Base.Result>? { base.result.map(Sent.init) }

  func next() async throws -> Stage {
    let advanced = try await perform { stage, resolver in
      if let deferred = try stage.updateOrDeferNext() {
        deferred.perform { useNext in resolver.resolve { Sent(try useNext()) } }
      } else {
        resolver.resolve(Sent(stage))
      }
    }
    return Stage(advanced.value, performer: performer)
  }

  /// Calls a closure with the stage where the performer says, and waits for what it resolves.
  func perform<Output>(
    _ body: @escaping @Sendable (inout Base, Resolver<Sent<Output>>) throws -> Void
  ) async throws -> Sent<Output> {
    try await withResolver { (resolver: Resolver<Sent<Output>>) in
      performer {
        var stage = base
        do { try body(&stage, resolver) } catch { resolver.fail(error) }
      }
    }
  }
}

// So that a stage that returns itself for ever is found out.
@available(*, deprecated)
extension Stage: Equatable where Base: Equatable {
  static func == (left: Stage, right: Stage) -> Bool { left.base == right.base }
}

@available(*, deprecated)
extension Stage: CustomStringConvertible {
  var description: String { String(describing: base) }
}

@available(*, deprecated)
extension Stage {
  /// Goes on to the last stage.
  ///
  /// - Parameter progress: Is told each stage where the performer says; false stops before the stage's work.
  /// - Returns: The result of the last stage.
  /// - Throws: What a stage throws; that the progression stands still; `ProgressionError.cancelled`.
  func run(progress: Sent<(Base) -> Bool>?) async throws -> Sent<Base.Result> {
    for try await stage in stages(stuckAfter: Self.stuckAfter) {
      var isToGoOn = true
      if let progress {
        isToGoOn = try await stage.perform { base, resolver in resolver.resolve(Sent(progress.value(base))) }.value
      }
      if let result = stage.result { return result }
      if !isToGoOn { throw ProgressionError.cancelled }
    }
    throw CancellationError()
  }

  /// How often a stage may return itself: an old one that never ends cannot be told from one that waits, but by this.
  private static var stuckAfter: Int { 10_000 }
}
