// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Testing

  /// The `openssl` tool of this machine: makes certificates, and serves with them.
  struct OpenSSL {
    static let path = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/bin/openssl"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Where its files are.
    let folder: URL

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// Runs a command, written with single spaces, in the folder; returns what it writes to standard output.
    @discardableResult
    func run(_ command: String) throws -> Data {
      let (process, output, errors) = (process(command), Pipe(), file("errors"))
      _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
      process.standardOutput = output
      process.standardError = try FileHandle(forWritingTo: errors)
      try process.run()
      let data = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      let words = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
      try #require(process.terminationStatus == 0, "openssl \(command): \(words)")
      return data
    }

    func process(_ command: String) -> Process {
      let process = Process()
      process.executableURL = URL(filePath: Self.path ?? "openssl")
      process.arguments = command.split(separator: " ").map(String.init)
      process.currentDirectoryURL = folder
      return process
    }

    /// Makes the key and the certificate of an authority: `name.key` and `name.pem`.
    func makeAuthority(_ name: String) throws {
      try run(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=\(name) -keyout \(name).key -out \(name).pem"
      )
    }

    /// Makes a key and a certificate of an authority: `name.key` and `name.pem`.
    ///
    /// - Parameters:
    ///   - name: The name of the files.
    ///   - authority: The authority that signs it.
    ///   - hosts: The hosts it is for, such as `IP:127.0.0.1`.
    ///   - days: How many days from now on it is valid.
    /// - Throws: When `openssl` fails.
    func makeCertificate(_ name: String, of authority: String, for hosts: String, days: Int = 2) throws {
      try run(
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(name) -keyout \(name).key -out \(name).csr"
      )
      try Data("subjectAltName=\(hosts)\n".utf8).write(to: file("\(name).ext"))
      try run(
        "x509 -req -in \(name).csr -CA \(authority).pem -CAkey \(authority).key -CAcreateserial -days \(days) -extfile \(name).ext -out \(name).pem"
      )
    }

    /// The pin of a certificate's public key.
    func pin(_ name: String) throws -> String {
      try run("x509 -in \(name).pem -pubkey -noout -out \(name).pub")
      try run("pkey -pubin -in \(name).pub -outform der -out \(name).der")
      return try run("dgst -sha256 -binary \(name).der").base64EncodedString()
    }
  }

  /// A server that answers every request with a page, or its only connection with some bytes, over TLS.
  final class TLSServer: Sendable {
    private let process: Process
    let port: UInt16

    /// Starts a server with a certificate of the folder, and further options of `openssl s_server`.
    init(_ openssl: OpenSSL, certificate: String, options: String = "", bytes: Data? = nil) throws {
      let manner = bytes == nil ? "-www" : "-naccept 1"
      let command = "s_server -accept 127.0.0.1:0 -cert \(certificate).pem -key \(certificate).key \(manner) \(options)"
      let (process, output) = (openssl.process(command), Pipe())
      if let bytes {
        let input = Pipe()
        process.standardInput = input
        try input.fileHandleForWriting.write(contentsOf: bytes)
      }
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      var text = ""
      while !text.contains("ACCEPT 127.0.0.1:") || !text.hasSuffix("\n") {
        let data = output.fileHandleForReading.availableData
        try #require(!data.isEmpty, "openssl s_server ended")
        text += String(decoding: data, as: UTF8.self)
      }
      self.process = process
      port = try #require(text.split(separator: "127.0.0.1:").last.flatMap { UInt16($0.prefix { $0.isNumber }) })
      // The server must not wait for a reader of what it prints.
      output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    deinit { process.terminate() }

    func url(host: String = "127.0.0.1") throws -> URL { try #require(URL(string: "https://\(host):\(port)/")) }
  }
#endif
