// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseHTTPTesting
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// Bodies that are read as they are sent, over each transport.
@Suite(.timeLimit(.minutes(5))) struct UploadTests {
  private static func pieces(_ texts: String...) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for text in texts { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
  }

  @Test(arguments: TransportKind.available)
  func `A file is sent as it is`(kind: TransportKind) async throws {
    let server = try UploadServer()
    let client = try kind.client(server.url())
    try await inFolder { folder in
      let file = folder.appendingPathComponent("a")
      try Data("from a file".utf8).write(to: file)
      let status = try await client.put("x", body: .file(file, type: "text/plain")).status
      #expect(status == 200)
      for (name, code) in [("none", POSIXErrorCode.ENOENT), (".", .EISDIR)] {
        let error = await #expect(throws: HTTPError.self) {
          try await client.put("x", body: .file(folder.appendingPathComponent(name)))
        }
        guard case .request(let underlying as POSIXError) = error else {
          Issue.record("\(name): \(String(describing: error))")
          continue
        }
        #expect(underlying.code == code)
      }
    }
    #expect(server.uploads == [.init(type: "text/plain", length: 11, isChunked: false, text: "from a file")])
  }

  /// The server would take the rest for the next request on the connection.
  @Test(arguments: TransportKind.available)
  func `A file that grows while it is sent has the length of its start`(kind: TransportKind) async throws {
    let (port, grown, length) = (try DeadPort(), DispatchSemaphore(value: 0), 1 << 20)
    let client = try kind.client(port.url)
    try await inFolder { folder in
      let file = folder.appendingPathComponent("a")
      try Data(repeating: 65, count: length).write(to: file)
      let isFirst = Lock(true)
      // Nothing is read before the file has grown.
      async let response = client.put("x", body: .file(file)) { _ in
        guard isFirst.withLock({ exchange(&$0, with: false) }) else { return }
        if let handle = try? FileHandle(forWritingTo: file), (try? handle.seekToEnd()) != nil {
          try? handle.write(contentsOf: Data("GET /smuggled HTTP/1.1\r\n\r\n".utf8))
        }
        grown.signal()
      }
      let received = await onThread { () -> [UInt8] in
        grown.wait()
        guard let connection = port.waitForConnection() else { return [] }
        defer { connection.close() }
        var received: [UInt8] = []
        while received.count < length, let bytes = connection.receive() { received += bytes }
        let head = received.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0
        while received.count < head + length, let bytes = connection.receive() { received += bytes }
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        guard connection.send(Array(answer.utf8)[...]) else { return [] }
        connection.finishSending()
        while let bytes = connection.receive() { received += bytes }
        return Array(received[head...])
      }
      #expect(try await response.text == "ok")
      #expect(received.count == length && received.allSatisfy { $0 == 65 })
    }
  }

  /// Its length is 0, and what is written to it meanwhile is not its content.
  @Test(arguments: TransportKind.available)
  func `A body that is no regular file is refused`(kind: TransportKind) async throws {
    let server = try UploadServer()
    let (client, stub) = (try kind.client(server.url()), HTTPStub())
    stub.on("PUT", "/x") { _ in .text("ok") }
    try await inFolder { folder in
      let pipe = folder.appendingPathComponent("pipe")
      #expect(mkfifo(pipe.path, 0o600) == 0)
      for file in [pipe, URL(filePath: "/dev/null")] {
        var form = HTTPMultipart()
        form.add("a", file: file)
        for body in [HTTPBody.file(file), .multipart(form)] {
          await #expect(throws: HTTPError.refused(reason: "")) { try await client.put("x", body: body) }
          let stubbed = HTTPClient(baseURL: try server.url(), session: stub.session)
          await #expect(throws: HTTPError.refused(reason: "")) { try await stubbed.put("x", body: body) }
        }
      }
    }
    #expect(server.uploads.isEmpty)
  }

  @Test func `A file of a form that appears after it was added is sent whole`() async throws {
    let server = try UploadServer()
    try await inFolder { folder in
      let file = folder.appendingPathComponent("late")
      var form = HTTPMultipart()
      form.add("a", file: file)
      try Data("it is here".utf8).write(to: file)
      #expect(try await HTTP.post(server.url(), body: .multipart(form)).status == 200)
    }
    #expect(server.uploads.first?.text.contains("it is here") == true)
  }

  #if os(Linux)
    @Test(arguments: ["bytes", "file", "sequence"])
    func `No kind of body has more bytes than its length`(kind: String) async throws {
      try await inFolder { folder in
        let (file, pieces) = (folder.appendingPathComponent("a"), Recorder<Result<Data?, any Error>>())
        try Data("0123456789".utf8).write(to: file)
        let content: HTTPBody.Content =
          switch kind {
          case "bytes": .bytes(Data("0123456789".utf8))
          case "file": .file(file)
          default: .chunks(length: 10) { { Data("0123456789 and more".utf8) } }
          }
        let upload = try CurlUpload(content) { pieces.record($0) }
        defer { upload.close() }
        try Data("0123456789 and more".utf8).write(to: file)
        var (read, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 7))
        while let count = try buffer.withUnsafeMutableBytes({ try upload.read(into: $0) }), count != 0 || read.isEmpty {
          read += buffer.prefix(count)
        }
        if kind == "sequence" {
          upload.receive(await pieces.elements(atLeast: 1)[0])
          while let count = try buffer.withUnsafeMutableBytes({ try upload.read(into: $0) }), count > 0 {
            read += buffer.prefix(count)
          }
        }
        #expect(String(decoding: read, as: UTF8.self) == "0123456789")
      }
    }
  #endif

  @Test(arguments: TransportKind.available, [5, nil] as [Int64?])
  func `A sequence is sent with and without a length`(kind: TransportKind, length: Int64?) async throws {
    let server = try UploadServer()
    let client = try kind.client(server.url())
    let response = try await client.post(body: .sequence(Self.pieces("ab", "cde"), length: length, type: "a/b"))
    #expect(response.status == 200)
    // URLSession gets a file, whose length is known.
    let isChunked = kind == .libcurl && length == nil
    #expect(server.uploads == [.init(type: "a/b", length: 5, isChunked: isChunked, text: "abcde")])
  }

  @Test(arguments: TransportKind.available)
  func `A sequence that is shorter than announced is an error`(kind: TransportKind) async throws {
    let client = try kind.client(UploadServer().url())
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await client.post(body: .sequence(Self.pieces("ab"), length: 5))
    }
  }

  @Test(arguments: TransportKind.available)
  func `A sequence's error ends the request`(kind: TransportKind) async throws {
    struct Broken: Error {}
    let client = try kind.client(UploadServer().url())
    let pieces = AsyncThrowingStream<Data, any Error> { continuation in
      continuation.yield(Data([1]))
      continuation.finish(throwing: Broken())
    }
    let error = await #expect(throws: HTTPError.self) { try await client.post(body: .sequence(pieces)) }
    guard case .request(let underlying) = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(underlying is Broken)
  }

  @Test(arguments: TransportKind.available)
  func `A redirect sends a sequence again only if it can be created again`(kind: TransportKind) async throws {
    let server = try UploadServer()
    let client = try kind.client(server.url())
    await #expect(throws: HTTPError.refused(reason: "")) {
      try await client.post("307", body: .sequence(Self.pieces("once")))
    }
    let again = try await client.post("307", body: .sequence(type: "a/b") { Self.pieces("again") })
    #expect(again.status == 200)
    #expect(server.uploads.map(\.text) == ["again"])
  }

  @Test(
    arguments: TransportKind.available
  )
  func `All progress is reported before the response`(kind: TransportKind) async throws {
    let (server, progress) = (try UploadServer(), Recorder<HTTPUploadProgress>())
    _ = try await kind.client(server.url()).post(body: .bytes(Data(count: 3_000_000))) { progress.record($0) }
    let all = progress.elements
    #expect(all.last == HTTPUploadProgress(sentBytes: 3_000_000, totalBytes: 3_000_000))
    #expect(all.map(\.sentBytes) == all.map(\.sentBytes).sorted())
    #expect(all.last?.fractionCompleted == 1)
  }

  @Test(arguments: TransportKind.available)
  func `A progress closure that does not return does not delay a cancellation`(kind: TransportKind) async throws {
    let (server, entered, gate) = (try UploadServer(), Recorder<Bool>(), DispatchSemaphore(value: 0))
    let client = try kind.client(server.url())
    let request = Task {
      try await client.post(body: .bytes(Data(count: 10))) { _ in
        entered.record(true)
        gate.wait()
      }
    }
    await entered.elements(atLeast: 1)
    #expect(await becomesTrue { !server.uploads.isEmpty })
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    gate.signal()
  }

  @Test func `A request returns after the last call of its progress closure`() async throws {
    let (entered, ended, returned) = (Recorder<Bool>(), Recorder<Int64>(), Recorder<Bool>())
    let gate = DispatchSemaphore(value: 0)
    let session = HTTPSession(transport: ScriptedTransport { _ in HTTPResponseHead(status: 200) })
    let client = HTTPClient(baseURL: try #require(URL(string: "http://127.0.0.1/")), session: session)
    let request = Task {
      let response = try await client.post(body: .bytes(Data(count: 10))) { progress in
        entered.record(true)
        gate.wait()
        ended.record(progress.sentBytes)
      }
      returned.record(true)
      return response.status
    }
    await entered.elements(atLeast: 1)
    // A request that does not wait has the time to return.
    for _ in 0..<10_000 { await Task.yield() }
    let early = returned.elements
    gate.signal()
    #expect(try await request.value == 200)
    #expect(early.isEmpty && ended.elements == [10])
  }

  /// The response has arrived, so all that the request waits for is the closure.
  @Test func `A request that waits for its last progress can be cancelled`() async throws {
    let (entered, gate) = (Recorder<Bool>(), DispatchSemaphore(value: 0))
    let session = HTTPSession(transport: ScriptedTransport { _ in HTTPResponseHead(status: 200) })
    let client = HTTPClient(baseURL: try #require(URL(string: "http://127.0.0.1/")), session: session)
    let request = Task {
      try await client.post(body: .bytes(Data(count: 10))) { _ in
        entered.record(true)
        gate.wait()
      }
    }
    await entered.elements(atLeast: 1)
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    gate.signal()
  }

  @Test(arguments: TransportKind.available)
  func `Cancelling an upload cancels its sequence`(kind: TransportKind) async throws {
    let (port, waiting, cancelled) = (try DeadPort(), Recorder<Bool>(), Recorder<Bool>())
    let client = try kind.client(port.url)
    let body = AsyncStream<Data>(unfolding: {
      waiting.record(true)
      if waiting.elements.count == 1 { return Data(count: 10) }
      let clock = ManualClock()
      do { try await clock.sleep(for: .seconds(1)) } catch { cancelled.record(true) }
      return nil
    })
    let request = Task { try await client.post(body: .sequence(body)) }
    await waiting.elements(atLeast: 2)
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    await cancelled.elements(atLeast: 1)
  }

  @Test(
    arguments: TransportKind.available
  )
  func `A form keeps its order, and no name breaks out of its header`(kind: TransportKind) async throws {
    let server = try UploadServer()
    let client = try kind.client(server.url())
    try await inFolder { folder in
      let file = folder.appendingPathComponent("a.txt")
      try Data("in a file".utf8).write(to: file)
      var form = HTTPMultipart()
      form.add("title", "Kiss")
      form.add("e\"\u{301}vil\r\nX: 1", bytes: Data("b".utf8), fileName: "n\"\n")
      form.add("file", file: file, type: "text/plain")
      let status = try await client.post(body: .multipart(form)).status
      #expect(status == 200)
      let boundary = try #require(form.type.components(separatedBy: "boundary=").last)
      let lines = [
        "--\(boundary)", "Content-Disposition: form-data; name=\"title\"", "", "Kiss", "--\(boundary)",
        "Content-Disposition: form-data; name=\"e%22\u{301}vil%0D%0AX: 1\"; filename=\"n%22%0A\"",
        "Content-Type: application/octet-stream", "", "b", "--\(boundary)",
        "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"", "Content-Type: text/plain", "",
        "in a file", "--\(boundary)--", "",
      ]
      let text = lines.joined(separator: "\r\n")
      #expect(server.uploads == [.init(type: form.type, length: text.utf8.count, isChunked: false, text: text)])
      var evil = HTTPMultipart()
      evil.add("a", bytes: Data(), fileName: "b", type: "text/plain\r\nX: 1")
      await #expect(throws: HTTPError.refused(reason: "")) {
        try await client.post(body: .multipart(evil))
      }
      form.add("gone", file: folder.appendingPathComponent("none"))
      await #expect(throws: HTTPError.request(underlyingError: CancellationError())) {
        try await client.post(body: .multipart(form))
      }
    }
  }

  /// 200 MB: a copy in memory would exceed the limit.
  @Test(
    .enabled(if: isMeasurable),
    arguments: TransportKind.available
  )
  func `Uploads of a file, a form and a sequence have flat memory`(kind: TransportKind) async throws {
    let server = try UploadServer()
    let url = try server.url()
    await #expect(processExitsWith: .success) { [url = url as URL, kind = kind.rawValue as String] in
      LoopbackServer.bypassProxy()
      try await inFolder { folder in
        let file = folder.appendingPathComponent("large")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 200_000_000)
        var form = HTTPMultipart()
        form.add("file", file: file)
        let client = try #require(TransportKind(rawValue: kind)).client(url)
        for body in [HTTPBody.file(file), .multipart(form), .sequence(Zeros(pieces: 200), length: 200_000_000)] {
          let status = try await client.put(body: body, deadlines: .never).status
          #expect(status == 200)
        }
        #expect(peakMemory() < 100_000_000, "\(peakMemory()) bytes")
      }
    }
    #expect(server.uploads.map { $0.length > 199_999_999 } == [true, true, true])
  }
}

/// Pieces of 1 MB.
private struct Zeros: AsyncSequence, AsyncIteratorProtocol, Sendable {
  var pieces: Int

  mutating func next() async -> Data? {
    guard pieces > 0 else { return nil }
    pieces -= 1
    return Data(count: 1_000_000)
  }

  func makeAsyncIterator() -> Zeros { self }
}
