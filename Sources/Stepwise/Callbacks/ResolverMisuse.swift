// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A diagnostic: a callback called its resolver after the first call had settled it.
///
/// The extra call has no effect. It is reported because it usually indicates a bug in the callback's code.
public struct ResolverMisuse: Sendable, CustomStringConvertible {
  /// The file in which the resolver was created.
  public let file: String

  /// The line at which the resolver was created.
  public let line: UInt

  /// The number of calls so far, including the first one.
  public let count: Int

  package init(file: String, line: UInt, count: Int) {
    self.file = file
    self.line = line
    self.count = count
  }

  /// The location of the resolver and the number of calls.
  public var description: String {
    "resolver created at \(file):\(line) was called \(count) times; only the first call counts"
  }

  private static let current = Lock<@Sendable (ResolverMisuse) -> Void>(reportInDebugBuilds)

  /// Called with each diagnostic, on the thread of the call.
  ///
  /// By default it writes a line to standard error in debug builds and does nothing in release builds.
  public static var handler: @Sendable (ResolverMisuse) -> Void {
    get { current.withLock { $0 } }
    // The previous handler is released outside the lock.
    set { _ = current.withLock { exchange(&$0, with: newValue) } }
  }

  @Sendable private static func reportInDebugBuilds(_ misuse: ResolverMisuse) {
    #if DEBUG
      Platform.reportToStandardError("Stepwise: \(misuse)")
    #endif
  }
}
