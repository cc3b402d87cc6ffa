// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetCodecTests {
    struct Refused: Error, Codable, Equatable {
      var card: String
    }

    /// Copies a text from stage to stage.
    struct Letter: Progression, Codable, Equatable {
      var text: String
      var step = 1

      func next() async throws -> Letter { Letter(text: text, step: step + 1) }
      var result: String? { step == 3 ? text : nil }
    }

    let test = TestFleet()
    let journal = Journal()

    private func fleet(_ codec: PayloadCodec?, _ previous: [PayloadCodec] = [], maxParked: Int = 1_000) -> Fleet {
      var configuration = test.fleet(slots: 4).configuration
      (configuration.codec, configuration.previousCodecs) = (codec, previous)
      configuration.maxParked = maxParked
      return Fleet(server ?? "", configuration: configuration)
    }

    /// Packs a parcel.
    private var parcel: Chain<String, String> {
      Chain("parcel") { [journal] (text: String) in
        try await step("pack") {
          journal.add("pack")
          return "packed \(text)"
        } undo: { _ in
          journal.add("unpack")
        }
      }
    }

    /// Reserves, waits for an approval, and ships.
    private func order(_ ship: @escaping @Sendable (String) async throws -> Void = { _ in }) -> Chain<String, String> {
      Chain("order") { [journal] (cart: String) in
        let place = try await step("reserve") {
          journal.add("reserve")
          return "place of \(cart)"
        } undo: {
          journal.add("undo \($0)")
        }
        let approval = try await step("approval", waitFor: String.self)
        try await step("ship") {
          journal.add("ship")
          try await ship(cart)
        }
        return "\(place) by \(approval)"
      }
    }

    /// Returns the columns of the tables that contain a text.
    private func columns(with text: String) async throws -> [String] {
      let database = test.fleet().database
      let columns = try await database.run(
        """
        SELECT c.table_name, c.column_name FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE c.table_schema = $1 AND t.table_type = 'BASE TABLE' ORDER BY 1, 2
        """,
        [.text(test.schema)]
      ).map { ($0.text(0) ?? "", $0.text(1) ?? "") }
      let hexadecimal = text.utf8.map { $0 < 16 ? "0\(String($0, radix: 16))" : String($0, radix: 16) }.joined()
      var found: [String] = []
      for (table, column) in columns {
        let rows = try await database.run(
          """
          SELECT FROM @.\(table) WHERE position($1::text IN "\(column)"::text) > 0 OR position($2::text IN "\(column)"::text) > 0
          """,
          [.text(text), .text(hexadecimal)]
        )
        if !rows.isEmpty { found.append("\(table).\(column)") }
      }
      return found
    }

    // MARK: - What is stored

    // G255
    @Test(arguments: [1_000, 0])
    func `No input, stage, value, signal or outcome is readable in the tables`(maxParked: Int) async throws {
      let (order, parcel) = (order(), parcel)
      let failing = Chain("failing") { (card: String) in
        try await step("charge") { throw Refused(card: card) }
      }
      let parent = Chain("parent") { (text: String) in
        let all = [FleetChild(parcel, text, id: "parcel"), FleetChild(Letter(text: text), id: "letter")]
        return try await step("children", children: all).map { try $0.get() }
      }
      let fleet = fleet(Sealing.codec("seal-1"), maxParked: maxParked)
      for chain in [order, parcel] { fleet.register(chain) }
      fleet.register(failing)
      fleet.register(parent)
      fleet.register(Letter.self)
      let secret = "secret-\(maxParked)"
      try await fleet.enqueue(Letter(text: secret), id: "letter")
      try await fleet.enqueue([(id: "letters", progression: Letter(text: secret))])
      let connection = PostgresPool(server ?? "", size: 1)
      try await fleet.enqueue([(id: "through", progression: Letter(text: secret))]) { statement in
        let parameters = statement.parameters.map { PostgresValue.text($0) }
        _ = try await connection.run(statement.sql, parameters, within: .seconds(30))
      }
      try await fleet.enqueue(order, secret, id: "order")
      try await fleet.enqueue(order, secret, id: "started", sending: secret, signal: "approval", signalID: "1")
      try await fleet.enqueue(failing, secret, id: "failing")
      try await fleet.enqueue(parent, secret, id: "parent")
      try await fleet.schedule("nightly", cron: "0 3 * * *", parcel, secret)
      try await fleet.schedule("letters", cron: "0 3 * * *", Letter(text: secret))
      let ticks = [try await fleet.runSchedule("nightly"), try await fleet.runSchedule("letters")]
      #expect(try await columns(with: secret).isEmpty)
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the order waits") { journal.count("reserve") == 2 }
        if maxParked == 0 { try await fleet.waitForState(.scheduled, of: "order") }
        // A signal that the step cannot read, and why, are payloads as well.
        if maxParked == 0 { try await fleet.send([secret: secret], to: "order", signal: "approval") }
        try await fleet.send(secret, to: "order", signal: "approval", id: "button")
        #expect(try await !fleet.send(secret, to: "order", signal: "approval", id: "button"))
        #expect(try await fleet.result(of: "order", as: order) == "place of \(secret) by \(secret)")
        #expect(try await fleet.result(of: "started", as: order) == "place of \(secret) by \(secret)")
        #expect(try await fleet.result(of: "parent", as: parent) == ["packed \(secret)", secret])
        #expect(try await fleet.result(of: ticks[0], as: parcel) == "packed \(secret)")
        for id in ["letter", "letters", "through", ticks[1]] {
          #expect(try await fleet.result(of: id, as: Letter.self) == secret)
        }
        await #expect(throws: Refused(card: secret)) { try await fleet.result(of: "failing", as: failing) }
      }
      // The text of an error is what the code says of it, and is shown to operators.
      #expect(try await columns(with: secret) == ["jobs.attempts", "jobs.error"])
      #expect(try await fleet.value(of: "order", step: "reserve", as: String.self) == "place of \(secret)")
      #expect(try await fleet.value(of: "order", step: "approval", as: String.self) == secret)
      var stages: [Letter] = []
      for try await stage in fleet.stages(of: "letter", as: Letter.self) { stages.append(stage) }
      #expect(stages == (1...3).map { Letter(text: secret, step: $0) })
      let texts = (1...3).map { #"{"step":\#($0),"text":"\#(secret)"}"# }
      #expect(try await fleet.history(of: "letter").map(\.json) == texts)
      #expect(try await fleet.history(of: "order").first?.json.hasSuffix(#","input":"\#(secret)"}"#) == true)
      let signals = try await fleet.refusedSignals(of: "order")
      #expect(signals.map(\.json) == (maxParked == 0 ? [#"{"\#(secret)":"\#(secret)"}"#] : []))
      #expect(signals.allSatisfy { $0.reason.contains("String") })
    }

    // G255
    @Test
    func `Nothing that is stored again is compared by its bytes`() async throws {
      let (order, parcel) = (order { _ in throw Refused(card: "visa") }, parcel)
      let fleet = fleet(Sealing.codec("seal-1"))
      fleet.register(order, onFailure: .hold)
      fleet.register(parcel)
      #expect(try await fleet.enqueue(parcel, "book", id: "parcel"))
      #expect(try await !fleet.enqueue(parcel, "book", id: "parcel"))
      #expect(try await fleet.enqueue(parcel, [(id: "parcel", input: "book"), (id: "other", input: "pen")]) == 1)
      // A schedule that is unchanged keeps its next time, whatever its input looks like.
      try await fleet.schedule("nightly", cron: "0 3 * * *", parcel, "book")
      try await fleet.database.run("UPDATE @.schedules SET next_at = next_at - interval '1 second'")
      let next = try await fleet.schedules().map(\.nextAt)
      try await fleet.schedule("nightly", cron: "0 3 * * *", parcel, "book")
      #expect(try await fleet.schedules().map(\.nextAt) == next)
      try await fleet.enqueue(order, "book", id: "order", sending: "Ann", signal: "approval", signalID: "1")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.failed, of: "order")
        // What is held is stored in one entry, which replaces the others.
        #expect(try await fleet.entries(of: "order").count == 1)
        #expect(try await fleet.continue("order"))
        try await waitUntil("it has failed again") { journal.count("ship") == 2 }
        try await fleet.waitForState(.failed, of: "order")
        #expect(try await fleet.cancel("order"))
        try await fleet.waitForState(.cancelled, of: "order")
        #expect(journal.count("undo place of book") == 1 && journal.count("reserve") == 1)
        // Run again, it has another identity and the same input.
        let starts = try await fleet.storedHistory(of: "order").map(\.json)
        #expect(try await fleet.requeue("order"))
        try await fleet.waitForState(.running, of: "order")
        try await fleet.send("Eve", to: "order", signal: "approval")
        try await fleet.waitForState(.failed, of: "order")
        #expect(journal.count("reserve") == 2)
        let again = try await fleet.storedHistory(of: "order").map(\.json)
        #expect(again.first?.prefix(36) != starts.first?.prefix(36))
        #expect(again.first?.dropFirst(36) == starts.first?.dropFirst(36))
      }
    }

    // MARK: - Another codec

    // G256
    @Test
    func `A job continues with the codec that follows, and from before there was one`() async throws {
      let (old, new) = (Sealing.codec("seal-1"), Sealing.codec("seal-2", key: 0x33))
      let order = order()
      let plain = fleet(nil)
      let letter = Letter(text: "letter")
      for id in ["plain", "old"] {
        let first = id == "plain" ? plain : fleet(old)
        try await first.enqueue(order, "book", id: id)
        try await first.enqueue(letter, id: "letter \(id)")
        let second = fleet(old)
        second.register(order)
        try await test.withWorkers([second]) { () async throws in
          try await waitUntil("the order waits") { try await second.status(of: id)?.wait?.reason == .signal }
        }
      }
      // One signal has no codec either.
      try await plain.send("Ann", to: "plain", signal: "approval")
      try await fleet(old).send("Ann", to: "old", signal: "approval")
      let rotated = fleet(new, [old])
      rotated.register(order)
      rotated.register(Letter.self)
      try await test.withWorkers([rotated]) { () async throws in
        for id in ["plain", "old"] {
          #expect(try await rotated.result(of: id, as: order) == "place of book by Ann")
          #expect(try await rotated.value(of: id, step: "reserve", as: String.self) == "place of book")
          #expect(try await rotated.result(of: "letter \(id)", as: Letter.self) == "letter")
          #expect(try await rotated.history(of: "letter \(id)").count == 3)
        }
      }
      #expect(journal.all.sorted() == ["reserve", "reserve", "ship", "ship"])
      // Each payload names its codec.
      let codecs = try await rotated.entries(of: "plain").map { EncodedPayload.codec(of: $0.entry) }
      #expect(codecs.first == "seal-1" && codecs.last == "seal-2")
      let stages = try await rotated.storedHistory(of: "letter old").map { EncodedPayload.bytes(of: $0.json) }
      #expect(stages.map { EncodedPayload.codec(of: $0) } == ["seal-1", "seal-2", "seal-2"])
      // Without a codec, what was encoded is read, and nothing more is encoded.
      let last = fleet(nil, [old, new])
      last.register(Letter.self)
      #expect(try await last.fork("letter old", fromStage: 2, as: "copy"))
      try await test.withWorkers([last]) { () async throws in
        #expect(try await last.result(of: "copy", as: Letter.self) == "letter")
      }
      #expect(try await last.storedHistory(of: "copy").last?.json == #"{"step":3,"text":"letter"}"#)
    }

    // MARK: - Codecs that cannot read

    // G257
    @Test(arguments: [true, false])
    func `A codec that is missing or that fails is an error that names it`(isMissing: Bool) async throws {
      let (order, fleet) = (order { _ in throw Refused(card: "visa") }, fleet(Sealing.codec("seal-1"), maxParked: 0))
      fleet.register(order, onFailure: .hold)
      fleet.register(Letter.self)
      fleet.register(parcel)
      try await fleet.enqueue(order, "book", id: "order")
      try await fleet.enqueue(Letter(text: "letter"), id: "letter")
      try await fleet.enqueue(parcel, "book", id: "parcel")
      try await test.withWorkers([fleet]) { () async throws in
        _ = try await fleet.result(of: "letter", as: Letter.self)
        _ = try await fleet.result(of: "parcel", as: parcel)
        try await fleet.waitForState(.scheduled, of: "order")
        try await fleet.send(["a": 1], to: "order", signal: "approval")
        try await fleet.send("Ann", to: "order", signal: "approval")
        try await fleet.waitForState(.failed, of: "order")
      }
      // That which fails has the same name and another key.
      let other = self.fleet(isMissing ? Sealing.codec("seal-2") : Sealing.codec("seal-1", key: 0x33))
      func fails(_ id: String, _ body: () async throws -> Void) async {
        await #expect {
          try await body()
        } throws: { error in
          guard "\(error)".contains("\"seal-1\""), "\(error)".contains("\"\(id)\"") else { return false }
          return switch error as? FleetError {
          case .unknownCodec(id, "seal-1"): isMissing
          case .undecodable(id, "seal-1", _): !isMissing
          default: false
          }
        }
      }
      await fails("letter") { _ = try await other.result(of: "letter", as: Letter.self) }
      await fails("letter") { for try await _ in other.stages(of: "letter", as: Letter.self) {} }
      await fails("letter") { _ = try await other.history(of: "letter") }
      await fails("parcel") { _ = try await other.result(of: "parcel", as: parcel) }
      await fails("order") { _ = try await other.value(of: "order", step: "reserve", as: String.self) }
      await fails("order") { try await other.continue("order") }
      await fails("order") { _ = try await other.refusedSignals(of: "order") }
      // Nothing was changed.
      #expect(try await fleet.value(of: "order", step: "reserve", as: String.self) == "place of book")
      #expect(try await fleet.continue("order"))
    }

    // G257
    @Test
    func `What the codec cannot encode is not stored, and the error names the codec`() async throws {
      let fleet = fleet(Sealing.refusing("secret"))
      let (order, parcel) = (order(), parcel)
      let value = Chain("value") { [journal] (_: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        return try await step("value") {
          "secret"
        } undo: {
          journal.add("undo \($0)")
        }
      }
      let children = Chain("children") { (_: Int) in
        try await step("parcels", children: [FleetChild(parcel, "secret", id: "1")]).count
      }
      let letter = Letter(text: "secret")
      fleet.register(value)
      fleet.register(children)
      fleet.register(Letter.self, retry: RetryPolicy(maxAttempts: 3, backoff: .none))
      func fails(_ body: () async throws -> Void) async {
        await #expect {
          try await body()
        } throws: {
          if case FleetError.unstorable(_, let reason) = $0 { reason.contains("\"refusing\"") } else { false }
        }
      }
      await fails { try await fleet.enqueue(letter, id: "letter") }
      await fails { try await fleet.enqueue([(id: "letter", progression: letter)]) }
      await fails { try await fleet.enqueue(order, "secret", id: "order") }
      await fails { try await fleet.schedule("nightly", cron: "0 3 * * *", order, "secret") }
      try await fleet.enqueue(order, "book", id: "order")
      await fails { try await fleet.send("secret", to: "order", signal: "approval") }
      await fails {
        try await fleet.enqueue(order, "book", id: "new", sending: "secret", signal: "approval", signalID: "1")
      }
      #expect(try await fleet.counts() == [.queued: 1])
      // One that another fleet has enqueued is a dead letter, and its data is kept.
      try await self.fleet(nil).enqueue(letter, id: "letter")
      try await fleet.enqueue(value, 1, id: "value")
      try await fleet.enqueue(children, 1, id: "children")
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["letter", "value", "children"] { try await fleet.waitForState(.failed, of: id) }
      }
      for id in ["letter", "value", "children"] {
        #expect(try await fleet.status(of: id)?.error?.contains("\"refusing\"") == true)
      }
      #expect(journal.all == ["reserve", "undo secret", "undo reserve"])
      #expect(try await fleet.history(of: "letter").count == 1)
    }

    // G258
    @Test(arguments: [true, false], [1_000, 0])
    func `A worker that cannot read a job stops it, and one that can continues it`(
      isMissing: Bool,
      maxParked: Int
    ) async throws {
      let (order, parcel, codec, common) = (order(), parcel, Sealing.codec("seal-1"), Sealing.codec("common"))
      let parent = Chain("parent") { [journal] (text: String) in
        try await step("reserve") {
          journal.add("parent")
        } undo: {
          journal.add("undo parent")
        }
        return try await step("parcels", children: [FleetChild(parcel, text, id: "1")]).map { try $0.get() }
      }
      let (right, parcels) = (fleet(codec, [common]), fleet(codec, [common]))
      let wrong = fleet(common, isMissing ? [] : [Sealing.codec("seal-1", key: 0x33)], maxParked: maxParked)
      let once = RetryPolicy(maxAttempts: 1, backoff: .none)
      for fleet in [right, wrong] {
        fleet.register(order, retry: once)
        fleet.register(parent, retry: once)
        fleet.register(Letter.self, retry: once)
        fleet.register(Question.self, retry: once)
      }
      for fleet in [right, parcels] { fleet.register(parcel, retry: once) }
      // What cannot be read: what a step has stored, a stage, an input, two signals, and what a child has returned.
      try await right.enqueue(order, "book", id: "entries")
      try await test.withWorkers([right]) { () async throws in
        try await waitUntil("the order waits") { try await right.status(of: "entries")?.wait?.reason == .signal }
      }
      try await wrong.send("Ann", to: "entries", signal: "approval")
      try await right.enqueue(Letter(text: "letter"), id: "stage")
      try await right.enqueue(order, "book", id: "input", sending: "Ann", signal: "approval", signalID: "1")
      for id in ["signal", "question"] {
        if id == "signal" {
          try await wrong.enqueue(order, "book", id: id)
        } else {
          try await wrong.enqueue(Question(), id: id)
        }
        try await right.send("Ann", to: id, signal: "approval")
      }
      try await wrong.enqueue(parent, "book", id: "parent")
      let ids = ["entries", "stage", "input", "signal", "question", "parent"]
      let stops = Journal()
      let onEvent = { @Sendable (event: FleetEvent) in
        guard case .ended(let id, _, .scheduled, _, let error as FleetError) = event else { return }
        if error.codec == "seal-1" { stops.add(id) }
      }
      try await test.withWorkers([wrong, parcels], onEvent: onEvent) {
        try await waitUntil("all are stopped; \(stops.all) are") { Set(stops.all) == Set(ids) }
        try await wrong.waitForState(.done, of: "parent/parcels/1")
      }
      for id in ids {
        let status = try #require(try await right.status(of: id))
        #expect(status.state == .scheduled && status.attempt == 0 && status.endedAt == nil, "\(status)")
        #expect(status.wait?.reason == .codec && status.wait?.details == ["seal-1"], "\(status)")
        #expect(status.wait.map { "\($0)" } == "a worker whose codec \"seal-1\" can read it")
        #expect(status.wait?.until != nil)
        #expect(status.error?.contains("\"seal-1\"") == true)
        #expect(try await right.attempts(of: id).isEmpty)
      }
      // Chains that are cancelled meanwhile stay stopped, as their steps are to be undone. A progression has no undo.
      try await right.cancel(["input", "parent", "question"], reason: "too late")
      #expect(try await right.status(of: "question")?.state == .cancelled)
      try await test.withWorkers([wrong], onEvent: onEvent) {
        try await waitUntil("they are stopped again") { ["input", "parent"].allSatisfy { stops.count($0) > 1 } }
      }
      #expect(journal.all.sorted() == ["pack", "parent", "reserve", "reserve"])
      for id in ["input", "parent"] {
        #expect(try await right.status(of: id)?.wait?.reason == .codec, "\(id)")
        // It is not tried again at once.
        #expect(stops.count(id) == 2)
      }
      try await right.database.run("UPDATE @.jobs SET run_at = clock_timestamp() WHERE state = 'scheduled'")
      try await test.withWorkers([right]) { () async throws in
        #expect(try await right.result(of: "stage", as: Letter.self) == "letter")
        for id in ["entries", "signal"] {
          #expect(try await right.result(of: id, as: order) == "place of book by Ann")
          let status = try #require(try await right.status(of: id))
          #expect(status.error == nil && status.wait == nil)
        }
        for id in ["input", "parent", "parent/parcels/1"] { try await right.waitForState(.cancelled, of: id) }
      }
      #expect(
        journal.all.sorted() == ["pack", "parent", "reserve", "reserve", "ship", "ship", "undo parent", "unpack"]
      )
    }

    /// Waits for a signal in a stage.
    struct Question: Progression, Codable, Equatable {
      var answer: String?

      func next() async throws -> Question {
        Question(answer: try await FleetJob.current?.waitForSignal("approval", as: String.self))
      }
      var result: String? { answer }
    }
  }
#endif
