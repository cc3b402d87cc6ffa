// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Loopback
import Stepwise
import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Scene {
  /// A chain retries after errors that may be temporary, and after no others.
  static let retry = Scene("retry", "retry on a server that fails at first") { _ in
    let server = try flakyServer()
    defer { server.stop() }
    let ask = Chain(
      Step.callback("ask") { (url: URL, resolver: Resolver<String>) in
        let task = URLSession.shared.dataTask(with: url) { data, response, error in
          resolver.resolve { try answer(data, response, error) }
        }
        resolver.onCancel { _ in task.cancel() }
        task.resume()
      }
    )
    .retry(
      RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(50))),
      if: { error in !(error is NotFound) }
    )

    Console.writeLine("A chain fetches the weather from a server that fails at first; the chain ends in")
    Console.writeLine("  .retry(RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(50))),")
    Console.writeLine("         if: { error in !(error is NotFound) })\n")
    Console.writeLine("Today:")
    let weather = try await ask.run((server.address + "/today").httpURL())
    Console.writeLine("  answer: \(weather), after \(server.requestCount(for: "/today")) attempts\n")

    Console.writeLine("Yesterday:")
    do {
      _ = try await ask.run((server.address + "/yesterday").httpURL())
    } catch let error as NotFound {
      let attempts = server.requestCount(for: "/yesterday")
      Console.writeLine("  error:  \(error), after \(attempts) attempt, since another would end in the same way")
    }
    return .success
  }

  /// An error after which a retry is pointless.
  private struct NotFound: Error, CustomStringConvertible {
    let description = "not found"
  }

  @Sendable private static func answer(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) throws -> String
  {
    if let error { throw error }
    switch (response as? HTTPURLResponse)?.statusCode {
    case 200: return String(decoding: data ?? Data(), as: UTF8.self)
    case 404: throw NotFound()
    default: throw URLError(.badServerResponse)
    }
  }

  /// A server that answers the third request, and prints what it does.
  private static func flakyServer() throws -> LoopbackServer {
    let requests = Lock(0)
    return try LoopbackServer(routes: [
      "/today": { _ in
        let number = requests.withLock { count in
          count += 1
          return count
        }
        switch number {
        case 1:
          Console.writeLine("  server: request 1, out of order (503)")
          return .text("come back later", status: 503)
        case 2:
          Console.writeLine("  server: request 2, hangs up in the middle of the answer")
          return .text("sunny").closing(after: 2)
        default:
          Console.writeLine("  server: request \(number), answers")
          return .text("sunny")
        }
      },
      "/yesterday": { _ in
        Console.writeLine("  server: request 1, knows of no such thing (404)")
        return .notFound
      },
    ])
  }
}
