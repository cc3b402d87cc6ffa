// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Testing

  @testable import StepwiseHTTP

  /// Connections that are secured, or cannot be, against `openssl s_server`.
  @Suite(
    .timeLimit(.minutes(5)),
    .serialized,
    .enabled(if: OpenSSL.path != nil, "openssl is not installed, so there are no certificates to test TLS with")
  )
  struct TLSTests {
    private static func inFolder(_ body: (OpenSSL) async throws -> Void) async throws {
      withoutProxy
      try await StepwiseHTTPTests.inFolder { folder in
        let openssl = OpenSSL(folder: folder)
        try openssl.makeAuthority("ca")
        try openssl.makeCertificate("server", of: "ca", for: "IP:127.0.0.1,DNS:localhost")
        try await body(openssl)
      }
    }

    private static func get(_ url: URL, _ tls: HTTPTLSSettings = HTTPTLSSettings()) async throws -> Int {
      try await HTTPClient(baseURL: url, session: HTTPSession(tls: tls), deadlines: .never).get().status
    }

    private static func expect(_ failure: HTTPTLSFailure, _ url: URL, _ tls: HTTPTLSSettings = HTTPTLSSettings()) async
    {
      let error = await #expect(throws: HTTPError.tls(failure)) { try await get(url, tls) }
      let text = "\(String(describing: error)) \(error?.localizedDescription ?? "")"
      #expect(!text.contains("127.0.0.1") && !text.contains("localhost") && text.contains(failure.description))
    }

    @Test func `A configured authority replaces the system's`()
      async throws
    {
      try await Self.inFolder { openssl in
        let server = try TLSServer(openssl, certificate: "server")
        let own = HTTPTLSSettings(certificateAuthorities: openssl.file("ca.pem"))
        #expect(try await Self.get(server.url(), own) == 200)
        #expect(try await Self.get(server.url(host: "localhost"), own) == 200)
        await Self.expect(.untrustedCertificate, try server.url())
        try openssl.makeAuthority("other")
        let other = HTTPTLSSettings(certificateAuthorities: openssl.file("other.pem"))
        await Self.expect(.untrustedCertificate, try server.url(), other)
        let missing = HTTPTLSSettings(certificateAuthorities: openssl.file("missing.pem"))
        await #expect(throws: HTTPError.refused(reason: "")) { try await Self.get(server.url(), missing) }
      }
    }

    @Test
    func `A surplus response is not taken for that of the next request`() async throws {
      try await Self.inFolder { openssl in
        // libcurl reads a record that has the head, and of the next one only the body.
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: "
        let record = head + String(repeating: "x", count: 512 - head.utf8.count - 4) + "\r\n\r\n"
        let bytes = Data((record + "oneHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison").utf8)
        let server = try TLSServer(openssl, certificate: "server", options: "-max_send_frag 512", bytes: bytes)
        let tls = HTTPTLSSettings(certificateAuthorities: openssl.file("ca.pem"))
        let client = HTTPClient(baseURL: try server.url(), session: HTTPSession(tls: tls))
        #expect(try await client.get().text == "one")
        // The server has gone. On the old connection, there would be no answer, or the wrong one.
        let error = await #expect(throws: HTTPError.self) { try await client.get().text }
        #expect(error != .timedOut(.headers))
      }
    }

    @Test func `Self-signed, expired and foreign certificates are distinguished`()
      async throws
    {
      try await Self.inFolder { openssl in
        let tls = HTTPTLSSettings(certificateAuthorities: openssl.file("ca.pem"))
        try openssl.makeAuthority("selfsigned")
        let selfSigned = try TLSServer(openssl, certificate: "selfsigned")
        await Self.expect(.untrustedCertificate, try selfSigned.url(), tls)
        try openssl.makeCertificate("old", of: "ca", for: "IP:127.0.0.1", days: -1)
        let expired = try TLSServer(openssl, certificate: "old")
        await Self.expect(.expiredCertificate, try expired.url(), tls)
        try openssl.makeCertificate("away", of: "ca", for: "DNS:example.org,IP:127.0.0.2")
        let wrong = try TLSServer(openssl, certificate: "away")
        await Self.expect(.wrongHost, try wrong.url(), tls)
        await Self.expect(.wrongHost, try wrong.url(host: "localhost"), tls)
      }
    }

    @Test func `Of several pins one has to match, in addition to the authority`() async throws {
      try await Self.inFolder { openssl in
        let server = try TLSServer(openssl, certificate: "server")
        let (right, wrong) = (try openssl.pin("server"), try openssl.pin("ca"))
        var tls = HTTPTLSSettings(certificateAuthorities: openssl.file("ca.pem"), pinnedPublicKeys: [wrong, right])
        #expect(try await Self.get(server.url(), tls) == 200)
        tls.pinnedPublicKeys = [wrong]
        await Self.expect(.pinMismatch, try server.url(), tls)
        await Self.expect(.untrustedCertificate, try server.url(), HTTPTLSSettings(pinnedPublicKeys: [right]))
      }
    }

    @Test(arguments: ["ec", "rsa"]
    )
    func `A certificate's pin is computed from its bytes`(kind: String) async throws {
      try await Self.inFolder { openssl in
        let key = kind == "ec" ? "ec -pkeyopt ec_paramgen_curve:secp384r1" : "rsa:2048"
        try openssl.run("req -x509 -newkey \(key) -nodes -subj /CN=a -keyout own.key -out own.pem")
        let pem = try ["ca.pem", "own.pem"].map { try String(contentsOf: openssl.file($0), encoding: .utf8) }
        let certificates = Certificate.certificates(pem: "a comment\n" + pem.joined())
        #expect(try certificates.map(\.pin) == [openssl.pin("ca"), openssl.pin("own")])
        let der = try #require(certificates.last).der
        for count in 0..<der.count { #expect(Certificate(der: der.prefix(count)).pin == nil) }
      }
    }

    @Test func `A server that requires a client certificate accepts only that one`()
      async throws
    {
      try await Self.inFolder { openssl in
        try openssl.makeCertificate("ann", of: "ca", for: "email:ann@example.org")
        try openssl.makeAuthority("other")
        try openssl.makeCertificate("eve", of: "other", for: "email:eve@example.org")
        for name in ["ann", "eve"] {
          try openssl.run("pkcs12 -export -inkey \(name).key -in \(name).pem -out \(name).p12 -passout pass:secret")
        }
        let server = try TLSServer(
          openssl,
          certificate: "server",
          options: "-Verify 2 -verify_return_error -CAfile ca.pem"
        )
        var tls = HTTPTLSSettings(certificateAuthorities: openssl.file("ca.pem"))
        await Self.expect(.clientCertificate, try server.url(), tls)
        tls.clientCertificate = .init(pkcs12: openssl.file("ann.p12"), password: "secret")
        #expect(try await Self.get(server.url(), tls) == 200)
        tls.clientCertificate = .init(pkcs12: openssl.file("ann.p12"), password: "wrong")
        await Self.expect(.clientCertificate, try server.url(), tls)
        tls.clientCertificate = .init(pkcs12: openssl.file("missing.p12"), password: "secret")
        await Self.expect(.clientCertificate, try server.url(), tls)
        tls.clientCertificate = .init(pkcs12: openssl.file("eve.p12"), password: "secret")
        let error = await #expect(throws: HTTPError.self) { try await Self.get(server.url(), tls) }
        guard case .tls = error else {
          Issue.record("\(String(describing: error))")
          return
        }
      }
    }

    @Test func `A port that does not speak TLS fails the handshake`() async throws {
      let port = try DeadPort()
      async let answer: Void = onThread {
        let connection = port.waitForConnection()
        _ = connection?.receive()
        _ = connection?.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)[...])
        connection?.close()
      }
      await Self.expect(.handshake, try #require(URL(string: "https://127.0.0.1:\(port.port)/")))
      await answer
    }
  }
#endif
