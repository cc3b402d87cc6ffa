// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacyGrain

/// Runs work later or elsewhere, as a queue does.
@available(*, deprecated, message: "Use a TaskExecutor, or the actor that the work is bound to")
public protocol ServiceProtocol {
  /// Runs a closure.
  func async(_ closure: @escaping @Sendable () -> Void)
}

/// Returns the same work with its handler called by a service.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func + <Result>(deferred: Deferred<Result>, service: any ServiceProtocol) -> Deferred<Result> {
  Deferred(deferred.second.handled(by: Performer { work in service.async(work) }))
}

/// Lets the work's handler be called by a service.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func += <Result>(deferred: inout Deferred<Result>, service: any ServiceProtocol) {
  deferred = deferred + service
}

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

/// Where stages run, from 0.4 to 0.6, and what happens before each.
@available(*, deprecated, message: "Use `for try await stage in stages` of Progression of Stepwise")
public protocol Environment {
  /// Returns where a stage runs.
  func service<Stage: StageProtocol>(for stage: Stage) -> any ServiceProtocol

  /// Returns whether a stage must not run.
  func shouldStop<Stage: StageProtocol>(_ stage: Stage) -> Bool

  /// Called before each stage, where it runs.
  func before<Stage: StageProtocol>(_ stage: Stage)

  /// Returns another stage in place of a stage. No version called it.
  func adjust<Stage: StageProtocol>(_ stage: Stage) -> Stage
}

@available(*, deprecated)
extension Environment {
  /// Returns false.
  public func shouldStop<Stage: StageProtocol>(_ stage: Stage) -> Bool { false }

  /// Does nothing.
  public func before<Stage: StageProtocol>(_ stage: Stage) {}

  /// Returns the stage.
  public func adjust<Stage: StageProtocol>(_ stage: Stage) -> Stage { stage }
}

@available(*, deprecated)
extension Environment where Self: ServiceProtocol {
  /// Returns itself: a service is an environment for all stages.
  public func service<Stage: StageProtocol>(for stage: Stage) -> any ServiceProtocol { self }
}

@available(*, deprecated)
extension GCDService: Environment {}

/// Why an execution in an environment ended without a result.
@available(*, deprecated, message: "Break from the loop over `stages`; a cancelled run throws CancellationError")
public enum EnvironmentError: Error {
  /// `shouldStop` returned true.
  case stopped
}

/// Where stages run, up to 0.3, and what happens before each.
@available(*, deprecated, message: "Use `for try await stage in stages` of Progression of Stepwise")
public protocol ExecutionCustomizing {
  /// The stages.
  associatedtype Stage: StageProtocol

  /// Returns where a stage runs.
  var serviceForStage: (Stage) -> any ServiceProtocol { get }

  /// Where the completion is called.
  var completionService: any ServiceProtocol { get }

  /// Returns whether a stage must not run.
  var shouldStopStage: (Stage) -> Bool { get }

  /// Called before each stage, where it runs.
  var beforeStage: (Stage) -> Void { get }
}

/// Queues for stages, up to 0.3: user-initiated for the stages and the main queue for the completion unless set.
@available(*, deprecated, message: "Use `for try await stage in stages` of Progression of Stepwise")
public struct GCDExecutionCustomizer<Stage: StageProtocol>: ExecutionCustomizing {
  /// Returns where a stage runs.
  public var serviceForStage: (Stage) -> any ServiceProtocol = { _ in GCDService.userInitiated }

  /// Where the completion is called.
  public var completionService: any ServiceProtocol = GCDService.mainQueue

  /// Returns whether a stage must not run.
  public var shouldStopStage: (Stage) -> Bool = { _ in false }

  /// Called before each stage, where it runs.
  public var beforeStage: (Stage) -> Void = { _ in }

  /// Creates a customizer with the default queues.
  public init() {}
}

/// Why an execution with a customizer ended without a completion.
@available(*, deprecated, message: "Break from the loop over `stages`; a cancelled run throws CancellationError")
public enum ExecutionError: Error {
  /// `shouldStopStage` returned true.
  case stopped
}
