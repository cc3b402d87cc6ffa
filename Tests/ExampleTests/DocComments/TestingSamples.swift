// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseHTTP
import StepwiseHTTPTesting
import StepwiseTesting
import Testing

// The samples of the test kit's doc comments, compiled and not run.

private func show(_ values: Any...) {}
private func work() {}
private func transfer(on clock: ManualClock) async throws {}

private struct DiskFull: Error {}

private func simulations() async throws {
  actor Account {
    var balance: Int
    init(balance: Int) { self.balance = balance }
    func withdraw(_ amount: Int) async throws { balance -= amount }
  }

  try await explore(seeds: 0..<1_000) { clock in
    let account = Account(balance: 100)
    async let first: Void = account.withdraw(80)
    async let second: Void = account.withdraw(80)
    _ = try await (first, second)
    try require(await account.balance >= 0, "overdrawn")
  }

  do {
    try await explore(seeds: 0..<1_000) { clock in try await transfer(on: clock) }
  } catch let failure as SimulationFailure {
    Issue.record(
      failure,
      sourceLocation: SourceLocation(
        fileID: failure.fileID,
        filePath: failure.filePath,
        line: failure.line,
        column: failure.column
      )
    )
  }

  try await CallbackFuzzer.check(seeds: 0..<200) { api in
    try await withResolver { resolver in
      let request = api.start { value, error in resolver.resolve(value, error) }
      resolver.onCancel { _ in request.cancel() }
    }
  }
}

private func clocks(chain: Chain<Int, Int>, policy: RetryPolicy, input: Int) async throws {
  do {
    let clock = ManualClock()
    let value = try await clock.run { try await chain.retry(policy, clock: clock).run(input) }
    #expect(clock.now.offset == .seconds(3))
    show(value)
  }
  do {
    let clock = ManualClock()
    let run = chain.retry(policy, clock: clock).start(input)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    show(run)
  }
}

private func recording(chain: Chain<Int, Int>, input: Int) async throws {
  let calls = Recorder<String>()
  let run = chain.finally { _ in calls.record("finally") }.start(input)
  await calls.elements(atLeast: 1)
  show(run)

  let tracker = LifetimeTracker()
  do {
    let chain = Chain("work") { [token = tracker.track()] in withExtendedLifetime(token) { work() } }
    try await chain.run()
  }
  await tracker.allReleased()
}

private func crashes(order: Chain<Int, Int>, cart: Int) async throws {
  try await crashEverywhere(input: 7) { ledger in
    Chain("order") { (amount: Int) in
      try await step("charge") { ledger.record("charge", key: CurrentStep.idempotencyKey) }
      return amount
    }
  }
  try await crashEverywhere { store in try await order.run(cart, id: "order", in: store) }
}

private func TableStore(_ database: String) throws -> MemoryCheckpointStore { MemoryCheckpointStore() }

private enum Import: Progression, Codable, Equatable {
  case start(String), split(lines: [String]), done(count: Int)

  func next() async throws -> Import { .done(count: 0) }
  var result: Int? { if case .done(let count) = self { count } else { nil } }
}

@Suite(.disabled("Samples are compiled and not run."))
private struct Stores {
  let database = ""
  let file = ""

  @Test func `A store keeps the promises of a checkpoint store`() async throws {
    let store = try TableStore(database)
    try await checkCheckpointStore(store) { try TableStore(database) }
  }

  @Test func `Stored stages stay readable`() throws {
    try SchemaLock(samples: [Import.start(file), .split(lines: ["a"]), .done(count: 1)]).check()
  }

  func faults() {
    let store = FaultInjectingStore(MemoryCheckpointStore(), faults: [3: .fail(DiskFull())])
    show(store)
  }
}

// swift-format-ignore: NeverForceUnwrap
private func stubs() async throws {
  let stub = HTTPStub()
  stub.on("GET", "/tracks/*") { _ in try .json(["title": "Kiss"]) }
  let client = HTTPClient(baseURL: URL(string: "https://example.org")!, session: stub.session)

  let titles = try await client.get("tracks/1").decoded(as: [String: String].self)
  #expect(stub.requests.map(\.url.path) == ["/tracks/1"])
  show(titles)
}

private func stubFaults() {
  let stub = HTTPStub(faults: HTTPStubFaults(seed: 7, probability: 0.3))
  show(stub)
}
