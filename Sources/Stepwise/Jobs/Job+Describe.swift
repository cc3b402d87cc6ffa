// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Job {
  /// Returns a diagram of the job: the queue, the work, the limits around them, and the handlers.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public func describe(_ format: DiagramFormat = .text) -> String {
    format.text(of: Diagram(name, settings))
  }
}

extension Diagram {
  /// Creates the diagram of a job.
  fileprivate init(_ name: String, _ settings: JobSettings) {
    self.init(isSequence: true)
    let handlers = settings.handlers
    var limits: [Cluster] = []
    let start = handlers.onStart.isEmpty ? [] : [add("on start: \(handlers.onStart.count.handlers)", .handler)]
    if let limit = settings.deadline { open("deadline \(limit.duration)") }
    let turn = add("wait in the queue\(settings.priority.map { ", priority \($0.word)" } ?? "")", after: start)
    if let limit = settings.timeout { open("timeout \(limit.duration)") }
    let work = add(name, after: [turn])
    if settings.timeout != nil { limits.append(close()) }
    if settings.deadline != nil { limits.append(close()) }

    var ends = [work]
    if !handlers.onUpdate.isEmpty {
      let handler = add("on update: \(handlers.onUpdate.count.handlers)", .handler)
      add(Edge(from: work, to: handler, label: "update", isDashed: true))
    }
    if !handlers.onTimeout.isEmpty {
      let handler = add("on timeout: \(handlers.onTimeout.count.handlers)", .handler)
      for limit in limits { connect(limit, to: handler, "timeout") }
      ends.append(handler)
    }
    if !handlers.onError.isEmpty {
      let handler = add("on error: \(handlers.onError.count.handlers)", .handler)
      add(Edge(from: work, to: handler, label: "error", isDashed: true))
      ends.append(handler)
    }
    if !handlers.onFinish.isEmpty { _ = add("on finish: \(handlers.onFinish.count.handlers)", .handler, after: ends) }
  }
}

extension TaskPriority {
  /// The name of the priority in a diagram.
  fileprivate var word: String {
    switch self {
    case .high: "high"
    case .medium: "medium"
    case .low: "low"
    case .background: "background"
    default: "\(rawValue)"
    }
  }
}
