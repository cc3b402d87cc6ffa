// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Selects the jobs that a worker takes by their tags.
  ///
  /// Use it where not every machine can run every job of a type:
  ///
  /// ```swift
  /// let fleet = Fleet(server, configuration: FleetConfiguration(tags: .only(["gpu"])))
  /// ```
  public struct FleetTags: Hashable, Sendable {
    /// The tags of which a job has at least one; nil for each job.
    let only: Set<String>?
    /// The tags of which a job has none.
    let except: Set<String>

    /// All jobs, with or without tags.
    public static let all = FleetTags(only: nil, except: [])

    /// The jobs that have at least one of the tags; not those without a tag.
    ///
    /// - Parameter tags: The tags: at least one.
    /// - Returns: The selection.
    public static func only(_ tags: Set<String>) -> FleetTags { FleetTags(only: tags, except: []) }

    /// The jobs that have none of the tags, and those without a tag.
    ///
    /// A claim reads over the jobs that it leaves out, so leave out the few.
    ///
    /// - Parameter tags: The tags.
    /// - Returns: The selection.
    public static func except(_ tags: Set<String>) -> FleetTags { FleetTags(only: nil, except: tags) }

    /// - Throws: ``FleetError/invalidTag(tag:reason:)``.
    func check() throws(FleetError) {
      if only?.isEmpty == true {
        throw .invalidTag(tag: "", reason: "a worker of the tags `only([])` would take no job; name at least one")
      }
      try Self.check((only ?? []).union(except))
    }

    /// Checks that tags are well formed, in their order.
    static func check(_ tags: Set<String>) throws(FleetError) {
      for tag in tags.sorted() {
        let isValid = tag.utf8.allSatisfy { byte in
          let character = Character(Unicode.Scalar(byte))
          return byte < 128 && (character.isLetter || character.isNumber || "_-.:".contains(character))
        }
        guard isValid, (1...255).contains(tag.utf8.count) else {
          throw .invalidTag(tag: tag, reason: "a tag has 1 to 255 characters: ASCII letters, digits, _, -, . or :")
        }
      }
    }
  }

  extension PostgresValue {
    /// An array of tags; NULL for none.
    static func tags(_ tags: Set<String>?) -> Self {
      .array(tags.flatMap { $0.isEmpty ? nil : $0.sorted().map { .text($0) } }, of: 25, as: 1009)
    }
  }
#endif
