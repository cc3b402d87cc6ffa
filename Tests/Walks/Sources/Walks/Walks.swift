// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows

/// Runs what the argument names, once, so that a build with coverage shows which files of the library that executes.
@main
struct Walks {
  static func main() async throws {
    switch CommandLine.arguments.last {
    case "Chain.run": _ = try await chain.run(1)
    case "start().value": _ = try await chain.start(1).value
    case "Progression.run": _ = try await Countdown.at(2).run()
    case "Job.launch": try await launch()
    case "Flow.run": try await flow()
    case let walk: throw UnknownWalk(name: walk ?? "")
    }
  }

  static var chain: Chain<Int, String> {
    Chain("add") { (number: Int) in number + 1 }
      .then("double") { number in number * 2 }
      .then("describe") { number in "\(number)" }
  }

  @MainActor static func launch() async throws {
    var lines: [String] = []
    let job = Job("job") { (name: String, job: JobContext<String>) in
      job.update("looking up")
      return name.count
    }
    .onUpdate { lines.append($0) }
    .onFinish { lines.append("\($0)") }
    _ = try await job.launch("name").value
  }

  @MainActor static func flow() async throws {
    let first = FlowStep<Void, Int>("first") { $0.complete(1) }
    let second = FlowStep<Int, Void>("second") { $0.complete(()) }
    try await Flow<Void>("flow", first: first).on(first) { number, _ in .next(second, number) }.run()
  }
}

enum Countdown: Progression {
  case at(Int), landed

  var result: String? { if case .landed = self { "landed" } else { nil } }

  func next() async throws -> Countdown {
    guard case .at(let number) = self, number > 0 else { return .landed }
    return .at(number - 1)
  }
}

struct UnknownWalk: Error { let name: String }
