// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  // A trailing closure drops the label, so that each `then { … }` could be this one: chains of eight steps took the type
  // checker half a minute. The first parameter takes such a closure instead, and with five parameters none fits there.

  /// Appends a step that runs a progression.
  ///
  /// The stages that the run reaches are in its events, as `stageReached`; whoever is slow to look sees the newest one. The
  /// step is cancelled as any other is, and before each stage the run looks whether it is to stop.
  ///
  /// ```swift
  /// let open = Chain("pick") { (name: String) in directory.appending(path: name) }.then(running: FileOpen.read)
  /// ```
  ///
  /// - Parameters:
  ///   - trailing: Not to be given.
  ///   - first: Takes the output of the step before and gives the stage to begin with; has to be given.
  /// - Returns: A new chain, whose output is the progression's result; this one is unchanged.
  @_disfavoredOverload
  public nonisolated func then<P: Progression>(
    trailing: (Never, Never, Never, Never, Never) -> Void = { _, _, _, _, _ in },
    running first: (nonisolated(nonsending) @Sendable (Output) async throws -> P)! = nil
  ) -> Chain<Input, P.Result> {
    Chain<Input, P.Result>(core: core.appending(name: nil, Chain<Output, P.Result>.code(running: first)))
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
