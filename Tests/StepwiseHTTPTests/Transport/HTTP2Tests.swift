// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Testing

  @testable import StepwiseHTTP

  /// Servers that end their connections of HTTP/2.
  @Suite(
    .timeLimit(.minutes(5)),
    .serialized,
    .enabled(if: OpenSSL.path != nil && HTTP2Server.python != nil, "openssl or python3 is not installed")
  )
  struct HTTP2Tests {
    /// Runs a body with a client of a server, whose answers are the numbers of connections and of requests so far.
    private static func withClient(_ mode: String, _ body: (HTTPClient) async throws -> Void) async throws {
      withoutProxy
      try await inFolder { folder in
        let openssl = OpenSSL(folder: folder)
        try openssl.makeAuthority("ca")
        try openssl.makeCertificate("server", of: "ca", for: "IP:127.0.0.1")
        let server = try HTTP2Server(folder, mode)
        let tls = HTTPTLSSettings(certificateAuthorities: openssl.file("ca.pem"))
        try await body(HTTPClient(baseURL: server.url, session: HTTPSession(tls: tls, proxy: .none)))
      }
    }

    @Test(arguments: ["GET", "PUT", "DELETE"])
    func `A request that a server has not processed before GOAWAY is sent again`(method: String) async throws {
      try await Self.withClient("second") { client in
        let first = try await client.get().text
        #expect(first == "1 1")
        for round in 1..<10 {
          let body = method == "PUT" ? HTTPBody.bytes(Data(count: 100)) : nil
          let request = HTTPRequest(method: method, url: client.baseURL, body: body)
          #expect(try await client.send(request).text == "\(1 + round) \(1 + 2 * round)", "\(round)")
        }
      }
    }

    @Test(arguments: ["first", "refuse"], ["GET", "PUT"])
    func `A request that a server refuses on a new connection is sent again`(
      mode: String,
      method: String
    ) async throws {
      try await Self.withClient(mode) { client in
        let body = method == "PUT" ? HTTPBody.bytes(Data(count: 100)) : nil
        let text = try await client.send(HTTPRequest(method: method, url: client.baseURL, body: body)).text
        #expect(text == "3 3")
      }
    }

    @Test func `A request that a server never processes fails`() async throws {
      try await Self.withClient("never") { client in
        await #expect(throws: HTTPError.connectionLost(reason: "")) { try await client.get() }
      }
    }

    @Test func `A request that is not idempotent is not sent again`() async throws {
      try await Self.withClient("second") { client in
        let first = try await client.get().text
        #expect(first == "1 1")
        await #expect(throws: HTTPError.self) { try await client.post(body: .bytes(Data(count: 100))) }
        let last = try await client.get().text
        #expect(last == "2 3")
      }
    }
  }

  /// A server of HTTP/2 that ends connections.
  private final class HTTP2Server: Sendable {
    static let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// It answers the first request of each connection, and to the second one says GOAWAY, which names the first; or it
    /// answers the first requests of two connections, or of all, with GOAWAY or RST_STREAM.
    private static let source = #"""
      import socket, ssl, struct, sys, threading
      mode, numbers, lock = sys.argv[1], [0, 0], threading.Lock()
      def frame(kind, flags, stream, content=b""):
          return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content
      def serve(connection):
          file = connection.makefile("rb")
          file.read(24)
          connection.sendall(frame(4, 0, 0))
          served = 0
          while len(head := file.read(9)) == 9:
              length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
              stream = int.from_bytes(head[5:], "big")
              file.read(length)
              if kind == 4 and not flags & 1: connection.sendall(frame(4, 1, 0))
              if kind > 1 or not flags & 1: continue
              with lock:
                  if served == 0: numbers[0] += 1
                  numbers[1] += 1
                  count, text = numbers[0], b"%d %d" % tuple(numbers)
              if mode == "second" and served or mode == "first" and count < 3 or mode == "never":
                  connection.sendall(frame(7, 0, 0, struct.pack(">II", served, 0)))
                  break
              if mode == "refuse" and count < 3:
                  connection.sendall(frame(3, 0, stream, struct.pack(">I", 7)))
              else:
                  connection.sendall(frame(1, 4, stream, b"\x88") + frame(0, 1, stream, text))
              served = stream
          connection.shutdown(socket.SHUT_WR)
          while file.read(1): pass
      def accept(connection):
          try: serve(context.wrap_socket(connection, server_side=True))
          except OSError: pass
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain("server.pem", "server.key")
      context.set_alpn_protocols(["h2"])
      listener = socket.create_server(("127.0.0.1", 0))
      print(listener.getsockname()[1], flush=True)
      while True: threading.Thread(target=accept, args=(listener.accept()[0],), daemon=True).start()
      """#

    private let process = Process()
    let url: URL

    init(_ folder: URL, _ mode: String) throws {
      let output = Pipe()
      process.executableURL = URL(filePath: try #require(Self.python))
      process.arguments = ["-c", Self.source, mode]
      process.currentDirectoryURL = folder
      process.standardOutput = output
      try process.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      url = try #require(URL(string: "https://127.0.0.1:\(line.prefix { $0.isNumber })/"))
    }

    /// Processes start with a mask that blocks SIGTERM.
    deinit { kill(process.processIdentifier, SIGKILL) }
  }
#endif
