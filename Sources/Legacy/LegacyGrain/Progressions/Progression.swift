// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

/// Work in stages, each of which produces the next one until there is a result.
///
/// Write one of `next()` and `updateOrDeferNext()`; each of them is made of the other.
@available(*, deprecated, message: "Use Progression of Stepwise, whose next() is async throws")
public protocol Progression: SendableMetatype {
  /// What the last stage holds.
  associatedtype Result

  /// What gives the stage after this one.
  func next() -> Deferred<Self>

  /// Goes on to the stage after this one in place, and returns nil, or returns what gives it.
  ///
  /// - Returns: What gives the stage after this one; nil when this already is that stage.
  /// - Throws: What keeps this stage from being left.
  mutating func updateOrDeferNext() throws -> Deferred<Self>?

  /// The result, which is what makes a stage the last one; nil before.
  var result: Result? { get }
}

@available(*, deprecated)
extension Progression {
  /// What gives the stage after this one, made of `updateOrDeferNext()`, which is called when it is performed.
  ///
  /// It fails with ``ProgressionError/notImplemented(type:)`` when that is made of this one.
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

  /// What gives the stage after this one, made of `next()`.
  ///
  /// - Returns: What gives the stage after this one.
  /// - Throws: ``ProgressionError/notImplemented(type:)`` when `next()` is made of this one.
  @available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
  public mutating func updateOrDeferNext() throws -> Deferred<Self>? {
    guard Asking.type != ObjectIdentifier(Self.self) else {
      throw ProgressionError.notImplemented(type: String(describing: Self.self))
    }
    return next()
  }
}

/// Which type's own `next()` is asking for `updateOrDeferNext()` right now.
private enum Asking {
  @TaskLocal static var type: ObjectIdentifier?
}
