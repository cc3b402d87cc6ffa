// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import Testing

@testable import Tour

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The examples of Grain's READMEs on real files and a loopback server.
@Suite(.timeLimit(.minutes(5))) struct GrainExampleTests {
  private let workshop = try? Workshop()
  private let text = #"{"text": "abc", "number": 5, "arrayOfText": ["def", "ghi"]}"#

  private func file(_ text: String) throws -> URL {
    let workshop = try #require(workshop)
    try workshop.write(Array(text.utf8), to: "example.json")
    return workshop.directory.appendingPathComponent("example.json")
  }

  @Test func `A file is opened`() async throws {
    let url = try file(text)
    let content = try await JSONFileRead.read(url).run()
    #expect(content == JSONFileRead.Content(text: "abc", number: 5, arrayOfText: ["def", "ghi"]))
    var stages: [JSONFileRead] = []
    for try await stage in JSONFileRead.read(url).stages { stages.append(stage) }
    #expect(stages == [.read(url), .parse(Data(text.utf8)), .success(content)])
    // "Testing, since you can resume at any stage, not just initial ones".
    #expect(try await JSONFileRead.parse(Data(text.utf8)).run() == content)
    await #expect(throws: DecodingError.self) { try await JSONFileRead.read(file("{}")).run() }
  }

  @Test func `A progression executes on a file`() async throws {
    let url = try file(text)
    let content = try await withResolver { (resolver: Resolver<JSONFileRead.Content>) in
      JSONFileRead.read(url).execute { useResult in resolver.resolve { try useResult() } }
    }
    #expect(content.number == 5)
  }

  @Test func `Access to a file is scoped`() async throws {
    let url = try file(text)
    let access = try await FileAccess.start(url, forgiving: false).run()
    #expect(access.hasAccess)
    #expect(try access.handle.readToEnd() == Data(text.utf8))
    let stopped = try await #require(access.stopper).run()
    #expect(!stopped.hasAccess && stopped.stopper == nil)
    let missing = url.appendingPathExtension("missing")
    await #expect(throws: FileAccess.CannotAccess.self) { try await FileAccess.start(missing, forgiving: false).run() }
    #expect(try await !FileAccess.start(missing, forgiving: true).run().hasAccess)
  }

  @Test func `Requests are sent`() async throws {
    let server = try LoopbackServer(routes: [
      "/echo": { request in .text("\(request.method) \(String(decoding: request.body, as: UTF8.self))") }
    ])
    let url = try #require(URL(string: server.address + "/echo"))
    let (response, body) = try await HTTPRequest.get(url).run()
    #expect(response.statusCode == 200 && body == Data("GET ".utf8))
    #expect(try await HTTPRequest.post(url, body: Data("x".utf8)).run().body == Data("POST x".utf8))
    server.stop()
    await #expect(throws: URLError.self) { try await HTTPRequest.get(url).run() }
  }

  @Test func `A file is uploaded`() async throws {
    let server = try LoopbackServer(routes: [
      "/number": { request in .ok(request.body) },
      "/wrong": { _ in LoopbackServer.Reply(status: 400, body: Array("no".utf8)) },
    ])
    let source = try file(text)
    let destination = try #require(URL(string: server.address + "/number"))
    var names: [String] = []
    for try await stage in FileUpload.openFile(.read(source), destination: destination).stages {
      switch stage {
      case .openFile(.read, _): names.append("read")
      case .openFile(.parse, _): names.append("parse")
      case .openFile(.success, _): names.append("parsed")
      case .upload(.success): names.append("sent")
      case .upload: names.append("send")
      case .parseResponse: names.append("response")
      case .success(let result): names.append("\(result)")
      }
    }
    #expect(names == ["read", "parse", "parsed", "send", "sent", "response", #"["number": 5.0]"#])
    let wrong = try #require(URL(string: server.address + "/wrong"))
    await #expect(throws: FileUpload.UploadFailed(status: 400, body: Data("no".utf8))) {
      try await FileUpload.openFile(.read(source), destination: wrong).run()
    }
  }

  @Test func `Cancelling a request ends it immediately`() async throws {
    let arrived = Once<Void>()
    let server = try LoopbackServer { _ in
      arrived.settle(())
      return .ok([1, 2, 3]).slowly(chunkSize: 1, pause: .seconds(60))
    }
    let run = HTTPRequest.get(try #require(URL(string: server.address))).start()
    // Not before: URLSession does not survive every cancel of a task that is just being resumed.
    await arrived.valueIgnoringCancellation()
    run.cancel(reason: "enough")
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "enough")
  }
}
