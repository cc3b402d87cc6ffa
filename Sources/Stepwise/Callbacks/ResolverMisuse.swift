// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A callback called its resolver again after the first call had settled it.
///
/// The further call changed nothing. It is reported, since most often it shows a mistake in the callback's code.
public struct ResolverMisuse: Sendable, CustomStringConvertible {
  /// The file that made the resolver.
  public let file: String

  /// The line that made the resolver.
  public let line: UInt

  /// How often the callback's side has called by now, the first call included.
  public let count: Int

  package init(file: String, line: UInt, count: Int) {
    self.file = file
    self.line = line
    self.count = count
  }

  /// The resolver's place in the source and the number of calls, in a sentence.
  public var description: String {
    "the resolver made at \(file):\(line) was called \(count) times; only the first call counts"
  }

  private static let current = Lock<@Sendable (ResolverMisuse) -> Void>(reportInDebugBuilds)

  /// Is told of every misuse, on the thread of the call.
  ///
  /// By default it writes a line to standard error in debug builds and does nothing in release builds.
  public static var handler: @Sendable (ResolverMisuse) -> Void {
    get { current.withLock { $0 } }
    // What the handler before holds is released outside the lock.
    set { _ = current.withLock { exchange(&$0, with: newValue) } }
  }

  @Sendable private static func reportInDebugBuilds(_ misuse: ResolverMisuse) {
    #if DEBUG
      Platform.reportToStandardError("Stepwise: \(misuse)")
    #endif
  }
}
