// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet

  /// Counts from a stage to a last one; what a stage does is what the test set for its script.
  struct Work: Progression, Codable, Equatable {
    typealias Body = @Sendable (_ id: String, _ step: Int, _ attempt: Int) async throws -> Void

    private static let bodies = Lock<[String: Body]>([:])

    var script: String
    var step = 1
    var last: Int

    /// Sets what the stages of a script do, and returns progressions of it.
    static func script(last: Int = 3, _ body: @escaping Body = { _, _, _ in }) -> Work {
      let name = UUID().uuidString
      bodies.withLock { $0[name] = body }
      return Work(script: name, last: last)
    }

    func next() async throws -> Work {
      let job = FleetJob.current
      try await Self.bodies.withLock { $0[script] }?(job?.id ?? "", step, job?.attempt ?? 0)
      return Work(script: script, step: step + 1, last: last)
    }

    var result: Int? { step == last ? step : nil }
  }

  /// What happened, in order.
  final class Journal: Sendable {
    private let entries = Lock<[String]>([])

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }

    var all: [String] { entries.withLock { $0 } }

    func count(_ entry: String) -> Int { all.filter { $0 == entry }.count }
  }

  /// A schema of its own for each test.
  struct TestFleet {
    let schema = "fleet \(UUID().uuidString.prefix(8))"

    func fleet(
      slots: Int = 8,
      lease: Duration = .seconds(60),
      listens: Bool = true,
      poll: Duration = .milliseconds(200),
      drainLimit: Duration = .seconds(60),
      retention: Duration? = nil,
      tags: FleetTags = .all,
      server connectionString: String = server ?? ""
    ) -> Fleet {
      Fleet(
        connectionString,
        configuration: FleetConfiguration(
          schema: schema,
          slots: slots,
          leaseDuration: lease,
          pollInterval: poll,
          maxConnections: 2,
          drainLimit: drainLimit,
          listens: listens,
          retention: retention,
          tags: tags
        )
      )
    }

    /// Returns the payloads of the notifications from now on, as long as the journal exists.
    func listen() async throws -> Journal {
      let (isListening, journal) = (Once<Void>(), Journal())
      FleetHub.listen(server ?? "", schema, while: { [weak journal] in journal != nil }) { [weak journal] payload in
        if let payload { journal?.add(payload) } else { isListening.settle(()) }
      }
      try await isListening.value(of: "the listener's connection")
      return journal
    }

    /// Runs a body while workers run, and then drains them.
    @discardableResult
    func withWorkers<Value: Sendable>(
      _ fleets: [Fleet],
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in },
      _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
      let token = CancellationToken()
      defer { token.cancel() }
      let drained = fleets.map { fleet in
        let drained = Once<Result<Void, any Error>>()
        _ = spawn {
          do {
            try await fleet.work(until: token, onEvent: onEvent)
            drained.settle(.success(()))
          } catch {
            drained.settle(.failure(error))
          }
        }
        return drained
      }
      let value = try await body()
      token.cancel()
      for drained in drained { try await drained.value(of: "a worker drains").get() }
      return value
    }
  }
#endif
