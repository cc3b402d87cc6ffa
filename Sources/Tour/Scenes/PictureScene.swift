// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback

extension Scene {
  /// The default scene: everything in it is on this machine.
  static let picture = Scene(nil, "fetch, decode, halve and save a picture, all on this machine") { _ in
    let picture = try SamplePicture.load()
    let server = try LoopbackServer(routes: [
      "/cat.bmp": { _ in .ok(picture).slowly(chunkSize: 8192, pause: .milliseconds(40)) }
    ])
    defer { server.stop() }
    Console.writeLine("A server on this machine has a picture of a cat, and sends it slowly.")
    Console.writeLine(
      "One chain downloads, decodes, halves and saves it; Ctrl-C cancels it and leaves nothing behind.\n"
    )

    // A folder of this user, apart from the files of other users of the machine.
    let folder = FileManager.default.temporaryDirectory
    let path = folder.appendingPathComponent("stepwise-cat-\(getuid()).bmp").path
    return try await halve(PictureSource.url(server.address + "/cat.bmp"), into: path)
  }
}
