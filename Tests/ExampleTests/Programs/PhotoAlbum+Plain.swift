// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

func publishInPlainSwift(_ album: String, in studio: Studio) async throws -> String {
  let photos = try await studio.photos(of: album)
  try Task.checkCancellation()
  let folder = await studio.makeFolder()
  var step = "download"
  var reserved: String?
  let result: Result<String, any Error>
  do {
    try await boundedForEach(photos, maxConcurrent: 4) { photo in try await studio.download(photo, to: folder) }
    try Task.checkCancellation()
    step = "scale"
    try await studio.scale(in: folder)
    try Task.checkCancellation()
    step = "reserve"
    let address = try await studio.reserve(album)
    reserved = address
    try Task.checkCancellation()
    step = "upload"
    result = .success(try await studio.upload(folder, to: address))
    reserved = nil
  } catch {
    if !Task.isCancelled { studio.console.record("\(step) failed: \(error)") }
    result = .failure(error)
  }
  // A Task of its own, which a cancellation does not reach.
  await Task { [reserved] in
    if let reserved { await studio.release(reserved) }
    await studio.remove(folder)
  }.value
  return try result.get()
}

private func boundedForEach<Element: Sendable>(
  _ elements: [Element],
  maxConcurrent: Int,
  _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for (index, element) in elements.enumerated() {
      if index >= maxConcurrent { try await group.next() }
      group.addTask { try await body(element) }
    }
    try await group.waitForAll()
  }
}
