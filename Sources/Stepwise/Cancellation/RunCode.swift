// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The code of a run with a journal, as opposed to the bodies of its steps: what it does is done again by a further process.
package struct RunCode: Equatable, Sendable {
  /// The code that runs; nil elsewhere.
  @TaskLocal package static var current: RunCode?

  private let journal: ObjectIdentifier

  package init(of journal: AnyObject) { self.journal = ObjectIdentifier(journal) }
}
