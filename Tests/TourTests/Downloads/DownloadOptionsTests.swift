// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseHTTP
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

  @Test func everyOptionIsRead() throws {
    let list = "\n# a comment\n  http://host/b.bin \r\nhttp://host/c.bin"
    let options = try DownloadOptions(
      [
        "-q", "-P", "some/where", "-i", "list", "-u", "user:pass:word", "-H", "X-One: 1", "-H", "X-One:2", "--segments",
        "4", "--limit-rate", "1.5k", "--timeout", "2.5", "http://host/a.bin",
      ],
      reading: { $0 == "list" ? list : "" }
    )
    #expect(options.orders.map(\.path) == ["some/where/b.bin", "some/where/c.bin", "some/where/a.bin"])
    #expect(options.isQuiet && options.folder == "some/where" && !options.goesToOutput)
    #expect(options.manner.credentials == .basic(user: "user", password: "pass:word"))
    #expect(options.manner.headers.values("x-one") == ["1", "2"] && options.manner.segments == 4)
    #expect(options.manner.deadlines.headers == .seconds(2.5) && options.manner.deadlines.idle == .seconds(2.5))
    #expect(options.manner.rateLimit?.pause(after: 1_536) == .seconds(1))
    #expect(try DownloadOptions(["http://host/x", "-o", "-"]).goesToOutput)
    #expect(try DownloadOptions(["http://host/x", "-o", "/abs", "-P", "p"]).orders.first?.path == "/abs")
  }

  /// It is written to a checkpoint, and shown.
  @Test func aLoginIsTakenOutOfTheURL() throws {
    let options = try DownloadOptions(["http://user:s3cr3t@host/x?y=1"])
    #expect(options.orders.first?.address == "http://host/x?y=1")
    #expect(options.manner.credentials == .basic(user: "user", password: "s3cr3t"))
  }

  @Test(arguments: [("1", 1.0), ("64k", 65_536), ("2M", 2_097_152), ("1g", 1_073_741_824), ("0.5K", 512)])
  func ratesHaveUnits(text: String, rate: Double) { #expect(RateLimit.bytesPerSecond(text) == rate) }

  @Test func aRateLimitIsSharedAndSavesNothingUp() {
    let (limit, start) = (RateLimit(bytesPerSecond: 1_000), ContinuousClock.now)
    #expect(limit.pause(after: 500, at: start) == .milliseconds(500))
    #expect(limit.pause(after: 500, at: start) == .seconds(1))
    #expect(limit.pause(after: 0, at: start + .seconds(1)) == .zero)
    #expect(limit.pause(after: 100, at: start + .seconds(60)) == .milliseconds(100))
  }

  @Test(
    arguments: [
      (["-o", "x"], "exactly one URL"),
      (["http://a/x", "http://b/y", "-o", "z"], "exactly one URL"),
      (["http://a/x", "http://b/x"], "two URLs would be saved as 'x'"),
      (["http://a/x", "-o"], "-o needs a value"),
      (["http://a/x", "--sha256", "12"], "64 hexadecimal digits"),
      (["http://a/x", "--md5", "12"], "there is no option '--md5'"),
      (["http://a/x", "http://a/y", "-o", "-"], "exactly one URL"),
      (["http://a/x", "-u", "name"], "<user>:<password>"),
      (["http://a/x", "-H", "none"], "<name>: <value>"), (["http://a/x", "--segments", "0"], "from 1 to 16"),
      (["http://a/x", "--limit-rate", "fast"], "bytes a second"),
      (["http://a/x", "--limit-rate", "0"], "bytes a second"),
      (["http://a/x", "--timeout", "0"], "number of seconds"),
      (["http://u:p@a/x", "http://v:p@a/y"], "two logins"),
    ]
  ) func whatMakesNoSenseIsSaid(arguments: [String], words: String) {
    let error = #expect(throws: Command.UsageError.self) { try DownloadOptions(arguments) }
    #expect(error?.description.contains(words) == true, "\(String(describing: error))")
  }
}
