// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Replaces an error of the previous steps with a value, or with the error that the closure throws.
  ///
  /// Steps that completed are not undone. Cancellation is never replaced.
  public nonisolated func recover(
    _ replacement: @escaping @Sendable (any Error) async throws -> Output
  ) -> Chain {
    let code: StepCode = { frame in
      guard let error = frame.pendingError.take() else { return }
      frame.slot.put(try await replacement(error))
    }
    return Chain(path.appending(.recover(Output.self, code)))
  }

  /// Replaces an error of one type, thrown by the previous steps, with a value.
  ///
  /// - Parameters:
  ///   - type: The type of error to replace: a concrete type, a base class, or a protocol such as
  ///     `(any Retriable).self`. Other errors are passed on.
  ///   - replacement: Returns the value, or throws a different error.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func recover<Failure>(
    from type: Failure.Type,
    _ replacement: @escaping @Sendable (Failure) async throws -> Output
  ) -> Chain {
    recover { error in
      guard let failure = error as? Failure else { throw error }
      return try await replacement(failure)
    }
  }
}

extension Chain {
  /// Retries the previous steps, from the first one, when one of them fails.
  ///
  /// What a failed attempt completed is undone before the next one. Cancellation is never retried, and ends the delay
  /// between attempts immediately.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts and the delay between them.
  ///   - isRetryable: Returns whether to retry after an error; by default every error is retried.
  ///   - clock: The clock that measures the delays.
  /// - Returns: A new chain; this one is unchanged. When all attempts fail, it throws the error of the last one.
  public nonisolated func retry(
    _ policy: RetryPolicy,
    if isRetryable: @escaping @Sendable (any Error) async -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Chain {
    let code: StepCode = { frame in
      let input: Input = frame.slot.take()
      let (segment, run, recording) = (frame.covered, frame.run, frame.recording)
      let history = run.journal.map { AttemptHistory(key: $0.open("retry"), journal: $0) }
      try await makeAttempts(
        policy,
        clock,
        if: isRetryable,
        history: history,
        of: run,
        in: frame.attempt,
        recording: recording
      ) { number, error in
        let step = run.currentStep.index
        recording?.retrying(attempt: number, after: error) { $0.number(ofStep: step) }
      } body: { attempt in
        frame.slot.put(input)
        guard let history else { return try await frame.execute(segment: segment, in: attempt) }
        return try await history.journal.inside(history.key, branch: nil) {
          try await frame.execute(segment: segment, in: attempt)
        }
      }
    }
    return Chain(path.appending(.covering(how: "retry up to \(policy.maxAttempts) attempts", code)))
  }
}

extension Chain {
  /// Limits the total duration of the previous steps.
  ///
  /// When the time is up, the running step is cancelled and awaited, what was completed is undone, and ``TimeoutError``
  /// is thrown, which names that step. If the last step still returns a value, that is the output. Use
  /// ``abandon(after:clock:discarding:)`` for steps that ignore cancellation.
  ///
  /// - Parameters:
  ///   - duration: The time limit for the previous steps together.
  ///   - clock: The clock that measures the time.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func timeout(
    _ duration: Duration,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Chain {
    let code: StepCode = { frame in
      let (run, outer, recording) = (frame.run, frame.attempt, frame.recording)
      try await makeAttempts(of: run, in: outer, recording: recording) { attempt in
        try await TimeLimit.begin(duration, clock, in: run.journal, as: "timeout") { limit in
          try await frame.execute(in: attempt, within: limit)
        }
      }
    }
    return Chain(path.appending(.covering(how: "timeout \(duration)", code)))
  }

  /// Limits the total duration of the previous steps, and stops waiting for them when the time is up.
  ///
  /// ``TimeoutError`` is then thrown after the completed steps are undone. The running step is cancelled
  /// and continues without being awaited. No further step follows it, and if it can be undone, it is undone when it
  /// completes.
  ///
  /// - Parameters:
  ///   - duration: The time limit for the previous steps together.
  ///   - clock: The clock that measures the time.
  ///   - discard: Receives a value that the abandoned steps return, for example to release a resource.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func abandon(
    after duration: Duration,
    clock: any Clock<Duration> = ContinuousClock(),
    discarding discard: @escaping @Sendable (Output) async -> Void = { _ in }
  ) -> Chain {
    let code: StepCode = { frame in
      let (run, outer, recording) = (frame.run, frame.attempt, frame.recording)
      try await makeAttempts(of: run, in: outer, isAbandonable: true, recording: recording) { attempt in
        guard let attempt else { return }
        try await TimeLimit.begin(duration, clock, in: run.journal, as: "abandon") { limit in
          try await frame.execute(in: attempt, abandonedAfter: limit, discarding: discard)
        }
      }
    }
    return Chain(path.appending(.covering(how: "abandon after \(duration)", code)))
  }

  /// Runs the previous steps on an executor, except those isolated to an actor that has its own.
  ///
  /// In a durable run, it is where the bodies of these steps run.
  public nonisolated func executor(_ executor: any TaskExecutor) -> Chain {
    let code: StepCode = { frame in
      let segment = frame.covered
      guard frame.run.journal == nil else {
        return try await BodyExecutor.$chosen.bind(executor) { try await frame.execute(segment: segment) }
      }
      try await onExecutor(executor) { try await frame.execute(segment: segment) }
    }
    return Chain(path.appending(.covering(how: "executor", code)))
  }
}

extension Chain {
  /// Calls a handler with the error that a run ends with.
  ///
  /// A handler with a second parameter also receives the step that failed: `.onError { error, step in … }`.
  ///
  /// A chain may have several handlers. They are called in the order in which they were attached, at any position in
  /// the chain. They are not called for cancellation, nor for errors that were retried or replaced. Afterwards they
  /// receive each failed undo as an ``UndoError``, even when the run was cancelled or ended with a value. The error is
  /// still thrown. The handler may suspend, and is shielded from the run's cancellation.
  public nonisolated func onError(
    _ handler: @escaping @Sendable (any Error) async -> Void
  ) -> Chain {
    Chain(path.appending(.onError { error, _ in await handler(error) }))
  }

  /// Calls a handler with the error that a run ends with and the step that failed.
  ///
  /// Behaves like `onError(_:)`, and also receives the step that failed. The index of a step of an appended chain
  /// counts the steps of the whole, as in ``ChainEvent``. A ``TimeoutError`` comes with the step that was running, an
  /// ``UndoError`` with the step whose undo failed.
  public nonisolated func onError(
    _ handler: @escaping @Sendable (any Error, ChainStep) async -> Void
  ) -> Chain {
    Chain(path.appending(.onError(handler)))
  }

  /// Calls a handler when a run completes, regardless of its outcome.
  ///
  /// A chain may have several handlers. Each is called exactly once per run, after everything else, newest first. The
  /// run completes after they have returned. The handler may suspend, and is shielded from the run's cancellation. A
  /// run that its overlap policy never admitted does not call it.
  public nonisolated func finally(
    _ handler: @escaping @Sendable (ChainState) async -> Void
  ) -> Chain {
    Chain(path.appending(.finally(handler)))
  }

  /// Sets what a further run does while one is in flight.
  ///
  /// The policy applies to the whole chain that this method returns. A chain derived from that one has the same policy,
  /// but its own gate. Runs are admitted in the order of the calls of `run` and `start`. A run that is never admitted
  /// calls no handler, so that `finally` cleans up nothing that another run uses. The last policy that is set applies.
  public nonisolated func overlap(_ policy: Overlap) -> Chain {
    Chain(path.appending(.overlap(policy)))
  }
}

extension Chain {
  /// Lets concurrent runs with an equal key share one run.
  ///
  /// Use it for work that many callers want at the same time, such as an image or a token: the first one starts it, and
  /// the others join it and receive its value or its error.
  ///
  /// ```swift
  /// let images = Chain("image") { (request: ImageRequest) in try await load(request) }.coalesced(by: \.url)
  /// ```
  ///
  /// A run joins in the call of `start` or `run`. A caller that is cancelled leaves alone. When the last one is
  /// cancelled, so is the shared run; that caller waits for its end, undos and `finally` included, as for any run. Nothing
  /// is kept after the run, so a later call starts another one.
  ///
  /// Like an overlap policy, this applies to the whole chain that it returns: its handlers are called once for each
  /// shared run. What the shared run has completed is not undone when one of its callers fails later. The shared run
  /// inherits the priority and the task-local values of the first caller, but no token around it. Its events and its
  /// progress are those of each ``Run``. In a durable run, and with `run(id:in:)`, each run is performed on its own.
  ///
  /// - Parameter key: Returns the key of an input.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func coalesced<Key: Hashable & Sendable>(
    by key: @escaping @Sendable (Input) -> Key
  ) -> Chain {
    Chain(path.appending(.coalesced { slot in key(slot.copy(as: Input.self)) }))
  }

  /// Notifies an observer of the runs of this chain.
  ///
  /// It covers the whole chain that this method returns, at any position, including nested chains. A chain may have
  /// several observers, which are called in the order in which they were attached.
  public nonisolated func observed(by observer: some RunObserver) -> Chain {
    var path = path
    path.identity.observers.append(observer)
    return Chain(path)
  }

  /// Names the chain, for observers and traces.
  ///
  /// Without a name, a run has the names of its first and last step. A chain derived from this one has the same name.
  public nonisolated func named(_ name: String) -> Chain {
    var path = path
    path.identity.name = name
    return Chain(path)
  }
}

extension Chain where Input == Void {
  /// Lets concurrent runs share one run, like ``coalesced(by:)``.
  public nonisolated func coalesced() -> Chain { coalesced { _ in true } }
}
