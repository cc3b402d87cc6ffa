// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Loopback
import Stepwise
import StepwiseHTTP

extension Scene {
  /// A job logs in, in the background, and reports progress on the main actor.
  static let login = Scene("login", "a login job: start, update, finish, a timeout and a cancel") { _ in
    let (questions, question) = AsyncStream.makeStream(of: Void.self)
    let server = try loginServer { question.yield() }
    defer { server.stop() }
    let login = loginJob(server)

    Console.writeLine("A job logs in on a server; its handlers run on the main actor.\n")
    Console.writeLine("The right password:")
    _ = await login.launch(Credentials(name: "ann", password: "secret")).outcome

    Console.writeLine("\nA wrong password:")
    _ = await login.launch(Credentials(name: "ann", password: "guess")).outcome

    Console.writeLine("\nA server that thinks for a minute, and .timeout(.milliseconds(300)):")
    _ = await login.timeout(.milliseconds(300)).launch(Credentials(name: "slow", password: "secret")).outcome

    Console.writeLine("\nThe same, and the user leaves the screen:")
    let run = login.launch(Credentials(name: "slow", password: "secret"))
    var count = 0
    for await _ in questions {
      count += 1
      if count == 4 { break }  // the server has been asked for the fourth time
    }
    await MainActor.run { _ = run.cancel(reason: "the user left") }
    Console.writeLine("  run.cancel(reason: \"the user left\")")
    guard case .cancelled(let cancellation) = await run.outcome else { return .failure }
    Console.writeLine("Ended: cancelled, because \(cancellation.reason ?? "-"); no further handler ran.")
    return .success
  }

  private struct Credentials: Sendable {
    let name: String
    let password: String
  }

  /// The login task of Elevate's README.
  private static func loginJob(_ server: LoopbackServer) -> Job<Credentials, String, Bool> {
    let address = server.address
    return Job("login") { (credentials: Credentials, job: JobContext<String>) in
      let response = try await HTTP.get("\(address)/\(credentials.name)/\(credentials.password)")
      guard response.isSuccess else { return false }
      job.update("Logged in, with the token \(String(decoding: response.body, as: UTF8.self))!")
      return true
    }
    .onStart { Console.writeLine("  onStart:   Logging in...") }
    .onUpdate { status in Console.writeLine("  onUpdate:  \(status)") }
    .onTimeout { Console.writeLine("  onTimeout: the server does not answer") }
    .onError { error in Console.writeLine("  onError:   \(error)") }
    .onFinish { outcome in
      switch outcome {
      case .resolved(true): Console.writeLine("  onFinish:  Logged in successfully!")
      case .resolved(false): Console.writeLine("  onFinish:  Invalid username/password!")
      case .failed, .cancelled: Console.writeLine("  onFinish:  not logged in")
      }
    }
  }

  private static func loginServer(whenAsked: @escaping @Sendable () -> Void) throws -> LoopbackServer {
    try LoopbackServer { request in
      whenAsked()
      switch request.path {
      case "/ann/secret": return .text("4711")
      case "/slow/secret": return .text("4711").slowly(chunkSize: 1, pause: .seconds(60))
      default: return .text("who are you?", status: 401)
      }
    }
  }
}
