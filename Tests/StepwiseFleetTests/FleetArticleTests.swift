// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// The samples of the articles about fleets.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetArticleTests {
    let test = TestFleet()
    let file = "a b c"

    @Test("The same progression runs in one process and in a fleet")
    func moves() async throws {
      let store = MemoryCheckpointStore()
      let alone: () async throws -> Int = { [file] in
        let result = try await Import.start(file).run(id: "import-42", in: store)
        return result
      }
      let fleet = test.fleet()
      fleet.register(Import.self)
      let shared: @Sendable () async throws -> Int = { [file] in
        try await fleet.enqueue(Import.start(file), id: "import-42")
        let result = try await fleet.result(of: "import-42", as: Import.self)
        return result
      }
      let result = try await test.withWorkers([fleet]) { () async throws -> Int in try await shared() }
      #expect(try await alone() == result)
    }

    /// Not called: it would wait for a signal.
    func work() async throws {
      let fleet = Fleet("host=db.internal dbname=work")
      fleet.register(Import.self)
      try await withTerminationSignals { try await fleet.work() }
    }

    @Test("A transaction of the caller's enqueues a job")
    func enqueues() async throws {
      let fleet = test.fleet()
      _ = try await fleet.counts()
      let transaction = Transaction()
      try await transaction.execute("BEGIN", [])
      try await fleet.enqueue([(id: "order-7", progression: Order.placed(7))]) { statement in
        try await transaction.execute(statement.sql, statement.parameters)  // bound as text
      }
      #expect(try await fleet.counts().isEmpty)
      try await transaction.execute("COMMIT", [])
      #expect(try await fleet.counts() == [.queued: 1])
    }

    @Test("A parent starts its children and waits for them")
    func splits() async throws {
      let fleet = test.fleet(slots: 1)
      fleet.register(Import.self)
      fleet.register(Split.self)
      try await fleet.enqueue(Split.splitting(["a", "b"]), id: "split")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "split", as: Split.self) == 2)
      }
    }
  }

  private struct Transaction: Sendable {
    private let connection = PostgresConnection(server ?? "", number: 0)

    func execute(_ sql: String, _ parameters: [String?]) async throws {
      _ = try await connection.run(
        sql,
        parameters.map { $0.map { .text($0) } ?? .nullText },
        within: .seconds(30)
      )
    }
  }

  private enum Import: Progression, Codable, Equatable {
    case start(String), counted(Int)

    func next() async throws -> Import {
      guard case .start(let text) = self else { return try completed() }
      return .counted(text.split(separator: " ").count)
    }

    var result: Int? { if case .counted(let count) = self { count } else { nil } }
  }

  private enum Order: Progression, Codable, Equatable {
    case placed(Int), shipped(Int)

    func next() async throws -> Order {
      guard case .placed(let number) = self else { return try completed() }
      return .shipped(number)
    }

    var result: Int? { if case .shipped(let number) = self { number } else { nil } }
  }

  private enum Split: Progression, Codable, Equatable {
    case splitting([String]), joining([String]), joined(Int)

    func next() async throws -> Split {
      switch self {
      case .splitting(let files):
        let children = files.map { (id: "import-\($0)", progression: Import.start($0)) }
        try await FleetJob.current?.enqueueChildren(children)
        return .joining(files)
      case .joining(let files):
        let states = try await FleetJob.current?.waitForChildren(files.map { "import-\($0)" })
        return .joined(states?.filter { $0.state == .done }.count ?? 0)
      case .joined:
        return try completed()
      }
    }

    var result: Int? { if case .joined(let count) = self { count } else { nil } }
  }
#endif
