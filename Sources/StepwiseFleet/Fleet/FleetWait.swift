// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// Explains why a job does not run: what it waits for, since when, and until when.
  ///
  /// Times are by the database's clock.
  public struct FleetWait: Hashable, Sendable {
    /// What a job waits for.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
      /// The name of the reason.
      public let description: String

      /// The job was enqueued for a later time.
      public static let start = Reason(description: "start")
      /// The last attempt failed, and the next one is delayed.
      public static let retry = Reason(description: "retry")
      /// A step or a stage sleeps.
      public static let sleep = Reason(description: "sleep")
      /// A step or a stage waits for a signal.
      public static let signal = Reason(description: "signal")
      /// The job waits for its children.
      public static let children = Reason(description: "children")
      /// The name is paused.
      public static let pause = Reason(description: "pause")
      /// The job itself is paused.
      public static let jobPause = Reason(description: "jobPause")
      /// No worker with a lease has registered the type.
      public static let type = Reason(description: "type")
      /// No worker with a lease knows the version that stored the stage.
      public static let version = Reason(description: "version")
      /// No worker with a lease that knows the version takes a job with its tags.
      public static let tag = Reason(description: "tag")
      /// The last worker could not read what the job has stored: it does not have the codec, or the codec failed.
      ///
      /// Nothing of the job has failed. It is tried again every 30 seconds, until a worker can read it.
      public static let codec = Reason(description: "codec")
      /// The limits of the name do not admit another job.
      public static let limit = Reason(description: "limit")
      /// The workers that know the type have no free slot, or are about to claim the job.
      public static let slot = Reason(description: "slot")
    }

    /// What the job waits for.
    public let reason: Reason
    /// The names of the signals, the ids of at most ten children, the version, the tags, the codec, the limit, or how many
    /// slots are taken.
    public let details: [String]
    /// How many children the job waits for, those included that have ended; nil for another reason.
    public let childCount: Int?
    /// How many of them have not ended; nil for another reason.
    public let openChildCount: Int?
    /// When the wait began.
    public let since: Date
    /// When the wait ends at the latest, or the job is due; nil when no time ends it.
    public let until: Date?
  }

  extension FleetWait: CustomStringConvertible {
    /// What the job waits for, in words.
    public var description: String {
      let list = details.joined(separator: ", ")
      return switch reason {
      case .start: "its start time"
      case .retry: "its next attempt"
      case .sleep: "the end of a sleep"
      case .signal: "the signal \(list)"
      case .children: details.isEmpty ? "its children, which have ended" : "\(children): \(list)\(rest)"
      case .pause: "its name to be resumed"
      case .jobPause: "the job to be resumed"
      case .type: "a worker that knows its type"
      case .version: "a worker that knows version \(list)"
      case .tag: details.isEmpty ? "a worker that takes jobs without a tag" : "a worker that takes its tag \(list)"
      case .codec: "a worker whose codec \"\(list)\" can read it"
      case .limit: "a limit of its name: \(list)"
      default: "a slot: \(list)"
      }
    }

    /// The description without the ids of children.
    package var summary: String { reason == .children && !details.isEmpty ? children : description }

    private var children: String {
      guard let childCount, let openChildCount else { return "its children" }
      return "\(openChildCount) of its \(childCount) children"
    }

    private var rest: String { openChildCount ?? 0 > details.count ? ", …" : "" }
  }

  extension FleetWait: Decodable {
    private enum CodingKeys: String, CodingKey {
      case reason, details, since, until
      case childCount = "children"
      case openChildCount = "openChildren"
    }

    /// Reads what the function `why` of the database returns.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      reason = Reason(description: try values.decode(String.self, forKey: .reason))
      details = try values.decode([String].self, forKey: .details)
      childCount = try values.decodeIfPresent(Int.self, forKey: .childCount)
      openChildCount = try values.decodeIfPresent(Int.self, forKey: .openChildCount)
      since = Date(timeIntervalSince1970: try values.decodeIfPresent(Double.self, forKey: .since) ?? 0)
      until = try values.decodeIfPresent(Double.self, forKey: .until).map { Date(timeIntervalSince1970: $0) }
    }

    init?(json: String?) {
      guard let json, let wait = try? JSONDecoder().decode(FleetWait.self, from: Data(json.utf8)) else { return nil }
      self = wait
    }
  }
#endif
