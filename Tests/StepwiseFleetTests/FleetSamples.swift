// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet

  // The samples of the doc comments on fleets, compiled and not run.

  private enum Import: Progression, Codable {
    case start(String), splitting([String]), joining([String]), done

    func next() async throws -> Import {
      switch self {
      case .start(let file): return .splitting([file])
      case .splitting(let files):
        try await FleetJob.current?.enqueueChildren(files.map { (id: $0, progression: Import.start($0)) })
        return .joining(files)
      case .joining(let files):
        _ = try await FleetJob.current?.waitForChildren(files)
        return .done
      case .done: return try completed()
      }
    }

    var result: Bool? { if case .done = self { true } else { nil } }
  }

  private func operate(_ fleet: Fleet) async throws {
    if let wait = try await fleet.status(of: "order-7")?.wait {
      print("order-7 waits for \(wait), since \(wait.since)")  // the signal approval
    }
    let filter = FleetFilter(states: [.failed], error: "HTTP 503 from files.example.com")
    let count = try await fleet.apply(.retry, to: filter, isDryRun: true).applicableCount
    try await fleet.apply(.retry, to: filter) { print("\($0.changedCount) of \(count)") }
  }

  private func tags(_ fleet: Fleet, _ file: String) async throws {
    try await fleet.enqueue(Import.start(file), id: "import-43", options: FleetOptions(tags: ["gpu", "tenant:7"]))
    try await fleet.apply(.retry, to: FleetFilter(states: [.failed], tag: "tenant:7"))
  }

  private func configurations(_ server: String) -> [FleetConfiguration] {
    let fleet = Fleet(server, configuration: FleetConfiguration(tags: .only(["gpu"])))
    fleet.register(Import.self)
    let gpus = FleetConfiguration(tags: .only(["gpu"]))
    let others = FleetConfiguration(tags: .except(["gpu"]))
    return [gpus, others]
  }

  private func encoded(_ codec: PayloadCodec, _ newCodec: PayloadCodec) -> [FleetConfiguration] {
    let first = FleetConfiguration(codec: codec, previous: [newCodec])
    let second = FleetConfiguration(codec: newCodec, previous: [codec])
    return [first, second]
  }

  private enum Probe { case ok, serviceUnavailable }

  private func probe(_ fleet: Fleet) -> Probe {
    guard fleet.health.isHealthy else { return .serviceUnavailable }
    return .ok
  }

  private let parcel = Chain("parcel") { (address: String) in address }

  private let parcels = Chain("parcels") { (addresses: [String]) in
    let receipts = try await step(
      "parcels",
      children: addresses.map { FleetChild(parcel, $0, id: $0) }
    )
    let sent = receipts.compactMap { try? $0.get() }
    return sent
  }

  private func limits(_ fleet: Fleet) {
    fleet.register(Import.self, limits: FleetLimits(stageTime: .seconds(60), jobTime: .seconds(3_600))) { error in
      !(error is DecodingError)  // a dead letter at once
    }
  }

  private func roles(_ fleet: Fleet) {
    print(fleet.schemaSQL + ";")
    print(fleet.grantsSQL(enqueuer: "shop", worker: "shop_worker"))
  }

  private func events(_ fleet: Fleet, _ logger: Logger) async throws {
    try await fleet.work { event in
      switch event {
      case .claimed(let ids, let time):
        Counter(label: "fleet_claimed").increment(by: ids.count)
        Timer(label: "fleet_claim").recordNanoseconds(Int64(time / .nanoseconds(1)))
      case .saved(_, _, let isLast):
        if isLast { Counter(label: "fleet_done").increment() }
      case .ended(let id, let progression, .failed, let attempt, let error):
        logger.error("\(progression) \(id) is a dead letter after attempt \(attempt): \(String(describing: error))")
      case .claimFailed(let error), .heartbeatFailed(let error):
        logger.warning("\(error)")
      default:
        logger.debug("\(event)")
      }
    }
  }

  // What the sample uses of swift-log and swift-metrics.

  private struct Logger {
    func error(_ text: String) {}
    func warning(_ text: String) {}
    func debug(_ text: String) {}
  }

  private struct Counter {
    let label: String
    func increment(by count: Int = 1) {}
  }

  private struct Timer {
    let label: String
    func recordNanoseconds(_ time: Int64) {}
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
