// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CSmallRequests
import Foundation
import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Prints what requests cost, and returns whether the bounds are kept: a request takes at most 1.25 times as long as one of
/// URLSession in a continuation, and many reach the speed of ``SmallRequests/bounds``.
func checkHTTPBounds(effort: Effort) async throws -> Bool {
  print("\nThresholds of requests")
  let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + String(repeating: "A", count: 1_024)
  let port = small_requests_server_start(answer, answer.utf8.count)
  setenv("no_proxy", "127.0.0.1", 1)
  guard port > 0, let url = URL(string: "http://127.0.0.1:\(port)/") else { throw URLError(.badURL) }
  let isFast = try await SmallRequests(url: url, count: effort.samples * 100).check()
  let session = URLSession(configuration: .ephemeral)
  let forms = [
    Form("HTTP.get") { times in
      for _ in 0..<times {
        let response = try await HTTP.get(url)
        precondition(response.body.count == 1_024)
      }
    },
    Form("dataTask") { times in
      for _ in 0..<times {
        let data = try await withCheckedThrowingContinuation { continuation in
          session.dataTask(with: url) { data, _, error in
            continuation.resume(with: Result { if let error { throw error } else { return data ?? Data() } })
          }.resume()
        }
        precondition(data.count == 1_024)
      }
    },
  ]
  var ratios: [Cost] = []
  for _ in 0..<3 {
    let measurement = try await Measurement(of: forms, effort: effort)
    ratios.append(measurement["HTTP.get"] / measurement["dataTask"])
    print("a GET of 1 KB: \(duration(measurement["HTTP.get"].time)), bare \(duration(measurement["dataTask"].time))")
  }
  let ratio = median(of: ratios)
  print(
    """
    \(ratio.time <= 1.25 ? "kept  " : "BROKEN") \(decimal(ratio.time)) of 1.25: GET of 1 KB, against a data task with a \
    completion handler in a continuation (\(ratios.map { decimal($0.time) }.joined(separator: ", ")); of the \
    processors' time \(decimal(ratio.work)))
    """
  )
  return ratio.time <= 1.25 && isFast
}
