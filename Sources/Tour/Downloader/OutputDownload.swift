// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP

/// A download that is written to standard output as it arrives.
///
/// Written bytes cannot be undone: another attempt is made only before the first byte has arrived, and a wrong checksum
/// is detected at the end.
struct OutputDownload {
  private let order: DownloadOrder
  private let isQuiet: Bool

  init(_ order: DownloadOrder, _ options: DownloadOptions) {
    self.order = order
    isQuiet = options.isQuiet
  }

  /// - Throws: `DownloadFailure`.
  func run() async throws -> ExitCode {
    let token = CancellationToken()
    Interrupts.onInterrupt { token.cancel(reason: "Ctrl-C") }
    do {
      let count = try await withCancellation(by: token) {
        try await Chain(
          Step("open") { try await open() }.retry(Downloading.patience.retries) { error in
            (error as? DownloadFailure)?.isWorthAnotherAttempt ?? false
          }
        ).then("copy") { response in try await copy(response) }.run()
      }
      if !isQuiet { Console.writeError("\(order.name): \(count) bytes") }
      return .success
    } catch is CancellationError {
      return .interrupted
    } catch let failure as DownloadFailure {
      Console.writeError("\(order.name): failed: \(failure)")
      return .failure
    }
  }

  private func open() async throws -> HTTPResponseStream {
    let manner = Downloading.manner
    do {
      let response = try await HTTP.stream(
        order.address,
        headers: manner.headers,
        credentials: manner.credentials,
        deadlines: manner.deadlines
      )
      guard response.isSuccess else { throw DownloadFailure.status(response.status) }
      return response
    } catch let error as HTTPError {
      throw DownloadFailure(error)
    }
  }

  private func copy(_ response: HTTPResponseStream) async throws -> Int64 {
    let limit = Downloading.manner.rateLimit
    var hash = SystemSHA256()
    var count: Int64 = 0
    do {
      for try await chunk in response.body {
        if order.digest != nil { chunk.withUnsafeBytes { hash.update($0) } }
        if let code = Console.write(Array(chunk)[...], to: .output) { throw DownloadFailure.output(code) }
        count += Int64(chunk.count)
        if let limit { try await Task.sleep(for: limit.pause(after: Int64(chunk.count))) }
      }
    } catch let error as HTTPError {
      throw DownloadFailure(error)
    }
    if let digest = order.digest {
      let found = hash.hex()
      guard found == digest else { throw DownloadFailure.wrongDigest(found) }
    }
    return count
  }
}
