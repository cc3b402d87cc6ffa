// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

func publishWithStepwise(_ album: String, in studio: Studio) async throws -> String {
  try await Chain("list") { try await studio.photos(of: album) }
    .then("render") { photos in try await rendering(album, in: studio.makeFolder(), of: studio).run(photos) }
    .run()
}

/// The steps that share a folder: a chain that is made for one run.
private func rendering(_ album: String, in folder: Studio.Folder, of studio: Studio) -> Chain<[String], String> {
  Chain { (photos: [String]) in photos }
    .thenMap("download", maxConcurrent: 4) { photo in try await studio.download(photo, to: folder) }
    .then("scale") { _ in try await studio.scale(in: folder) }
    .then("reserve", undo: { address in await studio.release(address) }) { try await studio.reserve(album) }
    .then("upload") { address in try await studio.upload(folder, to: address) }
    .onError { error, step in studio.console.record("\(step) failed: \(error)") }
    .finally { _ in await studio.remove(folder) }
}
