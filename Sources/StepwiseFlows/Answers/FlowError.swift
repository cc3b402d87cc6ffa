// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that ends a flow, or the presentation of a step, without a result.
public struct FlowError: Error, Hashable, CustomStringConvertible {
  /// What went wrong.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    fileprivate enum Kind: String {
      case back, abandoned, noContent, alreadyPresented, alreadyRunning, unhandledResult, duplicateName
      case unknownStep, wrongStep, wrongAnswer, notCodable, recordedFailure
    }

    fileprivate let kind: Kind

    /// The user went back from the first step.
    public static let back = Code(kind: .back)
    /// The handler of a step was released without being completed.
    public static let abandoned = Code(kind: .abandoned)
    /// A step without content was to be presented.
    public static let noContent = Code(kind: .noContent)
    /// A step was presented while it was waiting for a result.
    public static let alreadyPresented = Code(kind: .alreadyPresented)
    /// A flow was run while it was running.
    public static let alreadyRunning = Code(kind: .alreadyRunning)
    /// A step has a result, and no rule sets what follows.
    public static let unhandledResult = Code(kind: .unhandledResult)
    /// Two steps of a flow have the same name.
    public static let duplicateName = Code(kind: .duplicateName)
    /// An answer log names a step that the flow does not contain.
    public static let unknownStep = Code(kind: .unknownStep)
    /// An answer log has the answer of another step, or an additional one, where the flow presents a step.
    public static let wrongStep = Code(kind: .wrongStep)
    /// An answer log has an answer that is not of its step's type.
    public static let wrongAnswer = Code(kind: .wrongAnswer)
    /// An answer cannot be encoded or decoded.
    public static let notCodable = Code(kind: .notCodable)
    /// A failure from a decoded log, of which only the description was stored.
    public static let recordedFailure = Code(kind: .recordedFailure)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// What went wrong.
  public let code: Code

  /// The name of the step, or for `alreadyRunning` of the flow.
  public let step: String

  /// Further details, if any.
  public let detail: String?

  init(_ code: Code, step: String, detail: String? = nil) {
    self.code = code
    self.step = step
    self.detail = detail
  }

  /// For comparison: the user went back from the first step.
  public static let back = FlowError(.back, step: "")
  /// For comparison: the handler of a step was released without being completed.
  public static let abandoned = FlowError(.abandoned, step: "")
  /// For comparison: a step without content was to be presented.
  public static let noContent = FlowError(.noContent, step: "")
  /// For comparison: a step was presented while it was waiting for a result.
  public static let alreadyPresented = FlowError(.alreadyPresented, step: "")
  /// For comparison: a flow was run while it was running.
  public static let alreadyRunning = FlowError(.alreadyRunning, step: "")
  /// For comparison: a step has a result, and no rule sets what follows.
  public static let unhandledResult = FlowError(.unhandledResult, step: "")
  /// For comparison: two steps of a flow have the same name.
  public static let duplicateName = FlowError(.duplicateName, step: "")
  /// For comparison: an answer log names a step that the flow does not contain.
  public static let unknownStep = FlowError(.unknownStep, step: "")
  /// For comparison: an answer log has the answer of another step, or an additional one.
  public static let wrongStep = FlowError(.wrongStep, step: "")
  /// For comparison: an answer log has an answer that is not of its step's type.
  public static let wrongAnswer = FlowError(.wrongAnswer, step: "")
  /// For comparison: an answer cannot be encoded or decoded.
  public static let notCodable = FlowError(.notCodable, step: "")
  /// For comparison: a failure from a decoded log.
  public static let recordedFailure = FlowError(.recordedFailure, step: "")

  /// Returns a Boolean value that indicates whether two errors have the same code, regardless of the step.
  public static func == (left: FlowError, right: FlowError) -> Bool { left.code == right.code }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: FlowError, error: any Error) -> Bool { (error as? FlowError) == pattern }

  /// Hashes the code, consistently with `==`.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  /// What happened, and how to fix it.
  public var description: String { text + (detail.map { ": \($0)" } ?? "") }

  private var text: String {
    switch code.kind {
    case .back: "the user went back from “\(step)”, which is the first step"
    case .abandoned:
      "“\(step)” was abandoned: its handler was released; retain it as long as the screen, or call back() or cancel()"
    case .noContent: "“\(step)” has no content: use next(step, content), or set its content first"
    case .alreadyPresented: "“\(step)” is already waiting for a result: await that result, or create a second step"
    case .alreadyRunning: "the flow “\(step)” is already running: await its completion, or create a second flow"
    case .unhandledResult: "no rule sets what follows “\(step)”, and its result is not the flow's output: add on(step)"
    case .duplicateName: "two steps are named “\(step)”: rename one, because the answer log identifies steps by name"
    case .unknownStep: "the answer log has an answer of “\(step)”, which the flow does not contain: start over"
    case .wrongStep: "the answer log does not fit the flow at “\(step)”: the flow has changed since; start over"
    case .wrongAnswer: "the answer log has an answer of “\(step)” that is not of its type: start over"
    case .notCodable: "an answer of “\(step)” is not Codable: conform to it off any actor, or keep the log in memory"
    case .recordedFailure: "“\(step)” had failed when the log was stored"
    }
  }
}
