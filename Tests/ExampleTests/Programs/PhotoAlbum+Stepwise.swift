// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

func publishWithStepwise(_ album: String, in studio: Studio) async throws -> String {
  let publish = Chain("publish") {
    let photos = try await step("list") { try await studio.photos(of: album) }
    let folder = try await step("folder") {
      await studio.makeFolder()
    } undo: {
      await studio.remove($0)
    }
    let download = Chain { photos }.thenMap(maxConcurrent: 4) { try await studio.download($0, to: folder) }
    try await step("download") { try await download.run() }
    try await step("scale") { try await studio.scale(in: folder) }
    let address = try await step("reserve") {
      try await studio.reserve(album)
    } undo: {
      await studio.release($0)
    }
    try await step("upload") { try await studio.upload(folder, to: address) }
    await studio.remove(folder)
    return address
  }
  .onError { error, step in studio.console.record("\(step) failed: \(error)") }
  return try await publish.run()
}
