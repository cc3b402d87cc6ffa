// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseHTTP

/// How files are downloaded, apart from what they are.
///
/// Checkpoints do not contain it: credentials and header fields may be secrets, and may differ in the next call.
struct DownloadManner: Sendable {
  var credentials: HTTPCredentials?
  var headers: HTTPHeaders = [:]
  /// The number of parts of a file that are downloaded concurrently.
  var segments = 1
  var rateLimit: RateLimit?
  /// How long a server may send nothing; nil for what is usual.
  var timeout: Duration?

  /// The deadlines of each request.
  var deadlines: HTTPDeadlines {
    var deadlines = Downloading.patience.deadlines
    if let timeout { (deadlines.headers, deadlines.idle) = (timeout, timeout) }
    return deadlines
  }
}
