// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CommandKit
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseFleet

  /// Serves the page of a fleet on 127.0.0.1, to those who know its address.
  ///
  /// The address has a token. A request that names another host, as one does after DNS rebinding, and one that a page of
  /// another origin sends are refused, the token notwithstanding. Behind a reverse proxy, the host is the proxy's. The
  /// metrics and the health, which have no ids and no errors, need no token.
  struct FleetServer: Sendable {
    let server: LoopbackServer
    let address: String

    /// Starts to listen.
    ///
    /// - Throws: `SocketError` when the port is taken; `CommandError` when the address of the proxy is not valid.
    init(
      _ fleet: Fleet,
      hasValues: Bool,
      isReadOnly: Bool = false,
      port: UInt16 = 0,
      url: String? = nil,
      token: String? = nil,
      idleLimit: Duration = .seconds(30)
    ) throws {
      let pages = FleetPages(hasValues: hasValues, isReadOnly: isReadOnly)
      let site = FleetSite(pages: pages, snapshots: FleetSnapshots(fleet))
      let token = token ?? Self.random()
      let proxy = try url.map { try Self.origin(of: $0) }
      let host = Lock("")
      let server = try LoopbackServer(port: port, maximumBodySize: 64 * 1024, idleLimit: idleLimit) { request in
        let path: String
        if ["/metrics", "/health"].contains(request.path) {
          if let refusal = Self.refusal(of: request, host.withLock { $0 }, proxy) {
            return .text("\(refusal)\n", status: 403)
          }
          path = request.path
        } else {
          let refusal = Self.refusal(of: request, host.withLock { $0 }, proxy) ?? Self.refusal(of: request, token)
          if let refusal { return .text("\(refusal)\n", status: 403) }
          path = String(request.path.dropFirst(token.utf8.count + 2))
        }
        let (reply, done) = (Once<LoopbackServer.Reply>(), DispatchSemaphore(value: 0))
        _ = spawn {
          reply.settle(await site.reply(to: request, path: path))
          done.signal()
        }
        // It blocks the connection's own thread.
        done.wait()
        return reply.settled ?? .silent
      }
      host.withLock { $0 = ":\(server.port)" }
      (self.server, address) = (server, "\(server.address)/\(token)/")
    }

    /// Returns 126 random bits in 32 digits.
    static func random() -> String {
      (0..<2).map { _ in String(UInt64.random(in: 0 ... .max) | 1 << 60, radix: 16) }.joined()
    }

    /// Reads a token.
    static func token(in file: String) throws -> String {
      let text = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
      guard text.utf8.count >= 20,
        text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isLetter || (48...57).contains($0) })
      else { throw CommandError("a token has at least 20 letters and digits, and nothing else", code: .usage) }
      return text
    }

    private static func origin(of url: String) throws(CommandError) -> (origin: String, host: String) {
      guard let parts = URLComponents(string: url), let scheme = parts.scheme, ["http", "https"].contains(scheme),
        let name = parts.host, !name.isEmpty
      else { throw CommandError("'--url' is an address such as https://ops.example.com/fleet/", code: .usage) }
      let host = name + (parts.port.map { ":\($0)" } ?? "")
      return ("\(scheme)://\(host)", host)
    }

    /// Why a request is refused for where it comes from; nil for one that is not.
    private static func refusal(
      of request: LoopbackServer.Request,
      _ port: String,
      _ proxy: (origin: String, host: String)?
    ) -> String? {
      let hosts = ["127.0.0.1\(port)", "localhost\(port)"]
      guard let host = request.header("Host"), hosts.contains(host) || host == proxy?.host else {
        return "This is not the page's host: behind a proxy, pass its address with --url."
      }
      let origin = request.header("Origin")
      let own = host == proxy?.host ? proxy?.origin : "http://\(host)"
      guard origin == nil ? request.method != "POST" : origin == own else {
        return "The request comes from another page."
      }
      return nil
    }

    /// Why a request is refused for its token.
    private static func refusal(of request: LoopbackServer.Request, _ token: String) -> String? {
      let given = Array(request.path.utf8.prefix(token.utf8.count + 2))
      let expected = Array("/\(token)/".utf8)
      // The time that it takes does not depend on where they differ.
      let difference = zip(given, expected).reduce(UInt8(given.count == expected.count ? 0 : 1)) { $0 | ($1.0 ^ $1.1) }
      return difference == 0 ? nil : "Open the address that stepctl has printed; it has a token."
    }
  }
#endif
