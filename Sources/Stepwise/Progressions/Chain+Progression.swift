// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Appends a step that runs a progression.
  ///
  /// The run's events report each stage as `stageReached`; a slow subscriber receives only the newest one. The step is
  /// cancelled like any other step: the run checks for cancellation before each stage.
  ///
  /// ```swift
  /// let open = Chain("pick") { (name: String) in directory.appending(path: name) }.appending(running: FileOpen.read)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The step's name in events, errors and descriptions.
  ///   - first: Receives the output of the previous step and returns the stage to begin with.
  /// - Returns: A new chain, whose output is the progression's result; this one is unchanged.
  public nonisolated func appending<P: Progression>(
    _ name: String? = nil,
    running first: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> P
  ) -> Chain<Input, P.Result> {
    Chain<Input, P.Result>(path.appending(name: name, Chain<Output, P.Result>.code(running: first)))
  }

  /// Creates a chain of one step that runs a progression.
  package init<P: Progression>(
    _ name: String,
    running first: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> P
  ) where P.Result == Output {
    self.init(Path(name: name, Self.code(running: first)))
  }

  static func code<P: Progression>(
    running first: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> P
  ) -> StepCode where Output == P.Result {
    { frame in
      let (context, recorder, index) = (frame.context, frame.recorder, frame.index)
      var stages = try await first(frame.slot.take()).stages.makeAsyncIterator()
      while let stage = try await stages.next(isolation: nil) {
        recorder?.reached(index, stage: stage)
        if let result = stage.result { return frame.slot.put(result) }
        if context.isCancellationRequested { throw CancellationError() }
      }
    }
  }
}
