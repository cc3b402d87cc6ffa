// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Runs a body that is cancelled when the process receives SIGINT or SIGTERM, and waits for the runs begun in it.
///
/// Use it around the work of a command-line tool or a server. Without it, Ctrl-C ends the process in the middle of a
/// step, and no undo and no `finally` handler runs.
///
/// ```swift
/// try await withTerminationSignals {
///   let run = convert.start(files)
///   for await progress in run.progress { bar.show(progress.fractionCompleted) }
///   try await run.value
/// }
/// ```
///
/// The first signal cancels the body like a token in ``withCancellation(by:_:)``, with the reason "SIGINT" or
/// "SIGTERM". Runs that were started in the body are cancelled, too. After the first of either signal both have their
/// default effect: a second Ctrl-C ends the process.
///
/// This function returns when the body and every run begun in it have completed, `finally` handlers included, whether
/// or not a signal arrived. A run counts when it begins in the body, in its child tasks, or in tasks created there.
///
/// A signal that the process ignored before stays ignored. Nested and concurrent calls share one handler: a signal
/// cancels all of their bodies. When the last of them returns, the signals have the effect again that they had before.
///
/// - Parameter body: The work to run, in another task, so it obeys the rules of `Task { }`.
/// - Returns: What the body returns, whether or not it was cancelled.
/// - Throws: Only what the body throws.
public func withTerminationSignals<Value: Sendable>(
  @_inheritActorContext @_implicitSelfCapture
  _ body: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  let (token, runs) = (CancellationToken(), RunsBegun(in: .current))
  let call = TerminationSignals.shared.begin(token)
  defer { TerminationSignals.shared.end(call) }
  let result = await Result.of {
    try await RunsBegun.$current.withValue(runs) {
      try await withCancellation(by: token, body)
    }
  }
  await runs.counter.drain().valueIgnoringCancellation()
  return try result.get()
}

// MARK: - The handler

/// The calls of `withTerminationSignals` in this process, and the one handler that they share.
///
/// The handler may do almost nothing, so it writes the signal's number to a pipe, from which a thread reads it.
private final class TerminationSignals: Sendable {
  static let shared = TerminationSignals()

  private struct State {
    var tokens = OrderedSlots<CancellationToken>()
    /// The name of the signal that the calls have received.
    var received: String?
    var replaced: [(signal: Int32, action: sigaction)] = []
    var hasPipe = false
  }

  private let state = Lock(State())

  func begin(_ token: CancellationToken) -> OrderedSlots<CancellationToken>.Key {
    let (key, received) = state.withLock { state in
      if state.tokens.isEmpty { Self.replaceActions(&state) }
      return (state.tokens.append(token), state.received)
    }
    // The calls that received the signal have not returned yet, and this one ends with them.
    if let received { token.cancel(reason: received) }
    return key
  }

  func end(_ key: OrderedSlots<CancellationToken>.Key) {
    state.withLock { state in
      state.tokens.remove(key)
      guard state.tokens.isEmpty else { return }
      handledSignals.store(0, ordering: .sequentiallyConsistent)
      for (number, var action) in state.replaced { sigaction(number, &action, nil) }
      state.replaced = []
      state.received = nil
    }
  }

  private func receive(_ number: Int32) {
    let name = number == SIGINT ? "SIGINT" : "SIGTERM"
    let tokens = state.withLock { state -> [CancellationToken] in
      // The signal may have arrived when the last call was about to return.
      guard !state.tokens.isEmpty, state.received == nil else { return [] }
      state.received = name
      restoreDefaultEffects()
      return state.tokens.elements
    }
    for token in tokens { token.cancel(reason: name) }
  }

  private static func replaceActions(_ state: inout State) {
    if !state.hasPipe { state.hasPipe = openPipe() }
    guard state.hasPipe else {
      Platform.reportToStandardError("Stepwise: no pipe or thread is left, so signals have their default effect.")
      return
    }
    for number in [SIGINT, SIGTERM] {
      var action = sigaction()
      guard sigaction(number, nil, &action) == 0, !action.isIgnored else { continue }
      state.replaced.append((number, action))
    }
    handledSignals.store(state.replaced.reduce(0) { $0 | 1 << Int($1.signal) }, ordering: .sequentiallyConsistent)
    for (number, _) in state.replaced { signal(number, handleSignal) }
  }

  /// Opens the pipe and starts the thread that reads from it; both live as long as the process.
  private static func openPipe() -> Bool {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return false }
    let (input, output) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(output, F_SETFL, O_NONBLOCK)
    let isStarted = Platform.startThread {
      var number: UInt8 = 0
      while true {
        if read(input, &number, 1) == 1 { shared.receive(Int32(number)) } else if errno != EINTR { return }
      }
    }
    if isStarted { pipeOutput.store(output, ordering: .sequentiallyConsistent) } else { ends.forEach { _ = close($0) } }
    return isStarted
  }
}

/// The end of the pipe that the handler writes to.
private let pipeOutput = Atomic<Int32>(-1)

/// The signals whose actions were replaced, as bits.
private let handledSignals = Atomic(0)

/// The handler: it calls nothing that is not safe in one, and leaves `errno` as it was.
private let handleSignal: @convention(c) (Int32) -> Void = { number in
  let error = errno
  restoreDefaultEffects()
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(pipeOutput.load(ordering: .sequentiallyConsistent), &byte, 1)
  errno = error
}

private func restoreDefaultEffects() {
  let handled = handledSignals.load(ordering: .sequentiallyConsistent)
  if handled & 1 << Int(SIGINT) != 0 { signal(SIGINT, SIG_DFL) }
  if handled & 1 << Int(SIGTERM) != 0 { signal(SIGTERM, SIG_DFL) }
}

extension sigaction {
  /// Whether the action is to ignore the signal.
  ///
  /// The platforms give the field of the handler different names.
  fileprivate var isIgnored: Bool {
    #if canImport(Android)
      let offset = MemoryLayout<Int>.size
    #else
      let offset = 0
    #endif
    let ignore = Int(bitPattern: unsafeBitCast(SIG_IGN, to: UnsafeRawPointer?.self))
    return withUnsafeBytes(of: self) { $0.load(fromByteOffset: offset, as: Int.self) } == ignore
  }
}
