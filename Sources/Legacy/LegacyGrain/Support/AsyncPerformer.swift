// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport

/// Runs work at some other time or place, as a queue does.
@available(*, deprecated, message: "Use a TaskExecutor, or the actor that the work is bound to")
public typealias AsyncPerformer = (@escaping @Sendable () -> Void) -> Void

/// A performer that may be taken along.
struct Performer: Sendable {
  private let perform: Sent<(@escaping @Sendable () -> Void) -> Void>

  init(_ perform: @escaping (@escaping @Sendable () -> Void) -> Void) {
    self.perform = Sent(perform)
  }

  init(_ queue: DispatchQueue) {
    self.init { work in queue.async(execute: work) }
  }

  init(_ qos: DispatchQoS.QoSClass) { self.init(.global(qos: qos)) }

  func callAsFunction(_ work: @escaping @Sendable () -> Void) { perform.value(work) }
}
