// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

/// The world of the photo album: a disk with scratch folders, a gallery, and a console.
actor Studio {
  struct Broken: Error {}

  struct Folder: Hashable, Sendable {
    let number: Int
  }

  nonisolated let console = Recorder<String>()
  /// The step that does not work.
  private let broken: String
  private var made = 0
  private(set) var folders: [Folder: [String]] = [:]
  private(set) var reserved: Set<String> = []
  private(set) var gallery: [String: [String]] = [:]

  init(broken: String = "") { self.broken = broken }

  func photos(of album: String) throws -> [String] {
    try work("list")
    return (1...5).map { "\(album) \($0)" }
  }

  func makeFolder() -> Folder {
    made += 1
    folders[Folder(number: made)] = []
    return Folder(number: made)
  }

  func download(_ photo: String, to folder: Folder) throws {
    try work("download")
    folders[folder]?.append(photo)
  }

  func scale(in folder: Folder) throws {
    try work("scale")
    folders[folder] = folders[folder]?.map { "small \($0)" }.sorted()
  }

  func reserve(_ album: String) throws -> String {
    try work("reserve")
    reserved.insert(album)
    return album
  }

  func release(_ address: String) { reserved.remove(address) }

  func upload(_ folder: Folder, to address: String) throws -> String {
    try work("upload")
    gallery[address] = folders[folder]
    return address
  }

  func remove(_ folder: Folder) { folders[folder] = nil }

  private func work(_ step: String) throws {
    if step == broken { throw Broken() }
  }
}
