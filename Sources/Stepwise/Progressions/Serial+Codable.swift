// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// What the compiler would synthesize if `ArraySlice` were Codable.
extension Serial {
  private enum Case: String, CodingKey { case start, running, completed }
  private enum Label: String, CodingKey { case stages, remaining, active, completedSoFar, values = "_0" }
}

extension Serial: Encodable where P: Encodable, P.Result: Encodable {
  /// Encodes the case and its values.
  public func encode(to encoder: any Encoder) throws {
    var cases = encoder.container(keyedBy: Case.self)
    switch self {
    case .start(let progressions):
      var labels = cases.nestedContainer(keyedBy: Label.self, forKey: .start)
      try labels.encode(progressions, forKey: .stages)
    case .running(let remaining, let active, let completed):
      var labels = cases.nestedContainer(keyedBy: Label.self, forKey: .running)
      try labels.encode(Array(remaining), forKey: .remaining)
      try labels.encode(active, forKey: .active)
      try labels.encode(completed, forKey: .completedSoFar)
    case .completed(let results):
      var labels = cases.nestedContainer(keyedBy: Label.self, forKey: .completed)
      try labels.encode(results, forKey: .values)
    }
  }
}

extension Serial: Decodable where P: Decodable, P.Result: Decodable {
  /// Decodes the case and its values.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder) { try P(from: $0) } }
}

extension Serial where P.Result: Decodable {
  /// Decodes the case and its values, with a closure that decodes each stage from its stored form.
  package init(from decoder: any Decoder, _ stage: (any Decoder) throws -> P) throws {
    let cases = try decoder.container(keyedBy: Case.self)
    func labels(_ name: Case) throws -> KeyedDecodingContainer<Label> {
      try cases.nestedContainer(keyedBy: Label.self, forKey: name)
    }
    func stages(_ list: any UnkeyedDecodingContainer) throws -> [P] {
      var (list, stages): (any UnkeyedDecodingContainer, [P]) = (list, [])
      while !list.isAtEnd { stages.append(try stage(list.superDecoder())) }
      return stages
    }
    switch cases.allKeys.first {
    case .start?:
      self = .start(stages: try stages(labels(.start).nestedUnkeyedContainer(forKey: .stages)))
    case .running?:
      let labels = try labels(.running)
      self = .running(
        remaining: try stages(labels.nestedUnkeyedContainer(forKey: .remaining))[...],
        active: try stage(labels.superDecoder(forKey: .active)),
        completedSoFar: try labels.decode([P.Result].self, forKey: .completedSoFar)
      )
    case .completed?:
      self = .completed(try labels(.completed).decode([P.Result].self, forKey: .values))
    case nil:
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "The value is not a case of Serial.")
      )
    }
  }
}
