// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Turns a callback into a result that is delivered exactly once.
///
/// You get one from `Step.callback` or ``withResolver(isolation:file:line:_:)``, and call it from the callback. The
/// first call of `resolve` or `fail` wins and returns `true`. Later calls return `false` and have no effect. If the
/// callback is lost, the resolver is released without a call and fails with ``ResolverError/abandoned`` instead of
/// hanging. You can use it from any thread.
///
/// ```swift
/// let fetch = Step.callback("fetch") { (url: URL, resolver: Resolver<Data>) in
///   let task = session.dataTask(with: url) { data, _, error in resolver.resolve(data, error) }
///   resolver.onCancel { _ in task.cancel() }
///   task.resume()
/// }
/// ```
public final class Resolver<Value: Sendable>: Sendable {
  private let box: ResolverBox<Value>
  private let step: RecordedStep?

  init(box: ResolverBox<Value>) {
    self.box = box
    step = Scope.current.recordedStep
  }

  deinit { box.end(with: ResolverError(.abandoned, file: box.file, line: box.line)) }

  /// Resolves with a value.
  @discardableResult
  public func resolve(_ value: Value) -> Bool { box.call(.success(value)) }

  /// Fails with an error.
  @discardableResult
  public func fail(_ error: any Error) -> Bool { box.call(.failure(error)) }

  /// Resolves with a value or fails with an error.
  @discardableResult
  public func resolve(with result: Result<Value, any Error>) -> Bool { box.call(result) }

  /// Resolves with the two optionals that a callback received.
  ///
  /// The error takes precedence over the value. Without either, the resolver fails with
  /// ``ResolverError/noValueAndNoError``.
  @discardableResult
  public func resolve(_ value: Value?, _ error: (any Error)?) -> Bool {
    if let error { return box.call(.failure(error)) }
    if let value { return box.call(.success(value)) }
    return box.call(.failure(ResolverError(.noValueAndNoError, file: box.file, line: box.line)))
  }

  /// Resolves with what a closure returns, or fails with what it throws.
  @discardableResult
  public func resolve(_ value: () throws -> Value) -> Bool {
    box.call(Result { try value() })
  }

  /// Calls a handler when the waiting step is cancelled before the first call; immediately if it already was.
  ///
  /// The step ends after its handlers have returned. They run on the thread that cancels, and must not block. The
  /// resolver retains the handler until the step ends. If the handler retains an object that retains the callback, a
  /// lost callback goes unnoticed, so capture that object weakly.
  public func onCancel(_ handler: @escaping @Sendable (_ reason: String?) -> Void) { box.onCancel(handler) }

  /// Calls a handler with a value that is delivered after the step was cancelled or timed out, by the first call.
  ///
  /// Use it to release a resource. The handler runs on the thread of the call.
  public func onLateValue(_ handler: @escaping @Sendable (Value) -> Void) { box.onLateValue(handler) }

  /// Reports the progress of the step, from 0 to 1, like `StepProgress.report`, from any thread.
  public func report(_ fraction: Double) { step?.report(fraction) }
}

extension Resolver where Value == Void {
  /// Resolves the step.
  @discardableResult
  public func resolve() -> Bool { resolve(()) }

  /// Resolves the step, or fails with the error if there is one.
  @discardableResult
  public func resolve(_ error: (any Error)?) -> Bool { resolve(error == nil ? () : nil, error) }
}

/// Waits for a callback.
///
/// Use it to call a callback API from any `async` function; in a chain, use `Step.callback`. The body starts the work
/// and passes the resolver to the callback. It runs in the caller's isolation, on the current task, and may capture
/// anything. When the task is cancelled while it waits, the wait ends as soon as the resolver's `onCancel` handlers
/// have returned, even if the callback is never called. Until the body returns, it observes cancellation only through
/// its task.
///
/// ```swift
/// let data = try await withResolver { (resolver: Resolver<Data>) in
///   session.dataTask(with: url) { data, _, error in resolver.resolve(data, error) }.resume()
/// }
/// ```
///
/// - Parameters:
///   - isolation: The isolation of the body, by default the caller's.
///   - file: The file to name in errors.
///   - line: The line to name in errors.
///   - body: Starts the work.
/// - Returns: The value of the resolver's first call.
/// - Throws: The error of the first call; ``ResolverError/abandoned`` when the resolver was released without a call;
///   `CancellationError` when the task was cancelled first; the error of the body.
public func withResolver<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation,
  file: String = #fileID,
  line: UInt = #line,
  _ body: (Resolver<Value>) async throws -> Void
) async throws -> Value {
  let box = ResolverBox<Value>(file: file, line: line)
  await handOut(box, isolation: isolation, body)
  return try await box.value()
}

/// Runs the body in its own frame: no waiting frame retains the resolver.
private func handOut<Value: Sendable>(
  _ box: ResolverBox<Value>,
  isolation: isolated (any Actor)?,
  _ body: (Resolver<Value>) async throws -> Void
) async {
  let resolver = Resolver(box: box)
  do {
    try await body(resolver)
  } catch let error where Task.isCancelled {
    box.end(with: error, cancelledBy: Scope.current.cancellationCause ?? Cancellation())
  } catch {
    box.end(with: error)
  }
}

/// An error that a resolver fails with when its callback delivers neither a value nor an error.
///
/// You see it when an API never calls back, or calls back with nothing. Two errors are equal when they have the same
/// cause: you can compare with ``abandoned`` and ``noValueAndNoError``, also in a `catch` clause.
public struct ResolverError: Error, Equatable, CustomStringConvertible {
  package enum Cause {
    case abandoned, noValueAndNoError
  }

  private let cause: Cause

  /// The file in which the resolver was created.
  public let file: String

  /// The line at which the resolver was created.
  public let line: UInt

  package init(_ cause: Cause, file: String, line: UInt) {
    self.cause = cause
    self.file = file
    self.line = line
  }

  /// For comparison: the resolver was released without being called.
  public static let abandoned = ResolverError(.abandoned, file: "", line: 0)

  /// For comparison: the callback delivered neither a value nor an error.
  public static let noValueAndNoError = ResolverError(.noValueAndNoError, file: "", line: 0)

  /// Returns a Boolean value that indicates whether two errors have the same cause.
  public static func == (left: ResolverError, right: ResolverError) -> Bool { left.cause == right.cause }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ResolverError, error: any Error) -> Bool { (error as? ResolverError) == pattern }

  /// What went wrong, where the resolver was created, and how to fix it.
  public var description: String {
    switch cause {
    case .abandoned:
      "resolver created at \(file):\(line) was released without being resolved; call `resolve` or `fail` on every path"
    case .noValueAndNoError:
      "the callback of the resolver created at \(file):\(line) delivered neither a value nor an error"
    }
  }
}

/// A diagnostic for a callback that calls its resolver again after the first call.
///
/// Set ``handler`` to send it to your log. The extra call has no effect. It is reported because it usually indicates a
/// bug in the callback's code.
public struct ResolverMisuse: Sendable, CustomStringConvertible {
  /// The file in which the resolver was created.
  public let file: String

  /// The line at which the resolver was created.
  public let line: UInt

  /// The number of calls so far, including the first one.
  public let count: Int

  package init(file: String, line: UInt, count: Int) {
    self.file = file
    self.line = line
    self.count = count
  }

  /// The location of the resolver and the number of calls.
  public var description: String {
    "resolver created at \(file):\(line) was called \(count) times; only the first call counts"
  }

  private static let current = Lock<@Sendable (ResolverMisuse) -> Void>(reportInDebugBuilds)

  /// Called with each diagnostic, on the thread of the call.
  ///
  /// By default it writes a line to standard error in debug builds and does nothing in release builds.
  public static var handler: @Sendable (ResolverMisuse) -> Void {
    get { current.withLock { $0 } }
    // The previous handler is released outside the lock.
    set { _ = current.withLock { exchange(&$0, with: newValue) } }
  }

  @Sendable private static func reportInDebugBuilds(_ misuse: ResolverMisuse) {
    #if DEBUG
      Platform.reportToStandardError("Stepwise: \(misuse)")
    #endif
  }
}

/// The state that a resolver shares with the waiting task; it does not retain the resolver.
final class ResolverBox<Value: Sendable>: Sendable {
  let file: String
  let line: UInt
  private let machine = Lock(ResolverMachine<Value>())
  private let result = OnceCell<Result<Value, any Error>>()

  init(file: String, line: UInt) {
    self.file = file
    self.line = line
  }

  func call(_ result: Result<Value, any Error>) -> Bool {
    switch machine.withLock({ $0.call() }) {
    case .settle:
      self.result.settle(result)
      return true
    case .late(let handler):
      if let handler, case .success(let value) = result { handler(value) }
      return false
    case .misuse(let count):
      ResolverMisuse.handler(ResolverMisuse(file: file, line: line, count: count))
      return false
    }
  }

  /// Ends the wait with an error, unless it has ended already; first calls the handlers of a cancellation.
  func end(with error: @autoclosure () -> any Error, cancelledBy cancellation: Cancellation? = nil) {
    guard let handlers = machine.withLock({ $0.end(cancelledBy: cancellation) }) else { return }
    if let cancellation {
      for handler in handlers { handler(cancellation.reason) }
    }
    result.settle(.failure(error()))
  }

  func onCancel(_ handler: @escaping ResolverMachine<Value>.CancelHandler) {
    if let cancellation = machine.withLock({ $0.register(handler) }) { handler(cancellation.reason) }
  }

  func onLateValue(_ handler: @escaping ResolverMachine<Value>.LateValueHandler) {
    _ = machine.withLock { $0.registerLate(handler) }
  }

  /// Waits for the first call.
  ///
  /// When the task is cancelled, returns as soon as the cancel handlers have returned.
  func value() async throws -> Value {
    let scope = Scope.current
    let settled = await withTaskCancellationHandler {
      await result.valueIgnoringCancellation()
    } onCancel: {
      end(with: CancellationError(), cancelledBy: scope.cancellationCause ?? Cancellation())
    }
    return try settled.get()
  }
}

/// Decides which call of a resolver counts.
///
/// Calls come from the callback, from cancellation and from the release of the resolver, in any order. Handlers are
/// returned to be released outside the lock, because releasing them may run code that uses the resolver.
struct ResolverMachine<Value> {
  typealias CancelHandler = @Sendable (_ reason: String?) -> Void
  typealias LateValueHandler = @Sendable (Value) -> Void

  enum CallAction {
    case settle(releasing: [CancelHandler], LateValueHandler?)
    /// The first call after the wait has ended for another reason, which is not a misuse.
    case late(LateValueHandler?)
    case misuse(count: Int)
  }

  private var isOpen = true
  /// The cancellation that ended the wait.
  private var cancellation: Cancellation?
  private var calls = 0
  private var onCancel: [CancelHandler] = []
  private var onLateValue: LateValueHandler?

  mutating func call() -> CallAction {
    calls += 1
    if let handlers = end() { return .settle(releasing: handlers, onLateValue.take()) }
    return calls == 1 ? .late(onLateValue.take()) : .misuse(count: calls)
  }

  /// Ends the wait, and returns the cancel handlers; nil when another event was first.
  mutating func end(cancelledBy cancellation: Cancellation? = nil) -> [CancelHandler]? {
    guard isOpen else { return nil }
    isOpen = false
    self.cancellation = cancellation
    return exchange(&onCancel, with: [])
  }

  /// Returns the cancellation that the handler has missed.
  mutating func register(_ handler: @escaping CancelHandler) -> Cancellation? {
    if isOpen { onCancel.append(handler) }
    return cancellation
  }

  /// Returns the replaced handler.
  mutating func registerLate(_ handler: @escaping LateValueHandler) -> LateValueHandler? {
    calls == 0 ? exchange(&onLateValue, with: handler) : nil
  }
}
