// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Dispatch
internal import LegacySupport

/// Runs work later or elsewhere, as a queue does.
@available(*, deprecated, message: "Use a TaskExecutor, or the actor that the work is bound to")
public typealias AsyncPerformer = (@escaping @Sendable () -> Void) -> Void

/// A performer that may be used on any thread.
package struct Performer: Sendable {
  private let perform: Sent<(@escaping @Sendable () -> Void) -> Void>

  package init(_ perform: @escaping (@escaping @Sendable () -> Void) -> Void) {
    self.perform = Sent(perform)
  }

  package init(_ queue: DispatchQueue) {
    self.init { work in queue.async(execute: work) }
  }

  package init(_ qos: DispatchQoS.QoSClass) { self.init(.global(qos: qos)) }

  package func callAsFunction(_ work: @escaping @Sendable () -> Void) { perform.value(work) }
}
