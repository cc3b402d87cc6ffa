// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

private struct Place: Codable {
  var version = 2
  var rows: [Int]
  var next = 0
  var total = 0
  var isDone = false
}

private struct PlaceV1: Codable {
  var version: Int
  var rows: [Int]
  var total: Int
  var isDone: Bool
}

private struct Held: Error {}
private struct UnknownVersion: Error {}

func importInPlainSwift(_ rows: [Int], into warehouse: Warehouse, folder: URL) async throws -> Int {
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  let file = folder.appending(path: "rows.json")
  let lock = open(folder.appending(path: "rows.lock").path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
  // A process that another thread starts meanwhile may have the descriptor for a moment, and the lock with it.
  defer {
    flock(lock, LOCK_UN)
    close(lock)
  }
  guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw Held() }
  var place = try load(file) ?? Place(rows: rows)
  while !place.isDone {
    try Task.checkCancellation()
    if place.next < place.rows.count {
      try await warehouse.store(place.rows[place.next])
      place.total += place.rows[place.next]
      place.next += 1
    } else {
      place.isDone = true
    }
    try save(place, in: folder, as: file)
  }
  return place.total
}

private func load(_ file: URL) throws -> Place? {
  guard let data = try? Data(contentsOf: file) else { return nil }
  struct Version: Codable { var version: Int }
  switch try JSONDecoder().decode(Version.self, from: data).version {
  case 1:
    let old = try JSONDecoder().decode(PlaceV1.self, from: data)
    return Place(rows: old.rows, total: old.total, isDone: old.isDone)
  case 2: return try JSONDecoder().decode(Place.self, from: data)
  default: throw UnknownVersion()
  }
}

/// Writes a new file, syncs it, and puts it in the place of the old one, so that a crash leaves one or the other.
private func save(_ place: Place, in folder: URL, as file: URL) throws {
  let new = folder.appending(path: "rows.new")
  try JSONEncoder().encode(place).write(to: new)
  for path in [new.path, folder.path] {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    guard descriptor >= 0, fsync(descriptor) == 0 else { throw CocoaError(.fileWriteUnknown) }
    if path == new.path { guard rename(new.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) } }
  }
}
