// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP

/// A file, and where it comes from.
struct DownloadedFile: Sendable {
  let address: String
  let path: String
  /// The required SHA-256 of the file; nil for any.
  let sha256: String?

  private static let retry = HTTPRetry(
    policy: RetryPolicy(
      maxAttempts: 8,
      backoff: .exponential(from: .milliseconds(250), factor: 2, cap: .seconds(10), jitter: .full)
    ),
    statuses: [408, 425, 429, 500, 502, 503, 504]
  )

  private func say(_ words: String) {
    let name = path.split(separator: "/").last ?? ""
    Console.writeError(Console.oneLine("\(name): \(words)"))
  }

  /// Downloads the file, and returns whether that succeeded.
  ///
  /// - Throws: `CancellationError` alone.
  func download(deadlines: HTTPDeadlines) async throws -> Bool {
    do {
      var client = HTTPClient(baseURL: try address.httpURL(), deadlines: deadlines)
      client.retry = Self.retry
      client.interceptor = { request, send in
        let response = try await send(request)
        if !response.isSuccess { say("the server answered \(response.status)") }
        return response
      }
      let tenth = Lock(-1)
      let bytes = Lock<Int64>(0)
      let response = try await client.download("", to: URL(fileURLWithPath: path), sha256: sha256) { progress in
        bytes.withLock { $0 = progress.receivedBytes }
        guard let fraction = progress.fractionCompleted, let total = progress.totalBytes else { return }
        let now = Int(fraction * 10)
        if tenth.withLock({ exchange(&$0, with: now) }) != now { say("\(now * 10)% of \(total) bytes") }
      }
      if response.isSuccess { say("saved \(path), \(bytes.withLock { $0 }) bytes") }
      return response.isSuccess
    } catch is CancellationError {
      say("stopped; run the same command again to resume")
      throw CancellationError()
    } catch HTTPError.request(let error as POSIXError) {
      say("failed: cannot write: \(FileError.words(for: error.code.rawValue))")
    } catch {
      say("failed: \(error)")
    }
    return false
  }
}
