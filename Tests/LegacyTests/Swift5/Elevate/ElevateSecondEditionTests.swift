// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import StepwiseTesting
import Testing

/// What the second edition added, as the old documents say.
@Suite(.timeLimit(.minutes(5)))
struct ElevateSecondEditionTests {
  @available(*, deprecated)
  @Test func aDeclaredTaskIsLaunchedByName() async {
    let controller = TracksController()
    let task = controller.launch("search", ["term": "Prince"])
    #expect(await task.ended() == false)
    #expect(controller.screen.lines == ["start Prince", "searching Prince for Prince", "finish 6 nil Prince"])
  }

  @available(*, deprecated)
  @Test func eachLaunchHasArgumentsOfItsOwn() async {
    let controller = TracksController()
    let tasks = ["a", "bb"].map { controller.launch("search", ["term": $0]) }
    for task in tasks { await task.ended() }
    #expect(controller.screen.lines.filter { $0.hasPrefix("finish") } == ["finish 1 nil a", "finish 2 nil bb"])
  }

  @available(*, deprecated)
  @Test(arguments: [
    (OfflineError() as any Error, "offline -1009 x", "OfflineError"),
    (NotFoundError(), "NotFoundError() x", "NotFoundError"),
    (TimeoutError(), "timeout x", "TimeoutError"),
    (Fault("no"), "error no x", "Fault"),
  ])
  func theHandlerOfAnErrorIsFoundByItsName(error: any Error, reported: String, name: String) async {
    let controller = TracksController()
    await controller.launch("search", ["term": "x", "error": error]).ended()
    #expect(controller.screen.lines.suffix(2) == [reported, "finish nil \(name) x"])
  }

  @available(*, deprecated)
  @Test func aTimeoutIsFollowedByTheFinish() async {
    let controller = TracksController()
    let task = controller.launch("search", ["term": "x", "waits": true])
    await controller.clock.sleepers(atLeast: 2)
    controller.clock.advance(by: .seconds(30))
    #expect(await task.ended() == false)
    #expect(controller.screen.lines.suffix(2) == ["timeout x", "finish nil TimeoutError x"])
  }

  @available(*, deprecated)
  @Test func aNameCancelsTheTasksOfOneObject() async {
    let (controller, other) = (TracksController(), TracksController())
    let task = await controller.launchEndless("mine")
    let waiting = [controller.launch("search", ["term": "waits"]), other.launch("search", ["term": "theirs"])]
    controller.cancel("other")
    controller.cancel("search")
    #expect(await task.ended())
    #expect(await waiting[0].ended())
    #expect(await waiting[1].ended() == false)
    #expect(other.screen.lines.last == "finish 6 nil theirs")
    #expect(!controller.screen.lines.contains { $0.hasPrefix("finish") || $0.hasPrefix("error") })
  }

  @available(*, deprecated)
  @Test func cancelAllCancelsWhateverTheObjectLaunched() async {
    let (controller, other) = (TracksController(), TracksController())
    let task = await controller.launchEndless("mine")
    let tasks = [
      controller.launch("other"), controller.async { controller.task { try await API.track("endless") } },
      other.launch("other", ["term": "theirs"]),
    ]
    controller.cancelAll()
    #expect(await task.ended())
    #expect(await tasks[0].ended())
    #expect(await tasks[1].ended())
    #expect(await tasks[2].ended() == false)
    #expect(other.screen.lines == ["theirs nil"])
    // It stays usable.
    #expect(await controller.launch("other", ["term": "again"]).ended() == false)
    #expect(controller.screen.lines.last == "again nil")
  }

  @available(*, deprecated)
  @Test func handlersEndWithTheirOwner() async {
    var controller: TracksController? = TracksController()
    weak let gone = controller
    let (screen, clock) = (controller?.screen, controller?.clock)
    let task = await controller?.launchEndless("x")
    controller = nil
    #expect(gone == nil)
    await clock?.sleepers(atLeast: 2)
    clock?.advance(by: .seconds(30))
    #expect(await task?.ended() == false)
    #expect(screen?.lines.count == 2)
  }

  @available(*, deprecated)
  @Test func aResultOfAnotherTypeIsAnError() async {
    let controller = TracksController()
    await controller.launch("other", ["term": 1]).ended()
    #expect(controller.screen.lines == ["nil the result is not a String: it is a Int"])
  }

  @available(*, deprecated)
  @Test func aMissingArgumentIsAnError() async {
    let controller = TracksController()
    await controller.launch("search").ended()
    #expect(controller.screen.lines[1] == "error term is not a String: there is none ")
  }

  @available(*, deprecated)
  @Test func theLastOfEachKindHolds() async {
    let controller = TracksController()
    let screen = controller.screen
    controller.task("search") {
      controller.background { throw Fault("first") }
      controller.background { throw OfflineError() }
      controller.onError { _ in screen.show("first error") }
      controller.onError { _ in screen.show("second error") }
      controller.on(OfflineError.self) { screen.show("first offline") }
      controller.on(OfflineError.self) { screen.show("second offline") }
      controller.on("offline") { screen.show("by name") }
      controller.on((any Error).self) { screen.show("any") }
      controller.onFinish { _, _ in screen.show("first finish") }
      controller.onFinish { _, _ in screen.show("second finish") }
    }
    await controller.launch("search").ended()
    #expect(screen.lines == ["second offline", "second finish"])
  }

  @available(*, deprecated)
  @Test func aTaskWithoutWorkFails() async {
    let controller = TracksController()
    let screen = controller.screen
    await controller.async { controller.onError { error in screen.show("\(error)") } }.ended()
    #expect(screen.lines == ["the task has no block for the background"])
  }

  // As Ruby raised there.
  @available(*, deprecated)
  @Test func launchingWhatWasNotDeclaredStopsTheProgram() async throws {
    let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      TracksController().launch("nothing")
    }
    let error = String(decoding: try #require(end?.standardErrorContent), as: UTF8.self)
    #expect(error.contains("TracksController has declared no task of the name nothing"))
  }

  // As Ruby raised there.
  @available(*, deprecated)
  @Test func aWordOutsideOfABlockStopsTheProgram() async throws {
    let end = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      TracksController().onStart {}
    }
    let error = String(decoding: try #require(end?.standardErrorContent), as: UTF8.self)
    #expect(error.contains("belong into async or task(name)"))
  }

  @available(*, deprecated)
  @Test func workAndUpdatesMayBeOfAnyType() async {
    final class Track {
      let title: String
      init(_ title: String) { self.title = title }
    }
    let controller = TracksController()
    let screen = controller.screen
    await controller.async(["title": "Kiss"]) {
      controller.task {
        yield(Track("demo"))
        yield(1)
        return [Track(try taskArgs.value("title"))] as [Track]?
      }
      controller.onUpdate { (track: Track) in screen.show(track.title) }
      controller.onFinish { (tracks: [Track]?, _) in screen.show(tracks?.first?.title ?? "") }
    }.ended()
    #expect(screen.lines == ["demo", "Kiss"])
  }
}
