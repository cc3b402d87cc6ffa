// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyGrainFirst
import StepwiseTesting
import Testing

/// The samples of the README of Grain 0.3.1, which that of 0.4.0 repeats.
@Suite(.timeLimit(.minutes(5)))
struct GrainThirdReadmeTests {
  let seen = Recorder<String>()

  // Edits: what a user does with the result, and with the error, is to record it.
  @available(*, deprecated)
  @Test(arguments: [
    (#"{"text": "abc", "number": 5, "arrayOfText": ["def", "ghi"]}"#, #"abc 5.0 ["def", "ghi"]"#),
    ("[]", "invalidJSON"), ("{}", "missingData"),
  ])
  func `A file is opened`(text: String, expected: String) async throws {
    let workshop = try Workshop()
    let fileURL = NSURL(fileURLWithPath: try workshop.file(text).path)
    FileOpenStage3.read(fileURL: fileURL).execute { useResult in
      do {
        let (text, number, arrayOfText) = try useResult()
        // Use result...
        seen.record("\(text) \(number) \(arrayOfText)")
      } catch {
        // Handle `error` here
        seen.record("\(error)")
      }
    }

    #expect(await seen.elements(atLeast: 1) == [expected])
    withExtendedLifetime(workshop) {}
  }

  // Edits: `print` records, and tells the case alone.
  @available(*, deprecated)
  @Test func `Queues are customized`() async throws {
    let seen = seen
    @Sendable func print(_ text: String) { seen.record(String(text.prefix { $0 != "(" })) }
    let workshop = try Workshop()
    let fileURL = NSURL(fileURLWithPath: try workshop.file("[]").path)

    var customizer = GCDExecutionCustomizer<FileOpenStage3>()

    let readQueue = DispatchQueue(label: "com.example.fileReading")

    // Change queue for particular stages
    customizer.serviceForStage = { stage in
      switch stage {
      case .read: return .customQueue(readQueue)  // Custom dispatch queue
      default: return .utility  // Utility QOS global queue
      }
    }

    // Complete with user interactive QOS
    customizer.completionService = .userInteractive

    customizer.beforeStage = { print("About to perform stage \($0)") }

    // Execute using customizer
    FileOpenStage3.read(fileURL: fileURL).execute(customizer: customizer) { useResult in
      // ...
      seen.record((try? useResult()) == nil ? "error" : "result")
    }

    let stages = ["read", "unserializeJSON", "parseJSON"].map { "About to perform stage \($0)" }
    #expect(await seen.elements(atLeast: 4) == stages + ["error"])
    withExtendedLifetime(workshop) {}
  }

  @available(*, deprecated)
  @Test(arguments: ["/echo", "/wrong"]) func `A file is uploaded`(path: String) async throws {
    let (workshop, server) = (try Workshop(), try TestServer())
    let file = try workshop.file(#"{"text": "abc", "number": 5, "arrayOfText": []}"#)
    FileUploadStage3.openFile(
      fileOpenStage: .read(fileURL: NSURL(fileURLWithPath: file.path)),
      destinationURL: try server.url(path)
    )
    .execute { useResult in
      do {
        try useResult()
        seen.record("/echo")
      } catch FileUploadStage3.Error.uploadFailed(let statusCode, _) {
        seen.record(statusCode == 400 ? "/wrong" : "\(statusCode)")
      } catch {
        seen.record("\(error)")
      }
    }

    #expect(await seen.elements(atLeast: 1) == [path])
    withExtendedLifetime((workshop, server)) {}
  }
}
