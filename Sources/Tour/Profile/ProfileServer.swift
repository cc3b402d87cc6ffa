// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise

/// A server on this machine that stores one profile.
final class ProfileServer: Sendable {
  /// What to download, and whether to kill the server during the download.
  struct Order: Sendable {
    var killsServer = false
  }

  private let server: LoopbackServer
  init(_ first: UserProfile) throws {
    let profile = ProfileBox(first)
    server = try LoopbackServer(routes: [
      "/profile": { _ in .ok(profile.value.bytes).slowly(chunkSize: 256, pause: .milliseconds(40)) },
      "/update": { request in
        let items = URLComponents(string: "?" + (request.query ?? ""))?.queryItems
        guard let name = items?.first(where: { $0.name == "name" })?.value, !name.isEmpty else {
          return .text("no name\n", status: 400)
        }
        profile.rename(to: name)
        return .ok(profile.value.bytes)
      },
    ])
  }

  func stop() { server.stop() }

  /// Fetches the profile, slowly.
  var download: Chain<Order, UserProfile> {
    let fetch = Chain(Step.download)
    let (address, server) = (server.address, server)
    return Chain("download") { (order: Order) in
      let run = try fetch.start(PictureSource.url(address + "/profile"))
      let bytes = try await withTaskCancellationHandler {
        if order.killsServer {
          for await progress in run.progress where progress.fractionCompleted > 0 { break }
          server.stop()
        }
        return try await run.value
      } onCancel: {
        run.cancel(reason: "the download is no longer needed")
      }
      return try UserProfile(bytes: bytes)
    }
  }

  /// Renames the profile.
  var update: Chain<String, UserProfile> {
    let address = server.address
    return Chain("address") { (name: String) in
      var parts = URLComponents(string: address + "/update")
      parts?.queryItems = [URLQueryItem(name: "name", value: name)]
      return try PictureSource.url(parts?.string ?? address)
    }
    .appending(Step.download)
    .then("read") { bytes in try UserProfile(bytes: bytes) }
  }
}

/// The server's copy.
private final class ProfileBox: Sendable {
  private let profile: Lock<UserProfile>

  init(_ profile: UserProfile) {
    self.profile = Lock(profile)
  }

  var value: UserProfile { profile.withLock { profile in profile } }

  func rename(to name: String) {
    profile.withLock { profile in
      profile.name = name
      profile.changes += 1
    }
  }
}
