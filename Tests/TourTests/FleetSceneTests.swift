// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
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
      #expect(try await show.run(on: #require(server)))
    }
  }
#endif
