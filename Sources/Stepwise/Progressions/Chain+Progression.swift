// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  // Disfavoured, since a trailing closure drops the label: there it is a step that returns a stage.

  /// Appends a step that runs a progression.
  ///
  /// The run's events show the stages, as `stageReached`, the first included; a consumer that falls behind misses those
  /// that were superseded meanwhile. The step is cancelled as any other is, and before each stage the run looks whether it
  /// is to stop.
  ///
  /// ```swift
  /// let open = Chain("pick") { (name: String) in directory.appending(path: name) }.then(running: FileOpen.read)
  /// ```
  ///
  /// - Parameters:
  ///   - name: What events, errors and pictures call the step.
  ///   - first: Takes the output of the step before and gives the stage to begin with.
  /// - Returns: A new chain, whose output is the progression's result; this one is unchanged.
  @_disfavoredOverload
  public nonisolated func then<P: Progression>(
    _ name: String? = nil,
    running first: nonisolated(nonsending) @escaping @Sendable (Output) async throws -> P
  ) -> Chain<Input, P.Result> {
    Chain<Input, P.Result>(core: core.appending(name: name, Chain<Output, P.Result>.code(running: first)))
  }

  static func code<P: Progression>(
    running first: nonisolated(nonsending) @escaping @Sendable (Input) async throws -> P
  ) -> StepCode where Output == P.Result {
    { frame in
      let (context, index) = (frame.context, frame.index)
      var stages = try await first(frame.baton.take()).stages.makeAsyncIterator()
      while let stage = try await stages.next() {
        context.recorder?.reached(index, stage: stage)
        if let result = stage.result { return frame.baton.put(result) }
        if context.isAsked { throw CancellationError() }
      }
    }
  }
}
