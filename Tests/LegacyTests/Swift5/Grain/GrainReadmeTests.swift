// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrain
import StepwiseTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The samples of the README of Grain, second edition.
@Suite(.timeLimit(.minutes(5)))
struct GrainReadmeTests {
  let seen = Recorder<String>()

  // Edit: the sample's braces are not balanced: the one that ends `do` is missing, and the one after `catch` is too many.
  // The recordings are the test's.
  @available(*, deprecated)
  @Test func `Access to a file is scoped`() async throws {
    let workshop = try Workshop()
    let fileURL = try workshop.file("{}")
    FileAccessProgression.start(fileURL: fileURL, forgiving: true).execute { useResult in
      do {
        let result = try useResult()
        seen.record("has access: \(result.hasAccess)")
        if let stopper = result.stopper {
          // Use result.fileURL
          seen.record(result.fileURL.lastPathComponent)
          // All when done accessing
          stopper.execute { useResult in
            let stopped = try? useResult()
            let stopper = stopped?.stopper == nil ? "none" : "some"
            seen.record("has access: \(stopped?.hasAccess ?? true), stopper: \(stopper)")
          }
        }
      } catch {
        // Handle `error` here
        seen.record("\(error)")
      }
    }

    #expect(
      await seen.elements(atLeast: 3) == ["has access: true", "file.json", "has access: false, stopper: none"]
    )
    withExtendedLifetime(workshop) {}
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func `A file without access is an error unless it is optional`(forgiving: Bool)
    async throws
  {
    FileAccessProgression.start(fileURL: URL(fileURLWithPath: "/nowhere/file"), forgiving: forgiving)
      .execute { useResult in
        do {
          seen.record("has access: \(try useResult().hasAccess)")
        } catch FileAccessProgression.ErrorKind.cannotAccess(let fileURL) {
          seen.record(fileURL.lastPathComponent)
        } catch {
          seen.record("\(error)")
        }
      }

    #expect(await seen.elements(atLeast: 1) == [forgiving ? "has access: false" : "file"])
  }

  @available(*, deprecated)
  @Test func `Requests are sent`() async throws {
    let server = try TestServer()
    HTTPRequestProgression.get(url: try server.url("/method")).execute { useResult in
      do {
        let result = try useResult()
        seen.record("\(result.response.statusCode) \(String(decoding: result.body ?? Data(), as: UTF8.self))")
      } catch {
        seen.record("\(error)")
      }
    }
    #expect(await seen.elements(atLeast: 1) == ["200 GET"])
    HTTPRequestProgression.post(url: try server.url("/echo"), body: Data("body".utf8)).execute { useResult in
      seen.record(String(decoding: (try? useResult().body) ?? Data(), as: UTF8.self))
    }
    #expect(await seen.elements(atLeast: 2).last == "body")
    withExtendedLifetime(server) {}
  }

  @available(*, deprecated)
  @Test func `Reading a file is composed with an upload`() async throws {
    let (workshop, server) = (try Workshop(), try TestServer())
    let fileURL = try workshop.file(#"{"text": "abc", "number": 5, "arrayOfText": ["def", "ghi"]}"#)
    FileUploadProgression.openFile(fileStage: .read(fileURL: fileURL), destinationURL: try server.url("/echo"))
      .execute { useResult in
        let object = (try? useResult()) as? [String: Any]
        seen.record("\(object?["number"] as? Double ?? 0)")
      }

    #expect(await seen.elements(atLeast: 1) == ["5.0"])
    FileUploadProgression.openFile(fileStage: .read(fileURL: fileURL), destinationURL: try server.url("/wrong"))
      .execute { useResult in
        do {
          _ = try useResult()
        } catch FileUploadProgression.ErrorKind.uploadFailed(let statusCode, let body) {
          seen.record("\(statusCode) \(String(decoding: body ?? Data(), as: UTF8.self))")
        } catch {
          seen.record("\(error)")
        }
      }
    #expect(await seen.elements(atLeast: 2).last == "400 no")
    withExtendedLifetime((workshop, server)) {}
  }

  // The text: "you can resume at any stage, not just initial ones".
  @available(*, deprecated)
  @Test func `A progression resumes at any stage`() async {
    FileUploadProgression.parseUploadResponse(data: Data("[1]".utf8)).execute { useResult in
      seen.record("\((try? useResult()) as? [Int] ?? [])")
    }

    #expect(await seen.elements(atLeast: 1) == ["[1]"])
  }

  // The text: "by default with a utility quality of service", on a background queue, even synchronous ones.
  @available(*, deprecated)
  @Test func `Stages run in a background queue`() async {
    WhereStage.start.execute { useResult in seen.record((try? useResult()) ?? "none") }

    #expect(await seen.elements(atLeast: 1) == ["main thread: false"])
  }
}

@available(*, deprecated)
private enum WhereStage: Progression {
  case start
  case complete(String)

  func next() -> Deferred<WhereStage> { Deferred { .complete("main thread: \(Thread.isMainThread)") } }

  var result: String? {
    if case .complete(let text) = self { text } else { nil }
  }
}
