// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Tour

@Suite(.timeLimit(.minutes(5))) struct DownloadOptionsTests {
  @Test func addressesGiveTheirFilesTheirNames() throws {
    let options = try DownloadOptions(["http://host/a/one.bin?x=1", "https://host/two%20words.txt", "http://host"])
    #expect(options.orders.map(\.path) == ["one.bin", "two words.txt", "download"])
    #expect(options.orders.allSatisfy { $0.digest == nil })
  }

  @Test(arguments: ["http://host/", "http://host/..", "http://host/a/..%2f", "http://host/%2e%2e", "http://host/a%00b"])
  func noNameLeadsElsewhere(address: String) {
    let name = DownloadOrder.suggestedName(for: address)
    #expect(!name.isEmpty && name != ".." && name != "." && !name.contains("/") && !name.contains("\0"), "\(name)")
  }

  @Test func oneAddressMayHaveAPathAndADigest() throws {
    let digest = String(repeating: "Ab", count: 32)
    let options = try DownloadOptions(["-o", "to/file", "http://host/x", "--sha256", digest])
    let order = DownloadOrder(address: "http://host/x", path: "to/file", digest: digest.lowercased())
    #expect(options.orders == [order])
    #expect(order.name == "file" && order.workPath == "to/file.download")
  }

  @Test(
    arguments: [
      (["-o", "x"], "exactly one address"),
      (["http://a/x", "http://b/y", "-o", "z"], "exactly one address"),
      (["http://a/x", "http://b/x"], "two addresses would be saved as 'x'"),
      (["http://a/x", "-o"], "-o needs a value"),
      (["http://a/x", "--sha256", "12"], "64 hexadecimal digits"),
      (["http://a/x", "--md5", "12"], "there is no option '--md5'"),
    ]
  ) func whatMakesNoSenseIsSaid(arguments: [String], words: String) {
    let error = #expect(throws: Command.UsageError.self) { try DownloadOptions(arguments) }
    #expect(error?.description.contains(words) == true, "\(String(describing: error))")
  }
}
