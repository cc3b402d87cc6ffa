// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A task that was declared, to be launched any number of times.
public struct TaskDefinition: Sendable {
  let name: String
  private let contents: TaskDraft.Contents

  init(name: String, contents: TaskDraft.Contents) {
    self.name = name
    self.contents = contents
  }

  func named(_ name: String) -> TaskDefinition { TaskDefinition(name: name, contents: contents) }

  /// The task as a `Job`, with its handlers, for callers that have moved.
  ///
  /// It has no owner: bind it with `bound(to:)`, and launch it on the queue of your choice.
  ///
  /// - Parameter args: What the task is launched with.
  /// - Returns: The job.
  @available(*, deprecated, message: "Make it a Job when its last old caller has moved")
  public func modern(_ args: [String: any Sendable] = [:]) -> Job<Void, TaskValue, TaskValue> {
    job(with: TaskArgs(args))
  }

  @available(*, deprecated)
  func job(with args: TaskArgs) -> Job<Void, TaskValue, TaskValue> {
    let (contents, scope) = (contents, TaskScope(args: args))
    var job = Job(name) { (context: JobContext<TaskValue>) in
      guard let work = contents.work else { throw NothingToDo() }
      return try await work(TaskScope(args: args, context: context))
    }
    if let timeout = contents.timeout { job = job.timeout(timeout, clock: contents.clock) }
    if let onStart = contents.onStart { job = job.onStart { scope.use { onStart() } } }
    if let onUpdate = contents.onUpdate { job = job.onUpdate { update in scope.use { onUpdate(update) } } }
    job = job.onError { error in
      let error = ElevateErrors.old(error)
      if let handler = contents.handler(for: error) { scope.use { handler(error) } }
    }
    guard let onFinish = contents.onFinish else { return job }
    return job.onFinish { outcome in
      switch outcome {
      case .resolved(let value): scope.use { onFinish(value, nil) }
      case .failed(let error): scope.use { onFinish(nil, ElevateErrors.old(error)) }
      case .cancelled: break
      }
    }
  }
}

extension TaskScope {
  /// Calls a handler with the arguments of this launch.
  @MainActor fileprivate func use(_ handler: @MainActor () -> Void) {
    TaskScope.$current.withValue(self) { handler() }
  }
}

/// A task without a block for the background.
struct NothingToDo: Error, CustomStringConvertible {
  let description = "the task has no block for the background"
}

extension Job where Input == TaskArgs {
  /// The job as a task of old code: `task("search", job.legacy)` declares it; `launch`, `cancel`, `cancelAll` work.
  ///
  /// Its own handlers stay with it, called as they are in the new world. It runs while the old queue has its turn.
  @available(*, deprecated, message: "Launch the Job itself when its last old caller has moved")
  public var legacy: TaskDefinition {
    var contents = TaskDraft.Contents()
    contents.work = Work { scope in
      let run: Run<Output> = launch(scope.args, on: JobQueue(maxConcurrent: 1))
      let outcome = await withCancellationToken { token in
        let registration = token.onCancel { reason in run.cancel(reason: reason) }
        defer { registration.remove() }
        return await run.outcome
      }
      return TaskValue(try outcome.get())
    }
    return TaskDefinition(name: name, contents: contents)
  }
}
