// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What a screen adopts in order to have tasks: `include Elevate` of the original.
///
/// In the block of `async` and of `task(_:)` stand a block for the background, which is not to touch the
/// screen, and handlers, which are called on the main actor, only as long as the screen lives. Each holds when it is
/// the last of its kind.
///
/// ```swift
/// loginTask = async(["username": username, "password": password]) {
///   task { try await API.login(taskArgs.value("username"), taskArgs.value("password")) }
///   onStart { hud.show("Logging in…") }
///   onFinish { result, error in hud.hide() }
/// }
/// ```
///
/// All tasks of the app wait for one another in one queue, `JobQueue.shared`.
@available(*, deprecated, message: "Make each task a Job, bound(to: self)")
public protocol Elevate: AnyObject {}

@available(*, deprecated)
extension Elevate {
  /// Launches a task that is declared on the spot.
  ///
  /// - Parameters:
  ///   - args: What its blocks find in `taskArgs`.
  ///   - block: Declares it, by `task`, `timeout` and the words that begin with `on`.
  /// - Returns: The task, to cancel it.
  @available(*, deprecated, message: "Use Job(name) { … }.onStart { … }.bound(to: self).launch(args)")
  @preconcurrency
  @discardableResult
  public func async(_ args: [String: any Sendable] = [:], _ block: () -> Void) -> ElevateTask {
    let definition = TaskDefinition(name: TaskNames.async, contents: TaskDraft.contents(of: block))
    return ElevateTask(definition.job(with: TaskArgs(args)).bound(to: self).launch())
  }

  /// Declares a task of this object under a name, in place of the one that has it.
  ///
  /// The declaration lives as long as the object: a block that names the object captures it weakly, as by
  /// `[weak self]`.
  ///
  /// - Parameters:
  ///   - name: What `launch` and `cancel` call it.
  ///   - block: Declares it, by `background`, `timeout` and the words that begin with `on`.
  /// - Returns: The declared task, to cross over.
  @available(*, deprecated, message: "Keep a Job(name) { … } with its handlers in a property")
  @discardableResult
  public func task(_ name: String, _ block: () -> Void) -> TaskDefinition {
    task(name, TaskDefinition(name: name, contents: TaskDraft.contents(of: block)))
  }

  /// Declares a task of this object that was declared elsewhere, or is a job of the new world:
  /// `task("track", job.legacy)`.
  ///
  /// - Parameters:
  ///   - name: What `launch` and `cancel` call it.
  ///   - definition: The task.
  /// - Returns: The declared task.
  @available(*, deprecated, message: "Keep the Job in a property")
  @discardableResult
  public func task(_ name: String, _ definition: TaskDefinition) -> TaskDefinition {
    let definition = definition.named(name)
    TaskTable.declare(definition, by: self)
    return definition
  }

  /// Launches a task that this object has declared.
  ///
  /// - Parameters:
  ///   - name: The name that it was declared by; the program stops at one that was not.
  ///   - args: What its blocks find in `taskArgs`.
  /// - Returns: The task, to cancel it.
  @available(*, deprecated, message: "Use launch(_:) of the Job")
  @preconcurrency
  @discardableResult
  public func launch(_ name: String, _ args: [String: any Sendable] = [:]) -> ElevateTask {
    guard let definition = TaskTable.definition(name, of: self) else {
      // Safety: a programming error, detected the first time that the line runs; Ruby raised there as well.
      preconditionFailure("\(Self.self) has declared no task of the name \(name)")
    }
    return ElevateTask(definition.job(with: TaskArgs(args)).bound(to: self).launch())
  }

  /// Cancels the tasks of this object that were launched by a name; none of their handlers is called any more.
  ///
  /// - Parameter name: The name.
  @available(*, deprecated, message: "Use JobQueue.cancel(named:boundTo:), or cancel() of the JobRun")
  public func cancel(_ name: String) { JobQueue.shared.cancel(named: name, boundTo: self) }

  /// Cancels all tasks of this object; none of their handlers is called any more.
  @available(*, deprecated, message: "Use JobQueue.cancel(named:boundTo:) for each name, or cancel() of each JobRun")
  public func cancelAll() {
    for name in TaskTable.definitions(of: self).keys.sorted() + [TaskNames.async] { cancel(name) }
  }
}

/// What queues call tasks that have no name.
enum TaskNames {
  static let async = "async"
}
