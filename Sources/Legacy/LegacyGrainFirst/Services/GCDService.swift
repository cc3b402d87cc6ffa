// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch

/// A queue: a global one of a quality of service, the main one, or another.
@available(*, deprecated, message: "Use a TaskExecutor, or the actor that the work is bound to")
public enum GCDService: ServiceProtocol, Sendable {
  /// The global queue of this quality of service.
  case background
  /// The global queue of this quality of service.
  case utility
  /// The global queue of this quality of service.
  case userInitiated
  /// The global queue of this quality of service.
  case userInteractive
  /// The main queue.
  case mainQueue
  /// Another queue.
  case customQueue(DispatchQueue)

  /// The queue.
  public var queue: DispatchQueue {
    switch self {
    case .background: .global(qos: .background)
    case .utility: .global(qos: .utility)
    case .userInitiated: .global(qos: .userInitiated)
    case .userInteractive: .global(qos: .userInteractive)
    case .mainQueue: .main
    case .customQueue(let queue): queue
    }
  }

  /// Runs a closure in a turn of the queue.
  public func async(_ closure: @escaping @Sendable () -> Void) { queue.async(execute: closure) }

  /// Runs a closure in the queue, after a delay in seconds.
  public func after(_ delay: Double, closure: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + delay, execute: closure)
  }

  /// Runs a closure in the queue, and waits for it.
  public func sync(_ closure: () -> Void) { queue.sync(execute: closure) }

  /// Suspends the queue.
  public func suspend() { queue.suspend() }

  /// Resumes the queue.
  public func resume() { queue.resume() }

  /// Creates a serial queue.
  public static func serial(_ label: String = "") -> GCDService { .customQueue(DispatchQueue(label: label)) }
}

// The documentation of 0.2 and 0.3 writes `.utility` where a service is expected.
@available(*, deprecated)
extension ServiceProtocol where Self == GCDService {
  /// The global queue of this quality of service.
  @_disfavoredOverload public static var background: GCDService { GCDService.background }
  /// The global queue of this quality of service.
  @_disfavoredOverload public static var utility: GCDService { GCDService.utility }
  /// The global queue of this quality of service.
  @_disfavoredOverload public static var userInitiated: GCDService { GCDService.userInitiated }
  /// The global queue of this quality of service.
  @_disfavoredOverload public static var userInteractive: GCDService { GCDService.userInteractive }
  /// The main queue.
  @_disfavoredOverload public static var mainQueue: GCDService { GCDService.mainQueue }
  /// Another queue.
  @_disfavoredOverload public static func customQueue(_ queue: DispatchQueue) -> GCDService {
    GCDService.customQueue(queue)
  }
}

/// Returns a service that runs its work in a queue, after a delay in seconds.
@available(*, deprecated, message: "Use `try await clock.sleep(for:)` before the work")
public func + (service: GCDService, delay: Double) -> any ServiceProtocol {
  DelayedService(service: service, delay: delay)
}

@available(*, deprecated)
private struct DelayedService: ServiceProtocol {
  let service: GCDService
  let delay: Double

  func async(_ closure: @escaping @Sendable () -> Void) { service.after(delay, closure: closure) }
}
