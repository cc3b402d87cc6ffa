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
    @Test(arguments: 1...2)
    func `The show ends with every import done, again on the same server`(round: Int) async throws {
      var show = FleetShow(jobCount: 80, kills: 3)
      show.program = try TourProcess.program()
      #expect(try await show.run(on: server))
    }

    private func board(isTerminal: Bool) -> [String] {
      let written = Lock<[String]>([])
      var board = FleetBoard()
      board.isTerminal = isTerminal
      board.write = { text in written.withLock { $0.append(text) } }
      for done in [0, 1, 10] { board.show([.queued: 20 - done, .done: done], [], killed: 2) }
      return written.withLock { $0 }
    }

    @Test
    func `The table has the jobs by state and by worker`() {
      let (drawn, printed) = (board(isTerminal: true), board(isTerminal: false))
      #expect(printed.count == 2)
      #expect(printed.last == "queued 10  running 0  done 10  failed 0  workers killed 2\n")
      #expect(drawn.count == 3)
      #expect(drawn.last == "\u{1B}[1A\r\u{1B}[J" + (printed.last ?? ""))
    }
  }
#endif
