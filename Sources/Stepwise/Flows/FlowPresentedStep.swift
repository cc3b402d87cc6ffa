// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The step that an answer is of, as `on` hands it over.
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

  /// The step's content, as it is now; setting it tells the screens that show it.
  public var content: Content {
    get { step.content ?? latest }
    nonmutating set { step.content = newValue }
  }
}
