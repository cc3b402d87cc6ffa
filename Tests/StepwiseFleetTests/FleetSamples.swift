// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseFleet

  // The samples of the doc comments on fleets, compiled and not run.

  private enum Import: Progression, Codable {
    case start(String), splitting([String]), joining([String]), done

    func next() async throws -> Import {
      switch self {
      case .start(let file): return .splitting([file])
      case .splitting(let files):
        try await FleetJob.current?.enqueueChildren(files.map { (id: "import-\($0)", progression: Import.start($0)) })
        return .joining(files)
      case .joining(let files):
        _ = try await FleetJob.current?.waitForChildren(files.map { "import-\($0)" })
        return .done
      case .done: return try completed()
      }
    }

    var result: Bool? { if case .done = self { true } else { nil } }
  }

  private func fleets(file: String) async throws -> Bool {
    let fleet = Fleet("host=db.internal dbname=work")
    fleet.register(Import.self)
    try await fleet.enqueue(Import.start(file), id: "import-42")
    try await withTerminationSignals { try await fleet.work() }  // in each worker
    let result = try await fleet.result(of: "import-42", as: Import.self)  // anywhere
    return result
  }
#endif
