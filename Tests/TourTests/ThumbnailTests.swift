// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Testing

@testable import Tour

/// The user's own pictures: what comes of them, and that a failure leaves everything as it was.
@Suite(.timeLimit(.minutes(5))) struct ThumbnailTests {
  private static let old = Array("what was there before".utf8)

  /// Fails with one line that says this, and changes nothing, whether the place of the output is taken or not.
  private func expectFailure(
    _ source: String,
    into target: String = "out.bmp",
    saying words: String,
    in workshop: Workshop,
    location: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try workshop.names
    for isTaken in [false, true] where !isTaken || target == "out.bmp" {
      if isTaken { try workshop.write(Self.old, to: target) }
      let result = try await workshop.thumbnail(source, target)
      #expect(result.isOrderly && result.exitCode == 1, sourceLocation: location)
      #expect(result.errorLines.count == 1, "\(result.error)", sourceLocation: location)
      #expect(result.error.contains(words), "\(result.error)", sourceLocation: location)
      #expect(try workshop.names == (before + (isTaken ? [target] : [])).sorted(), sourceLocation: location)
      guard isTaken else { continue }
      #expect(try workshop.bytes(of: target) == Self.old, sourceLocation: location)
      try FileManager.default.removeItem(at: workshop.directory.appendingPathComponent(target))
    }
  }

  @Test func `A file is halved`() async throws {
    let workshop = try Workshop()
    try workshop.write(SamplePicture.load(), to: "cat.bmp")
    let result = try await workshop.thumbnail("cat.bmp")
    #expect(result.exitCode == 0)
    #expect(result.error == "")
    #expect(result.lines.suffix(3) == ["before  450 x 300", "after   225 x 150", "saved   out.bmp"])
    #expect(try workshop.names == ["cat.bmp", "out.bmp"])
    #expect(try Bitmap(bmp: workshop.bytes(of: "out.bmp")) == Bitmap(bmp: SamplePicture.load()).halved())
  }

  @Test func `An existing file is replaced`() async throws {
    let workshop = try Workshop()
    try workshop.write(SamplePicture.load(), to: "cat.bmp")
    #expect(try await workshop.thumbnail("cat.bmp", "cat.bmp").exitCode == 0)
    #expect(try workshop.names == ["cat.bmp"])
    #expect(try Bitmap(bmp: workshop.bytes(of: "cat.bmp")).width == 225)
  }

  @Test func `A picture from a server is halved`() async throws {
    let picture = try SamplePicture.load()
    let server = try LoopbackServer(routes: [
      "/cat": { _ in .ok(picture) },
      "/long": { _ in .ok(picture).declaring(.absent) },
      "/moved": { _ in .redirect(to: "/cat") },
    ])
    defer { server.stop() }
    for path in ["/cat", "/long", "/moved"] {
      let workshop = try Workshop()
      let result = try await workshop.thumbnail(server.address + path)
      #expect(result.exitCode == 0)
      #expect(result.error == "")
      #expect(try workshop.names == ["out.bmp"])
      #expect(try Bitmap(bmp: workshop.bytes(of: "out.bmp")).width == 225)
    }
  }

  @Test func `Files that are no pictures are an error`() async throws {
    let workshop = try Workshop()
    let picture = try SamplePicture.load()
    try workshop.write(Array(picture.prefix(picture.count - 1)), to: "a")
    try workshop.write(BMPFile(width: .max, height: .max).bytes, to: "b")
    try workshop.write(Array("GIF89a".utf8), to: "c")
    try workshop.write([], to: "d")
    try await expectFailure("a", saying: "the BMP is truncated", in: workshop)
    try await expectFailure("b", saying: "claims to be 2147483647 x 2147483647 pixels", in: workshop)
    try await expectFailure("c", saying: "not a BMP picture", in: workshop)
    try await expectFailure("d", saying: "the file is empty", in: workshop)
  }

  @Test(arguments: [
    ("missing.bmp", "missing.bmp: No such file"),
    ("/", "Is a directory"),
    ("ftp://host/cat.bmp", "not of http or https"),
    ("http://", "has no host"),
  ])
  func `A missing file is an error`(source: String, words: String) async throws {
    try await expectFailure(source, saying: words, in: Workshop())
  }

  @Test(.enabled(if: geteuid() != 0, "everything is readable for root"))
  func `A file without read permission is an error`() async throws {
    let workshop = try Workshop()
    try workshop.write(SamplePicture.load(), to: "cat.bmp")
    let path = workshop.directory.appendingPathComponent("cat.bmp").path
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    try await expectFailure("cat.bmp", saying: "Permission denied", in: workshop)
  }

  @Test(.enabled(if: geteuid() != 0, "everything is writable for root"))
  func `A directory without write permission is an error`() async throws {
    let workshop = try Workshop()
    try workshop.write(SamplePicture.load(), to: "cat.bmp")
    let path = workshop.directory.path
    try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: path)
    let result = try await workshop.thumbnail("cat.bmp")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    #expect(result.exitCode == 1)
    #expect(result.error.contains("Permission denied"))
  }

  @Test(arguments: [
    ("nowhere/out.bmp", "No such file or directory"), ("cat.bmp/out.bmp", "Not a directory"), (".", "rename failed"),
    (String(repeating: "a", count: 300), "too long"),
  ])
  func `A location that cannot be written is an error`(target: String, words: String) async throws {
    let workshop = try Workshop()
    try workshop.write(SamplePicture.load(), to: "cat.bmp")
    try await expectFailure("cat.bmp", into: target, saying: words, in: workshop)
  }
}
