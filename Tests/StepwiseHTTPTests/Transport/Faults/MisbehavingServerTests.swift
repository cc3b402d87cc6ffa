// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Stepwise
  import Testing

  @testable import StepwiseHTTP

  /// Answers of servers that misbehave: the same verdict as that of `curl` on the same bytes.
  @Suite(.timeLimit(.minutes(10)), .serialized) struct MisbehavingServerTests {
    @Test func `There are at least sixty answers, each with a name of its own`() {
      let names = MisbehavingAnswers.all.map(\.name)
      #expect(names.count >= 60 && Set(names).count == names.count, "\(names.count)")
    }

    @Test(arguments: MisbehavingAnswers.all.map(\.name))
    func `libcurl's transport has the verdict of the curl tool`(name: String) async throws {
      let answer = try #require(MisbehavingAnswers.all.first { $0.name == name }).answer
      let server = try RawServer { _ in answer }
      let url = try server.url()
      let own = await Self.verdict(of: try TransportKind.libcurl.client(url))
      guard let curl = CurlTool.path else { return }
      let other = await onThread { CurlTool(path: curl).get(url) }
      // curl takes a head, and a compressed body, that are cut off for complete ones; and the tool offers br.
      switch name {
      // curl does not read the second member.
      case "gzip twice": #expect(own == Verdict(status: 200, body: Data("hellohello".utf8)))
      default: #expect(Self.refused.contains(name) ? own == .failure && other.status == 200 : own == other)
      }
    }

    private static let refused: Set = [
      "a status line alone", "closed after a field", "closed in the middle of a field", "gzip cut short",
      "br that is none",
    ]

    private static func verdict(of client: HTTPClient) async -> Verdict {
      do {
        let response = try await client.get(deadlines: HTTPDeadlines(total: .seconds(240)))
        return Verdict(status: response.status, body: response.body)
      } catch HTTPError.timedOut {
        return .hang
      } catch {
        return .failure
      }
    }
  }

  /// What becomes of an answer.
  struct Verdict: Equatable, CustomStringConvertible {
    /// Nil for an error.
    var status: Int?
    var body: Data?
    var isHang = false

    static let failure = Verdict()
    static let hang = Verdict(isHang: true)

    init(status: Int? = nil, body: Data? = nil, isHang: Bool = false) {
      self.status = status
      self.body = body
      self.isHang = isHang
    }

    var description: String {
      if isHang { return "hang" }
      guard let status, let body else { return "error" }
      return "\(status) \(String(decoding: body, as: UTF8.self).debugDescription)"
    }
  }

  /// The `curl` of this machine, if there is one.
  struct CurlTool {
    static let path = ["/usr/bin/curl", "/usr/local/bin/curl", "/bin/curl"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    let path: String

    func get(_ url: URL) -> Verdict {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("curl-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: file) }
      let (process, output) = (Process(), Pipe())
      process.executableURL = URL(filePath: path)
      process.arguments = [
        "--disable", "--silent", "--compressed", "--max-time", "240", "--noproxy", "*", "--output", file.path,
        "--write-out", "%{http_code}", url.absoluteString,
      ]
      process.standardOutput = output
      guard (try? process.run()) != nil else { return .failure }
      let status = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      switch process.terminationStatus {
      case 0: return Verdict(status: Int(status), body: (try? Data(contentsOf: file)) ?? Data())
      case 28: return .hang
      default: return .failure
      }
    }
  }
#endif
