// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a flow, or a step that was asked, ended without a result.
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
    /// The handler of a step was let go of without an answer.
    public static let abandoned = Code(kind: .abandoned)
    /// A step was to be asked that has no content.
    public static let noContent = Code(kind: .noContent)
    /// A step was asked while it was being asked.
    public static let alreadyPresented = Code(kind: .alreadyPresented)
    /// A flow was run while it was running.
    public static let alreadyRunning = Code(kind: .alreadyRunning)
    /// A step was answered and nothing says what follows.
    public static let unhandledResult = Code(kind: .unhandledResult)
    /// Two steps of a flow have one name.
    public static let duplicateName = Code(kind: .duplicateName)
    /// An answer log names a step that the flow does not know.
    public static let unknownStep = Code(kind: .unknownStep)
    /// An answer log has another step's answer, or one more, where the flow asks.
    public static let wrongStep = Code(kind: .wrongStep)
    /// An answer log has an answer that is none of its step's.
    public static let wrongAnswer = Code(kind: .wrongAnswer)
    /// An answer cannot be encoded or decoded.
    public static let notCodable = Code(kind: .notCodable)
    /// A failure that stood in a log that was decoded: of the error, its words are left.
    public static let recordedFailure = Code(kind: .recordedFailure)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// What went wrong.
  public let code: Code

  /// The step, or for `alreadyRunning` the flow, that it is about.
  public let step: String

  /// More about it, where there is more to say.
  public let detail: String?

  init(_ code: Code, step: String, detail: String? = nil) {
    self.code = code
    self.step = step
    self.detail = detail
  }

  /// To compare with: the user went back from the first step.
  public static let back = FlowError(.back, step: "")
  /// To compare with: the handler of a step was let go of without an answer.
  public static let abandoned = FlowError(.abandoned, step: "")
  /// To compare with: a step was to be asked that has no content.
  public static let noContent = FlowError(.noContent, step: "")
  /// To compare with: a step was asked while it was being asked.
  public static let alreadyPresented = FlowError(.alreadyPresented, step: "")
  /// To compare with: a flow was run while it was running.
  public static let alreadyRunning = FlowError(.alreadyRunning, step: "")
  /// To compare with: a step was answered and nothing says what follows.
  public static let unhandledResult = FlowError(.unhandledResult, step: "")
  /// To compare with: two steps of a flow have one name.
  public static let duplicateName = FlowError(.duplicateName, step: "")
  /// To compare with: an answer log names a step that the flow does not know.
  public static let unknownStep = FlowError(.unknownStep, step: "")
  /// To compare with: an answer log has another step's answer, or one more, where the flow asks.
  public static let wrongStep = FlowError(.wrongStep, step: "")
  /// To compare with: an answer log has an answer that is none of its step's.
  public static let wrongAnswer = FlowError(.wrongAnswer, step: "")
  /// To compare with: an answer cannot be encoded or decoded.
  public static let notCodable = FlowError(.notCodable, step: "")
  /// To compare with: a failure that stood in a log that was decoded.
  public static let recordedFailure = FlowError(.recordedFailure, step: "")

  /// Errors are equal when their codes are, whichever step they are about.
  public static func == (left: FlowError, right: FlowError) -> Bool { left.code == right.code }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: FlowError, error: any Error) -> Bool { (error as? FlowError) == pattern }

  /// Hashes the code alone, as `==` compares it.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  /// What happened, and what to do about it.
  public var description: String { text + (detail.map { ": \($0)" } ?? "") }

  private var text: String {
    switch code.kind {
    case .back: "the user went back from “\(step)”, before which there is no step"
    case .abandoned:
      "“\(step)” was abandoned: its handler was let go of; keep it as long as the screen, or call back() or cancel()"
    case .noContent: "“\(step)” has no content: use next(step, content), or set its content before"
    case .alreadyPresented: "“\(step)” is being asked already: wait for its answer, or make a second step"
    case .alreadyRunning: "the flow “\(step)” is running already: wait for its end, or make a second flow"
    case .unhandledResult: "nothing says what follows “\(step)”, and its result is not the flow's: add on(step)"
    case .duplicateName: "two steps are called “\(step)”: name them differently, since the answer log goes by names"
    case .unknownStep: "the answer log has an answer of “\(step)”, which the flow does not know: begin anew"
    case .wrongStep: "the answer log does not fit the flow at “\(step)”: it was made by another shape; begin anew"
    case .wrongAnswer: "the answer log has an answer of “\(step)” that is not of its type: begin anew"
    case .notCodable: "an answer of “\(step)” is not Codable: make it so, off any actor, or keep the log in memory"
    case .recordedFailure: "“\(step)” had failed when the log was made"
    }
  }
}
