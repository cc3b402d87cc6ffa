// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

@Suite(.timeLimit(.minutes(10))) struct FileCheckpointStoreTests {
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore

  init() throws {
    directory = try TemporaryDirectory()
    store = try FileCheckpointStore(directory: directory.url)
  }

  @Test func `Each id has one file`() async throws {
    for id in ["import-42", "Import 42", "../up", "日本"] {
      _ = try await Count.at(0).run(id: id, in: store)
    }
    #expect(
      try directory.names == [
        "%2e%2e%2fup.checkpoint", "%49mport%2042.checkpoint", "%e6%97%a5%e6%9c%ac.checkpoint", "import-42.checkpoint",
      ]
    )
    let locks = try FileManager.default.contentsOfDirectory(atPath: directory.url.appendingPathComponent(".locks").path)
    #expect(locks == ["fence"])
  }

  @Test func `A long id fits a file name and is found again`() async throws {
    let ids = ["é", "/", "x", "日"].map { String(repeating: $0, count: 200 / $0.utf8.count) }
    for id in ids { _ = try await Count.at(0).run(id: id, in: store) }
    #expect(try directory.names.allSatisfy { $0.utf8.count <= 255 })
    #expect(
      try await store.list(after: nil, limit: 10).ids == ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    )
  }

  @Test func `The directory is created with its parents`() async throws {
    let deep = directory.url.appendingPathComponent("a/b/c d", isDirectory: true)
    let store = try FileCheckpointStore(directory: deep)
    #expect(try await Count.at(0).run(id: "a", in: store) == "three")
    #expect(FileManager.default.fileExists(atPath: deep.appendingPathComponent("a.checkpoint").path))
  }

  @Test func `A file in place of the directory is an error`() throws {
    let file = directory.url.appendingPathComponent("file")
    try Data().write(to: file)
    let error = #expect(throws: CheckpointError.self) { try FileCheckpointStore(directory: file) }
    guard case .io("", file.path, "open", ENOTDIR) = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
  }

  @Test func `What a killed process left behind does not matter`() async throws {
    try Data("half a st".utf8).write(to: directory.url.appendingPathComponent("a.temporary"))
    let locks = directory.url.appendingPathComponent(".locks")
    try FileManager.default.createDirectory(at: locks, withIntermediateDirectories: true)
    try Data("00000000000000099999".utf8).write(to: locks.appendingPathComponent("a.lock"))
    try Data("".utf8).write(to: locks.appendingPathComponent("fence"))
    #expect(try await Count.at(0).run(id: "a", in: store) == "three")
    #expect(try directory.names == ["a.checkpoint"])
  }

  @Test func `Files of others are left alone`() async throws {
    let names = [
      "notes.txt", "A.checkpoint", "%61.checkpoint", "%zz.checkpoint", "%ff.checkpoint", ".checkpoint", "b.lock",
    ]
    for name in names { try Data().write(to: directory.url.appendingPathComponent(name)) }
    #expect(try await store.list(after: nil, limit: 10).ids == [])
    _ = try await Count.at(0).run(id: "a", in: store)
    try await store.remove("a")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted() == (names + [".locks"]).sorted()
    )
  }

  @Test func `A missing directory is an error that says so`() async throws {
    try FileManager.default.removeItem(at: directory.url)
    let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
    guard case .io("a", _, _, ENOENT) = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
    #expect(error.map { "\($0)" }?.contains("No such file or directory (errno \(ENOENT))") == true)
  }
}
