// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP

// The samples of the doc comments on HTTP, compiled and not run.

private struct Track: Codable, Sendable {}
private func show(_ values: Any...) {}
private func write(_ data: Data) throws {}

private func requests(url: URL, folder: URL) async throws {
  do {
    let response = try await HTTP.get("https://swift.org", query: ["page": "1"])
    show(response)
  }
  let listing = try await HTTP.method("PROPFIND")(folder, headers: ["Depth": "1"])
  let track = try await HTTP.get(url).requireSuccess().decoded(as: Track.self)
  show(listing, track)
  do {
    let response = try await HTTP.get(url, redirects: .decide { $0.isSameOrigin })
    show(response)
  }
}

private func uploads(url: URL, recording: URL, picture: URL) async throws {
  do {
    let response = try await HTTP.put(url, body: .file(recording, type: "audio/mp4")) { progress in
      print(progress.sentBytes)
    }
    show(response)
  }
  do {
    var form = HTTPMultipart()
    form.add("title", "Kiss")
    form.add("cover", file: picture, type: "image/png")
    let response = try await HTTP.post(url, body: .multipart(form))
    show(response)
  }
}

private func streams(url: URL) async throws {
  do {
    let response = try await HTTP.stream(url)
    for try await chunk in response.body { try write(chunk) }
  }
  do {
    let response = try await HTTP.stream(url, headers: ["Accept": "text/event-stream"])
    for try await event in try await response.requireSuccess().events { show(event.data) }
  }
}

private func clients(client: HTTPClient) {
  var client = client
  client.interceptor = { request, send in
    var request = request
    request.headers["X-Request-ID"] = UUID().uuidString
    return try await send(request)
  }
  client.retry = HTTPRetry()
}
