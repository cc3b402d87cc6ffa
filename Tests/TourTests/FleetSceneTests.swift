// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseFleet
  import Testing

  @testable import Tour

  private let server = ProcessInfo.processInfo.environment["STEPWISE_POSTGRES"]

  @Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetSceneTests {
    @Test("The show ends with every import done, again on the same server", arguments: 1...2)
    func shows(round: Int) async throws {
      var show = FleetShow(jobCount: 80, kills: 3)
      show.program = try TourProcess.program()
      #expect(try await show.run(on: server))
    }

    @Test("People on call see, cancel and retry a job, and read why a command does nothing")
    func controls() async throws {
      let fleet = FleetShow.fleet(try #require(server))
      let id = "on call \(UUID().uuidString)"
      func refusal(_ control: FleetControl) async throws -> String {
        let error = await #expect(throws: (any Error).self) { try await control.run(id, in: fleet) }
        return "\(try #require(error))"
      }
      let missing = "job \"\(id)\" does not exist; it was never enqueued, or it was pruned"
      #expect(try await refusal(.status) == missing)
      #expect(try await refusal(.cancel) == missing)
      #expect(try await refusal(.retry) == missing)
      // No worker runs it before its time.
      let options = FleetOptions(start: .after(.seconds(3_600)))
      try await fleet.enqueue(FleetImport.read(number: 1), id: id, options: options)
      #expect(try await FleetControl.status.run(id, in: fleet) == "\(id): scheduled, stage 1, attempt 0")
      #expect(
        try await refusal(.retry) == "job \"\(id)\" is scheduled: only a failed or cancelled job can be retried"
      )
      let cancelled = "\(id): cancelled, stage 1, attempt 0, reason: cancelled by hand"
      #expect(try await FleetControl.cancel.run(id, in: fleet) == cancelled)
      #expect(try await refusal(.cancel) == "job \"\(id)\" is cancelled: it has ended, so it cannot be cancelled")
      #expect(try await FleetControl.retry.run(id, in: fleet) == "\(id): queued, stage 1, attempt 0")
      try await fleet.cancel(id)
    }

    private func board(isTerminal: Bool) -> [String] {
      let written = Lock<[String]>([])
      var board = FleetBoard()
      board.isTerminal = isTerminal
      board.write = { text in written.withLock { $0.append(text) } }
      for done in [0, 1, 10] { board.show([.queued: 20 - done, .done: done], [], killed: 2) }
      return written.withLock { $0 }
    }

    @Test("The table has the jobs by state and by worker, redrawn on a terminal and printed at each tenth elsewhere")
    func draws() {
      let (drawn, printed) = (board(isTerminal: true), board(isTerminal: false))
      #expect(printed.count == 2)
      #expect(printed.last == "queued 10  running 0  done 10  failed 0  workers killed 2\n")
      #expect(drawn.count == 3)
      #expect(drawn.last == "\u{1B}[1A\r\u{1B}[J" + (printed.last ?? ""))
    }
  }
#endif
