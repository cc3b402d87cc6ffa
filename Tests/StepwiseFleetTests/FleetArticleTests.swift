// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  struct Shards {
    let fleets: [Fleet]

    subscript(tenant: String) -> Fleet {
      let hash = tenant.utf8.reduce(5_381 as UInt64) { $0 &* 33 ^ UInt64($1) }
      return fleets[Int(hash % UInt64(fleets.count))]
    }

    func work() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for fleet in fleets { group.addTask { try await fleet.work() } }
        try await group.waitForAll()
      }
    }
  }

  /// The samples of the articles about fleets.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetArticleTests {
    let test = TestFleet()
    let file = "a b c"

    @Test
    func `The same progression runs in one process and in a fleet`() async throws {
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

    @Test
    func `A process works for the fleets of all shards, and each tenant has one of them`() async throws {
      let shards = Shards(fleets: [test, TestFleet()].map { $0.fleet() })
      for fleet in shards.fleets { fleet.register(Import.self) }
      // Ends with this scope.
      async let _: Void = shards.work()
      for tenant in 0..<4 {
        try await shards["tenant \(tenant)"].enqueue(Import.start(file), id: "import-\(tenant)")
      }
      for tenant in 0..<4 {
        _ = try await shards["tenant \(tenant)"].result(of: "import-\(tenant)", as: Import.self)
      }
      for fleet in shards.fleets { #expect(try await fleet.counts() == [.done: 2]) }
    }

    /// Not called: it would wait for a signal.
    func work() async throws {
      let fleet = Fleet("host=db.internal dbname=work")
      fleet.register(Import.self)
      try await withTerminationSignals { try await fleet.work() }
    }

    /// Not called either.
    func workOnOrders() async throws {
      let fleet = Fleet("host=db.internal dbname=work")
      fleet.register(order)
      try await withTerminationSignals { try await fleet.work() }
    }

    /// Not called: no such server exists.
    func operateOrders() async throws {
      let fleet = Fleet("host=db.internal dbname=work user=shop sslmode=verify-full sslrootcert=/etc/ssl/db-ca.pem")
      let cart = Cart(books: 2)
      try await fleet.send(Approval(by: "Ann"), to: "order-7", signal: "approval", id: "button-31")
      try await fleet.enqueue(
        order,
        cart,
        id: "order-7",
        sending: Approval(by: "Ann"),
        signal: "approval",
        signalID: "button-31"
      )
      try await fleet.dropSignal("approval", of: "order-7", id: "button-31")
      fleet.register(order, version: 2)
      try await fleet.enqueue(order, cart, id: "order-8", version: 2)
    }

    @Test
    func `A chain without an input and an output is a job`() async throws {
      let photos = Journal()
      let cleanUp = Chain("clean up") { try await step("delete") { photos.add("delete") } }
      let fleet = test.fleet()
      fleet.register(cleanUp)
      let clean: @Sendable () async throws -> Void = {
        try await fleet.enqueue(cleanUp, id: "clean-up-2026-11-29")
        try await fleet.result(of: "clean-up-2026-11-29", as: cleanUp)
      }
      try await test.withWorkers([fleet]) { () async throws in try await clean() }
      #expect(photos.all == ["delete"])
    }

    @Test
    func `Customers take turns`() async throws {
      let fleet = test.fleet(slots: 1)
      fleet.register(Import.self)
      try await fleet.enqueue(
        (0..<100).map { (id: "\($0)", progression: Import.start("a")) },
        options: FleetOptions(key: "big")
      )
      let imports = [(id: "small", progression: Import.start("a b"))]
      try await fleet.enqueue(imports, options: FleetOptions(key: "customer-7"))
      let claims = Journal()
      try await test.withWorkers([fleet]) {
        if case .claimed(let ids, _) = $0 { for id in ids { claims.add(id) } }
      } _: { () async throws in
        #expect(try await fleet.result(of: "small", as: Import.self) == 2)
      }
      #expect(claims.all.prefix(2).contains("small"))
    }

    @Test
    func `A held order is looked into and continued`() async throws {
      let isDown = Lock(true)
      let order = Chain("order") { (cart: Cart) in
        let place = try await step("reserve") { try await stock.reserve(cart) }
        try await step("ship") {
          try await FleetJob.current?.setNote("waits for the courier")
          if isDown.withLock({ $0 }) { throw Down() }
        }
        return place
      }
      let fleet = test.fleet()
      fleet.register(order, onFailure: .hold)
      try await fleet.enqueue(order, Cart(books: 2), id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.failed, of: "order-7")
        let place = try await fleet.value(of: "order-7", step: "reserve", as: String.self)
        #expect(place == "shelf 2")
        #expect(try await fleet.status(of: "order-7")?.note == "waits for the courier")
        isDown.withLock { $0 = false }
        try await fleet.continue("order-7")
        #expect(try await fleet.result(of: "order-7", as: order) == "shelf 2")
      }
    }

    @Test
    func `An order is answered by one of two signals`() async throws {
      let answered = Chain("answered order") { (cart: Cart) in
        let answer = try await step(
          "answer",
          waitForAny: [
            .signal("approval", Answer.approved),
            .signal("rejection", Answer.rejected),
          ]
        )
        if case .rejected(let rejection) = answer { return rejection.reason }
        return "approved"
      }
      let fleet = test.fleet()
      fleet.register(answered)
      try await fleet.enqueue(
        answered,
        Cart(books: 2),
        id: "order-7",
        sending: Rejection(reason: "sold out"),
        signal: "rejection",
        signalID: "button-31"
      )
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "order-7", as: answered) == "sold out")
      }
    }

    @Test
    func `A transaction of the caller's enqueues a job`() async throws {
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

    @Test
    func `An order waits for its approval, and is undone when it comes too late`() async throws {
      let fleet = test.fleet()
      fleet.register(order)
      fleet.register(approved)
      let cart = Cart(books: 2)
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.enqueue(order, cart, id: "order-7")
        let place = try await fleet.result(of: "order-7", as: order)
        #expect(place == "shelf 2")
        try await fleet.enqueue(approved, cart, id: "order-8")
        try await fleet.send(Approval(by: "Ann"), to: "order-8", signal: "approval", id: "button-31")
        #expect(try await fleet.result(of: "order-8", as: approved) == "Ann")
      }
      fleet.register(order, version: 2)
      try await fleet.enqueue(order, cart, id: "order-9", version: 2)
      #expect(try await fleet.status(of: "order-9")?.state == .queued)
    }

    @Test
    func `A parent starts its children and waits for them`() async throws {
      let fleet = test.fleet(slots: 1)
      fleet.register(Import.self)
      fleet.register(Split.self)
      try await fleet.enqueue(Split.splitting(["a", "b"]), id: "split")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "split", as: Split.self) == 2)
      }
    }
  }

  extension FleetArticleTests {
    @Test
    func `An order sends its parcels as children, also by cron`() async throws {
      let fleet = test.fleet()
      fleet.register(gifts)
      fleet.register(parcel)
      try await fleet.schedule("nightly gifts", cron: "0 3 * * *", timeZone: "Europe/Berlin", gifts, ["12 High St"])
      try await fleet.enqueue(gifts, ["12 High St", "nowhere"], id: "gifts-7")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "gifts-7", as: gifts) == ["receipt for 12 High St"])
        let id = try await fleet.runSchedule("nightly gifts")
        #expect(try await fleet.result(of: id, as: gifts) == ["receipt for 12 High St"])
      }
    }
  }

  private struct NothingSent: Error {}

  private let parcel = Chain("parcel") { (address: String) in
    let label = try await step("label") {
      try await post.label(address)
    } undo: {
      try await post.cancel($0)
    }
    return try await step("hand over") { try await post.accept(label) }
  }

  private let gifts = Chain("gifts") { (addresses: [String]) in
    let receipts = try await step(
      "parcels",
      children: addresses.map { FleetChild(parcel, $0, id: $0) }
    )
    let sent = receipts.compactMap { try? $0.get() }
    if sent.isEmpty { throw NothingSent() }
    return sent
  }

  private struct Transaction: Sendable {
    private let connection = PostgresPool(server ?? "", size: 1)

    func execute(_ sql: String, _ parameters: [String?]) async throws {
      _ = try await connection.run(
        sql,
        parameters.map { .text($0) },
        within: .seconds(30)
      )
    }
  }

  private struct Cart: Codable, Sendable {
    var books: Int
  }

  private struct Approval: Codable, Sendable {
    var by: String
  }

  private struct Down: Error {}

  private struct Rejection: Codable, Sendable {
    var reason: String
  }

  private enum Answer: Codable {
    case approved(Approval), rejected(Rejection)
  }

  private struct Stock: Sendable {
    func reserve(_ cart: Cart) async throws -> String { "shelf \(cart.books)" }
    func release(_ place: String) async throws {}
  }

  private struct Bank: Sendable {
    func charge(_ cart: Cart) async throws -> String { "paid" }
    func refund(_ cart: Cart) async throws {}
  }

  private struct Post: Sendable {
    func ship(_ place: String) async throws {}
    func label(_ address: String) async throws -> String { address }
    func cancel(_ label: String) async throws {}
    func accept(_ label: String) async throws -> String {
      if label == "nowhere" { throw Down() }
      return "receipt for \(label)"
    }
  }

  private let (stock, bank, post) = (Stock(), Bank(), Post())

  private let order = Chain("order") { (cart: Cart) in
    let place = try await step("reserve") {
      try await stock.reserve(cart)
    } undo: {
      try await stock.release($0)
    }
    try await step("charge") {
      try await bank.charge(cart)
    } undo: { _ in
      try await bank.refund(cart)
    }
    try await step("ship") { try await post.ship(place) }
    return place
  }

  private let approved = Chain("approved order") { (cart: Cart) in
    let approval = try await step("approval", waitFor: Approval.self, timeout: .seconds(3 * 86_400))
    return approval.by
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
        let children = files.map { (id: $0, progression: Import.start($0)) }
        try await FleetJob.current?.enqueueChildren(children)
        return .joining(files)
      case .joining(let files):
        let states = try await FleetJob.current?.waitForChildren(files)
        return .joined(states?.filter { $0.state == .done }.count ?? 0)
      case .joined:
        return try completed()
      }
    }

    var result: Int? { if case .joined(let count) = self { count } else { nil } }
  }
#endif
