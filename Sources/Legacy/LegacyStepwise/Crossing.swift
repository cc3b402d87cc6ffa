// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport
public import Stepwise

@available(*, deprecated)
extension StepChain where StartInput: Sendable, CurrentOutput: Sendable {
  /// The chain as a `Chain`, for callers that have moved: with its steps and its handlers.
  ///
  /// Cancelling either cancels the run, with the reason. When a step continues with another chain, whose output cannot be
  /// cast to the type of this one's, the run fails.
  @available(*, deprecated, message: "Make it a Chain when its last old caller has moved")
  public var modern: Chain<StartInput, CurrentOutput> {
    let first = first
    let tokenOfChain = Lock<Stepwise.CancellationToken?>(nil)
    let chain = Chain<StartInput, CurrentOutput> { input in
      try await withCancellationToken { outer in
        let token = first.token
        let registration = token.modern.onCancel { reason in outer.cancel(reason: reason) }
        defer { registration.remove() }
        let ended = await withCheckedContinuation { continuation in
          let run = ChainRun(token: token, outer: outer) { ended in continuation.resume(returning: ended) }
          run.start(first, Sent(input))
        }
        switch ended {
        case .resolved(let output, _): return try output.open()
        case .failed(let error): throw error
        case .cancelled:
          if !Task.isCancelled { tokenOfChain.withLock { $0 }?.cancel(reason: token.reason) }
          throw CancellationError()
        }
      }
    }
    let token = chain.cancellationToken
    tokenOfChain.withLock { $0 = token }
    return chain
  }
}

extension Chain {
  /// The chain as a step of an old one, for callers that have not moved.
  ///
  /// Its own handlers and its own token stay with it. Cancelling the old chain cancels it.
  @available(*, deprecated, message: "Use the Chain itself when its last old caller has moved")
  public nonisolated var legacy: StepChain<Input, Output, Input, Output> {
    let body = Sent<(Input, Handler<Output>) throws -> Void> { input, handler in
      self.start(input, cancelledBy: handler.run?.cancellation) { result in
        // Users' handlers follow, which may block.
        DispatchQueue.global().async {
          switch result {
          case .success(let output): handler.settle(.resolved(Sent(output)))
          case .failure(is CancellationError) where handler.run?.isCancelled == true: handler.settle(.cancelled)
          case .failure(let error): handler.settle(.failed(error))
          }
        }
      }
    }
    return StepChain(Node(nil, nil, Location(file: #fileID, line: #line), body))
  }
}
