// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacyGrain

/// What a stage has yet to do: a subroutine, or a future that calls back.
@available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
public struct Task<Result> {
  let deferred: Deferred<Result>

  private init(_ deferred: Deferred<Result>) {
    self.deferred = deferred
  }

  /// A subroutine, which returns the result or throws.
  @available(*, deprecated, message: "Return the next stage from next() async throws")
  public static func unit(_ subroutine: @escaping () throws -> Result) -> Task {
    Task(.unit(subroutine))
  }

  /// Something that calls back.
  ///
  /// - Parameter request: Begins it; it is given what takes a closure that returns the result or throws.
  /// - Returns: What has yet to be done.
  @available(*, deprecated, message: "Use withResolver { resolver in … }, and resolver.resolve { … }")
  public static func future(
    _ request: @escaping (_ resolve: @escaping @Sendable (@escaping () throws -> Result) -> Void) -> Void
  ) -> Task {
    Task(.future(request))
  }

  /// Does it, and calls a handler with a closure that returns the result or throws.
  ///
  /// A subroutine is called here and now, on this thread.
  @available(*, deprecated, message: "Use `try await`")
  @preconcurrency
  public func perform(_ handleResult: sending @escaping (@escaping () throws -> Result) -> Void) {
    deferred.perform(handleResult)
  }
}

@available(*, unavailable)
extension Task: Sendable {}
