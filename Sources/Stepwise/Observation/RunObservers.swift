// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The observers of all runs of the process.
public enum RunObservers: Sendable {
  /// Whether an observer was ever installed for the process or a scope, so that other runs need not look for them.
  private static let used = Atomic(false)

  /// How many are installed for the process.
  private static let count = Atomic(0)

  private static let installed = Lock(OrderedSlots<any RunObserver>())

  static var isUsed: Bool { used.load(ordering: .acquiring) }

  /// Notes that an observer is about to be installed for the process or a scope.
  static func use() { used.store(true, ordering: .releasing) }

  /// Those installed now, in the order in which they were installed.
  static var all: [any RunObserver] {
    guard count.load(ordering: .acquiring) > 0 else { return [] }
    return installed.withLock { slots in
      var all: [any RunObserver] = []
      slots.forEach { _, observer in all.append(observer) }
      return all
    }
  }

  /// Notifies an observer of every run that starts from now on in this process.
  ///
  /// - Parameter observer: Receives the events of each run.
  /// - Returns: The registration, through which to remove the observer. Releasing it does not remove the observer.
  @discardableResult
  public static func install(_ observer: some RunObserver) -> Registration {
    use()
    let key = installed.withLock { $0.append(observer) }
    count.add(1, ordering: .releasing)
    return Registration(key: key)
  }

  /// The registration of an observer of the process.
  public struct Registration: Sendable {
    let key: OrderedSlots<any RunObserver>.Key

    /// Removes the observer; runs that have started continue to notify it.
    public func remove() {
      // Released outside the lock.
      if installed.withLock({ $0.remove(key) }) != nil { count.subtract(1, ordering: .releasing) }
    }
  }
}

/// The observers and traces of the runs that the current task starts.
struct ObservationScope: Sendable {
  static var current: ObservationScope? { Scope.current?.surroundings.observation }

  /// The observers of scopes, outermost first.
  var observers: [any RunObserver] = []
  var collectors: [RunCollector] = []
  /// Measures the time of traces; nil for the continuous clock.
  var clock: (@Sendable () -> Duration)?
  /// The innermost observed run around.
  var parentID: UInt64?

  /// Whether a trace needs the runs also when their handles are gone.
  var isTraced: Bool { collectors.contains(where: \.isOpen) }

  /// The number of entries that traces need.
  var capacity: Int { collectors.map(\.capacity).max() ?? 0 }
}

/// Notifies an observer of every run that the body starts, also in tasks that it creates and after it has returned.
///
/// - Parameters:
///   - observer: Receives the events of each run.
///   - isolation: The isolation of the body, by default the caller's.
///   - body: The work to run, on the current task.
/// - Returns: What the body returns.
/// - Throws: Only what the body throws.
public func withRunObserver<Value>(
  _ observer: some RunObserver,
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async rethrows -> Value {
  RunObservers.use()
  var scope = ObservationScope.current ?? ObservationScope()
  scope.observers.append(observer)
  return try await Scope.$current.withValue(.observed(by: scope)) { try await body() }
}
