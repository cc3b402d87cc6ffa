// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if !Postgres
  extension Scene {
    static let fleet = Scene(
      "fleet",
      "Shares 2,000 imports over PostgreSQL; needs --traits Postgres.",
      parameters: ["[<command>]", "[<id>]"]
    ) { _ in
      Console.writeError("Tour: this scene needs libpq; type: swift run --traits Postgres Tour fleet")
      return .usage
    }
  }
#else
  import Foundation
  import StepwiseFleet

  extension Scene {
    static let fleet = Scene(
      "fleet",
      "Shares 2,000 imports over PostgreSQL among processes, and kills some.",
      parameters: ["[<command>]", "[<id>]"],
      details: [
        "STEPWISE_FLEET is the connection string; without it, a private server is started.",
        "status, cancel and retry with an id are for the server that STEPWISE_FLEET names.",
      ]
    ) { arguments in
      let variable = ProcessInfo.processInfo.environment["STEPWISE_FLEET"] ?? ""
      let connection = variable.isEmpty ? nil : variable
      switch (arguments.first, arguments.dropFirst().first, connection) {
      case (nil, _, _):
        return try await FleetShow().run(on: connection) ? .success : .failure
      case ("worker", let journal?, let connection?):
        let fleet = FleetShow.fleet(connection)
        fleet.register(FleetImport.self, retry: FleetShow.retry)
        FleetImport.journal = journal
        try await fleet.work()
        return .success
      case (let command?, let id?, let connection?):
        guard let control = FleetControl(rawValue: command) else { fallthrough }
        try await Console.writeLine(Console.oneLine(control.run(id, in: FleetShow.fleet(connection))))
        return .success
      default:
        throw Command.UsageError(
          description:
            "type: STEPWISE_FLEET='host=… dbname=…' swift run --traits Postgres Tour fleet status|cancel|retry <id>"
        )
      }
    }
  }
#endif
