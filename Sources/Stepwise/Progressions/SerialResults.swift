// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The results that a `Serial` has collected, in order.
///
/// Successive stages share one buffer, so that appending takes constant time. An earlier stage therefore retains the
/// results of later ones.
public struct SerialResults<Element: Sendable>: Sendable {
  /// The buffer, which only grows; each value covers a prefix of it.
  private final class Buffer: Sendable {
    private let elements: Lock<[Element]>

    init(_ elements: [Element]) {
      self.elements = Lock(elements)
    }

    func element(at index: Int) -> Element { elements.withLock { $0[index] } }

    func prefix(_ count: Int) -> [Element] { elements.withLock { Array($0.prefix(count)) } }

    /// Appends an element for the value that covers the whole buffer; returns false for one that covers less.
    func append(_ element: Element, after count: Int) -> Bool {
      elements.withLock { elements in
        guard elements.count == count else { return false }
        elements.append(element)
        return true
      }
    }
  }

  private let buffer: Buffer

  /// The number of results.
  public let count: Int

  private init(_ buffer: Buffer, count: Int) {
    self.buffer = buffer
    self.count = count
  }

  /// Creates a collection of the given results.
  public init(_ results: some Sequence<Element>) {
    let elements = Array(results)
    self.init(Buffer(elements), count: elements.count)
  }

  /// The results as an array.
  var array: [Element] { buffer.prefix(count) }

  /// Returns these results and one more, in constant time unless this value was appended to before.
  package func appending(_ element: Element) -> SerialResults {
    if buffer.append(element, after: count) { return SerialResults(buffer, count: count + 1) }
    return SerialResults(array + CollectionOfOne(element))
  }

  /// A Boolean value that indicates whether both values are stored in one buffer.
  package func sharesBuffer(with other: SerialResults) -> Bool { buffer === other.buffer }
}

extension SerialResults: RandomAccessCollection, ExpressibleByArrayLiteral {
  /// The position of the first result.
  public var startIndex: Int { 0 }

  /// The position after the last result.
  public var endIndex: Int { count }

  /// The result at a position.
  public subscript(position: Int) -> Element {
    precondition(indices.contains(position), "The index \(position) is not within 0..<\(count).")
    return buffer.element(at: position)
  }

  /// Creates a collection of the given results.
  public init(arrayLiteral elements: Element...) {
    self.init(elements)
  }
}

extension SerialResults: Equatable where Element: Equatable {
  /// Returns a Boolean value that indicates whether both have the same results in the same order.
  public static func == (one: SerialResults, other: SerialResults) -> Bool {
    one.count == other.count && (one.buffer === other.buffer || one.array == other.array)
  }
}

extension SerialResults: Hashable where Element: Hashable {
  /// Hashes the results.
  public func hash(into hasher: inout Hasher) { hasher.combine(array) }
}

extension SerialResults: Encodable where Element: Encodable {
  /// Encodes the results as an array.
  public func encode(to encoder: any Encoder) throws { try array.encode(to: encoder) }
}

extension SerialResults: Decodable where Element: Decodable {
  /// Decodes the results from an array.
  public init(from decoder: any Decoder) throws { self.init(try [Element](from: decoder)) }
}

extension SerialResults: CustomStringConvertible {
  /// The results, as an array prints them.
  public var description: String { array.description }
}
