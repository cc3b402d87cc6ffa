// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that ends a flow, or the presentation of a step, without a result.
///
/// Two errors are equal when they have the same cause: you can compare with ``back`` and the others, also in a `catch`
/// clause, for any step.
public struct FlowError: Error, Hashable, CustomStringConvertible {
  enum Cause {
    case back, abandoned, noContent, alreadyPresented, alreadyRunning, unhandledResult, duplicateName
    case unknownStep, wrongStep, wrongAnswer, notCodable, recordedFailure, overdue
  }

  private let cause: Cause

  /// The name of the step, or for ``alreadyRunning`` of the flow.
  public let step: String

  /// Further details, if any.
  public let detail: String?

  init(_ cause: Cause, step: String = "", detail: String? = nil) {
    self.cause = cause
    self.step = step
    self.detail = detail
  }

  /// The user went back from the first step.
  public static let back = FlowError(.back)
  /// The handler of a step was released without being completed.
  public static let abandoned = FlowError(.abandoned)
  /// A step without content was to be presented.
  public static let noContent = FlowError(.noContent)
  /// A step was presented while it was waiting for a result.
  public static let alreadyPresented = FlowError(.alreadyPresented)
  /// A flow was run while it was running.
  public static let alreadyRunning = FlowError(.alreadyRunning)
  /// A step has a result, and the flow has no `on` rule for the step.
  public static let unhandledResult = FlowError(.unhandledResult)
  /// Two steps of a flow have the same name.
  public static let duplicateName = FlowError(.duplicateName)
  /// An answer log names a step that the flow does not contain.
  public static let unknownStep = FlowError(.unknownStep)
  /// An answer log has the answer of another step, or an additional one, where the flow presents a step.
  public static let wrongStep = FlowError(.wrongStep)
  /// An answer log has an answer that is not of its step's type.
  public static let wrongAnswer = FlowError(.wrongAnswer)
  /// An answer cannot be encoded or decoded.
  public static let notCodable = FlowError(.notCodable)
  /// A failure from a decoded log, of which only the description was stored.
  public static let recordedFailure = FlowError(.recordedFailure)

  /// A navigator has not returned from dismissing a screen within the limit; it is in an event, and the flow continues.
  public static let overdue = FlowError(.overdue)

  /// Returns a Boolean value that indicates whether two errors have the same cause, regardless of the step.
  public static func == (left: FlowError, right: FlowError) -> Bool { left.cause == right.cause }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: FlowError, error: any Error) -> Bool { (error as? FlowError) == pattern }

  /// Hashes the cause, consistently with `==`.
  public func hash(into hasher: inout Hasher) { hasher.combine(cause) }

  /// What happened, and how to fix it.
  public var description: String { text + (detail.map { ": \($0)" } ?? "") }

  private var text: String {
    switch cause {
    case .back: "the user went back from “\(step)”, which is the first step"
    case .abandoned:
      "“\(step)” was abandoned: its handler was released; retain it as long as the screen, or call back() or cancel()"
    case .noContent: "“\(step)” has no content: use next(step, content), or set its content first"
    case .alreadyPresented: "“\(step)” is already waiting for a result: await that result, or create a second step"
    case .alreadyRunning: "the flow “\(step)” is already running: await its completion, or create a second flow"
    case .unhandledResult: "no on rule follows “\(step)”, and its result is not the flow's output: add on(step)"
    case .duplicateName: "two steps are named “\(step)”: rename one, because the answer log identifies steps by name"
    case .unknownStep: "the answer log has an answer of “\(step)”, which the flow does not contain: start over"
    case .wrongStep: "the answer log does not fit the flow at “\(step)”: the flow has changed since; start over"
    case .wrongAnswer: "the answer log has an answer of “\(step)” that is not of its type: start over"
    case .notCodable: "an answer of “\(step)” is not Codable: conform to it off any actor, or keep the log in memory"
    case .overdue:
      "dismiss has not returned for the screen of “\(step)”, so the flow continues: return also if the user removed it"
    case .recordedFailure: "“\(step)” had failed when the log was stored"
    }
  }
}
