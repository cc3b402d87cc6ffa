// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A request to cancel a run, and where it came from.
struct CancellationRequest: Sendable {
  enum Source: Sendable {
    case handle
    case overlapPolicy
    case cancelRuns
    case chainToken
    case tokenAround
    case outerRun
    case fasterBranch
    case failedBranch
    /// The attempt that contains it has been abandoned.
    case abandonment
    /// The journal of the run, which has stored the request or can store no more.
    case journal
    case task
  }

  let source: Source
  let reason: String?
  /// The code that makes it, or that has cancelled the token it comes from.
  let canceller: RunCode?

  init(_ source: Source, reason: String? = nil, by canceller: RunCode? = RunCode.current) {
    self.source = source
    self.reason = reason
    self.canceller = canceller
  }

  var cancellation: Cancellation { Cancellation(reason: reason) }

  /// Whether it ends more than a part of a run, such as a branch or the work under a time limit.
  var endsRun: Bool {
    switch source {
    case .cancelRuns, .chainToken, .tokenAround: true
    default: false
    }
  }

  /// Whether it concerns the runs of a chain, and not what awaits them.
  var isOfChain: Bool {
    switch source {
    case .cancelRuns, .chainToken, .overlapPolicy: true
    default: false
    }
  }

  /// The source in words, for traces.
  var description: String {
    switch source {
    case .handle: "its handle"
    case .overlapPolicy: "overlap policy"
    case .cancelRuns: "cancelRuns"
    case .chainToken: "the chain's token"
    case .tokenAround: "a token around it"
    case .outerRun: "the outer run"
    case .fasterBranch: "a faster branch"
    case .failedBranch: "a failed branch"
    case .journal: "a stored cancellation"
    case .abandonment, .task: "its task"
    }
  }
}
