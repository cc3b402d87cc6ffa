// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

/// Work in stages, each of which produces the next one until there is a result.
///
/// Write one of `next()` and `updateOrDeferNext()`; each of them is made of the other.
@available(*, deprecated, message: "Use Progression of Stepwise, whose next() is async throws")
public protocol Progression: SendableMetatype {
  /// The type of the result that the last stage holds.
  associatedtype Result

  /// Returns work that produces the next stage.
  func next() -> Deferred<Self>

  /// Advances to the next stage in place and returns nil, or returns work that produces it.
  ///
  /// - Returns: Work that produces the next stage; nil when this already is that stage.
  /// - Throws: An error that ends the run at this stage.
  mutating func updateOrDeferNext() throws -> Deferred<Self>?

  /// The result, which marks a stage as the last one; nil for every other stage.
  var result: Result? { get }
}

@available(*, deprecated)
extension Progression {
  /// Returns work that produces the next stage by calling `updateOrDeferNext()` when it is performed.
  ///
  /// It fails with ``ProgressionError/notImplemented(type:)`` when that method has its default implementation.
  @available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
  public func next() -> Deferred<Self> {
    let stage = Sent(self)
    return .future { resolve in
      var stage = stage.value
      do {
        let deferred = try Asking.$type.withValue(ObjectIdentifier(Self.self)) { try stage.updateOrDeferNext() }
        if let deferred {
          deferred.pass { useNext in resolve(useNext) }
        } else {
          let advanced = Sent(stage)
          resolve { advanced.value }
        }
      } catch {
        resolve { throw error }
      }
    }
  }

  /// Returns work that produces the next stage by calling `next()`.
  ///
  /// - Returns: Work that produces the next stage.
  /// - Throws: ``ProgressionError/notImplemented(type:)`` when `next()` has its default implementation.
  @available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
  public mutating func updateOrDeferNext() throws -> Deferred<Self>? {
    guard Asking.type != ObjectIdentifier(Self.self) else {
      throw ProgressionError.notImplemented(type: String(describing: Self.self))
    }
    return next()
  }
}

/// The type whose own `next()` is calling `updateOrDeferNext()`.
private enum Asking {
  @TaskLocal static var type: ObjectIdentifier?
}
