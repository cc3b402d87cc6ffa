// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Loopback
import Stepwise

extension Scene {
  /// One token cancels a running chain, and every handler receives the reason.
  static let cancel = Scene("cancel", "cancel a chain through a token, with a reason") { _ in
    let picture = try SamplePicture.load()
    let (closings, closing) = AsyncStream.makeStream(of: Bool.self)
    let server = try LoopbackServer { _ in
      .ok(picture).slowly(chunkSize: 512, pause: .milliseconds(75)).onEnd { isWhole in closing.yield(isWhole) }
    }
    defer { server.stop() }
    let show = Chain(Step.download)
      .then("decode") { bytes in try Bitmap(bmp: bytes) }
      .onError { _ in Console.writeLine("  onError: never called, because cancellation is not an error") }
      .finally { state in
        guard case .cancelled(let cancellation) = state else { return }
        Console.writeLine("  finally: the run was cancelled: \(cancellation.reason ?? "-")")
      }

    Console.writeLine("A chain fetches a picture from a server that needs a minute to send it.")
    Console.writeLine("  let token = CancellationToken()")
    Console.writeLine("  let run = try await withCancellation(by: token) { show.start(url) }\n")
    let token = CancellationToken()
    let run = try await withCancellation(by: token) { show.start(server.address) }

    for await progress in run.progress where progress.fractionCompleted > 0 { break }
    Console.writeLine("The first bytes are here. Now: token.cancel(reason: \"the user went back\")")
    token.cancel(reason: "the user went back")
    let outcome = await run.outcome
    for await isWhole in closings {
      Console.writeLine("  server:  \(isWhole ? "sent it all" : "the client closed the connection")")
      break
    }

    guard case .cancelled(let cancellation) = outcome else { return .failure }
    Console.writeLine("Ended: cancelled, because \(cancellation.reason ?? "-"); the step \"decode\" never ran.")
    return .success
  }
}
