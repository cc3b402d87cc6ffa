// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyGrain
import StepwiseTesting

/// The old code of Migration.md about progressions, each piece with what is needed to see what it does.
@available(*, deprecated)
enum OldProgressions {
  typealias FileOpen = OldStages.FileOpen

  static func open(_ url: URL, telling seen: Recorder<String>) {
    @Sendable func show(_ document: Document) { seen.record(document.text) }
    @Sendable func report(_ error: any Error) { seen.record("\(error)") }
    FileOpen.read(url).execute { useResult in
      do { show(try useResult()) } catch { report(error) }
    }
  }

  static func result<P: Progression>(of progression: P, telling seen: Recorder<String>) {
    progression.execute { useResult in
      do { seen.record("\(try useResult())") } catch { seen.record("\(error)") }
    }
  }

  static func imports(from url: URL, telling seen: Recorder<String>) {
    result(of: OldStages.Import.open(.read(url)), telling: seen)
    result(of: OldStages.OlderImport.open(.read(url)), telling: seen)
    result(of: OldStages.DeferringImport.open(.read(url)), telling: seen)
  }

  static func request(_ url: URL, in session: FakeSession, telling seen: Recorder<String>) {
    let request = Deferred<Data>.future { resolve in
      session.dataTask(with: url) { data, _, error in
        if let error = error { resolve { throw error } } else { resolve { data ?? Data() } }
      }.resume()
    }
    request.perform { useResult in
      do { seen.record("\(try useResult().count)") } catch { seen.record("\(error)") }
    }
  }

  static func transformed(_ url: URL, telling seen: Recorder<String>) {
    func text(at url: URL) -> Deferred<String> { Deferred { try Document(load(url)).text } }
    func checked(_ count: Int) -> Deferred<Int> {
      count > 3 ? Deferred(throwing: Failure("too long")) : Deferred { count }
    }
    let count = text(at: url).map { text in text.count }.flatMap { useCount in checked(try useCount()) }
    count >>= { useResult in
      do { seen.record("\(try useResult())") } catch { seen.record("\(error)") }
    }
  }

  static func both(_ first: URL, _ second: URL, telling seen: Recorder<String>) {
    func text(at url: URL) -> Deferred<String> { Deferred { try Document(load(url)).text } }
    let both = text(at: first) & text(at: second)
    both >>= { useResult in
      do { seen.record("\(try useResult())") } catch { seen.record("\(error)") }
    }
  }

  static func beside(_ queue: DispatchQueue, telling seen: Recorder<String>) {
    let counts = [{ "a".count }, { "bb".count }] / queue
    counts >>= { useResult in
      do { seen.record("\(try useResult())") } catch { seen.record("\(error)") }
    }
  }

  static func inQueue(_ queue: DispatchQueue, here: @escaping @Sendable () -> String, telling seen: Recorder<String>) {
    let place = Deferred { here() } + queue
    place >>= { useResult in
      do { seen.record(try useResult()) } catch { seen.record("\(error)") }
    }
  }

  static func onTheMainQueue(_ url: URL, here: @escaping @Sendable () -> String, telling seen: Recorder<String>) {
    func text(at url: URL) -> Deferred<String> { Deferred { try Document(load(url)).text } }
    @Sendable func show(_ text: String) { seen.record("\(text) \(here())") }
    @Sendable func report(_ error: any Error) { seen.record("\(error) \(here())") }
    text(at: url) >>=
      .main + { useResult in
        do { show(try useResult()) } catch { report(error) }
      }
  }

  static func stages(_ url: URL, isWanted: @escaping @Sendable () -> Bool, telling seen: Recorder<String>) {
    @Sendable func show(_ stage: FileOpen) { seen.record(brief(stage)) }
    let document = FileOpen.read(url).deferred(performer: .global()) { stage in
      show(stage)
      return isWanted()
    }
    document.perform { useResult in seen.record((try? useResult()) == nil ? "stopped" : "opened") }
  }

  static func inARow(_ first: URL, _ second: URL, telling seen: Recorder<String>) {
    let documents = [FileOpen.read(first), .read(second)].serially(on: DispatchQueue.global())
    documents.map { documents in documents.map(\.text) }.perform { useResult in
      do { seen.record("\(try useResult())") } catch { seen.record("\(error)") }
    }
  }

  static func line(_ urls: [URL], telling seen: Recorder<String>) {
    let line = ProductionLine<Telling>(maxCount: 2, performer: .global())
    line.add(urls.map { url in .read(url, seen) })
  }

  /// Opens a file and tells about it, since a line keeps results to itself.
  enum Telling: Progression {
    case read(URL, Recorder<String>), success

    func next() -> Deferred<Telling> {
      guard case .read(let url, let seen) = self else { completedStage(self) }
      return Deferred {
        seen.record(try Document(load(url)).text)
        return .success
      }
    }

    var result: Bool? {
      if case .success = self { true } else { nil }
    }
  }

  static func brief(_ stage: FileOpen) -> String {
    switch stage {
    case .read: "read"
    case .parse: "parse"
    case .success: "success"
    }
  }
}
