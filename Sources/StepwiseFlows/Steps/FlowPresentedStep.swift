// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The step that a result belongs to, as `on` receives it.
@MainActor
public struct FlowPresentedStep<Content, Result: Sendable> {
  /// The step itself.
  public let step: FlowStep<Content, Result>

  private let latest: Content

  init?(_ step: FlowStep<Content, Result>) {
    guard let content = step.knownContent else { return nil }
    self.step = step
    latest = content
  }

  /// The step's name.
  public var name: String { step.name }

  /// The current content of the step; setting it notifies the screens that show it.
  public var content: Content {
    get { step.content ?? latest }
    nonmutating set { step.content = newValue }
  }
}
