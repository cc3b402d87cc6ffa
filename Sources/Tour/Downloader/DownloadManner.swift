// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseHTTP

/// How files are downloaded, apart from what they are.
///
/// It is in no checkpoint: credentials and header fields may be secrets, and another call may have others.
struct DownloadManner: Sendable {
  var credentials: HTTPCredentials?
  var headers: HTTPHeaders = [:]
  /// The number of parts of a file that are downloaded at the same time.
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
