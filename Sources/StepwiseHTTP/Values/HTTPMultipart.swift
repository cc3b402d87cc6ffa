// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A form of the type `multipart/form-data`, with text fields, bytes and files.
///
/// ```swift
/// var form = HTTPMultipart()
/// form.add("title", "Kiss")
/// form.add("cover", file: picture, type: "image/png")
/// let response = try await HTTP.post(url, body: .multipart(form))
/// ```
public struct HTTPMultipart: Sendable {
  private var parts: [MultipartSource.Piece] = []
  /// The reason why the form cannot be sent.
  private(set) var refusal: String?
  private let boundary: String

  /// Creates an empty form.
  public init() {
    var generator = SystemRandomNumberGenerator()
    boundary = "stepwise-" + (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
  }

  var type: String { "multipart/form-data; boundary=" + boundary }

  /// Adds a text field; you can add a name more than once.
  public mutating func add(_ name: String, _ value: String) {
    add(name, nil, nil, .bytes(Data(value.utf8)))
  }

  /// Adds bytes in memory, as a file of the name that the server receives.
  public mutating func add(
    _ name: String,
    bytes: Data,
    fileName: String,
    type: String = "application/octet-stream"
  ) {
    add(name, fileName, type, .bytes(bytes))
  }

  /// Adds a file, which is read as it is sent, with the length that it has now.
  ///
  /// If it cannot be read, the request throws ``HTTPError/request(underlying:)``.
  public mutating func add(
    _ name: String,
    file: URL,
    fileName: String? = nil,
    type: String = "application/octet-stream"
  ) {
    add(name, fileName ?? file.lastPathComponent, type, .file(file, length: UploadFile.length(of: file)))
  }

  private mutating func add(_ name: String, _ fileName: String?, _ type: String?, _ content: MultipartSource.Piece) {
    var header = "Content-Disposition: form-data; name=\"\(Self.quoted(name))\""
    if let fileName { header += "; filename=\"\(Self.quoted(fileName))\"" }
    if let type {
      if type.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
        refusal = "the media type of a part of the form contains a line break or a control character"
      }
      header += "\r\nContent-Type: \(type)"
    }
    parts += [.bytes(Data("--\(boundary)\r\n\(header)\r\n\r\n".utf8)), content, .bytes(Data("\r\n".utf8))]
  }

  /// As the HTML standard encodes names ("Multipart form data", section 4.10.21.8).
  private static func quoted(_ text: String) -> String {
    // By scalars: a quotation mark with an accent on it is another character, but the same scalar.
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\r": "%0D"
      case "\n": "%0A"
      case "\"": "%22"
      default: String(scalar)
      }
    }.joined()
  }

  var pieces: [MultipartSource.Piece] { parts + [.bytes(Data("--\(boundary)--\r\n".utf8))] }
}

extension HTTPMultipart: HTTPConcealed {
  /// The number of parts.
  public var description: String { "HTTPMultipart(\(parts.count / 3) parts)" }
}

/// Reads a form piece by piece, in flat memory.
actor MultipartSource {
  enum Piece: Sendable {
    case bytes(Data)
    /// A file, with its length when the form was created; nil when it could not be read.
    case file(URL, length: Int64?)
  }

  /// Not smaller, because each piece is a round trip between the transport's thread and a task.
  private static let pieceSize: Int64 = 1024 * 1024

  private var pieces: ArraySlice<Piece>
  private var current: (file: FileHandle, left: Int64)?

  init(_ pieces: [Piece]) { self.pieces = pieces[...] }

  func next() throws -> Data? {
    while true {
      if let (file, left) = current {
        if left > 0, let data = try file.read(upToCount: Int(min(left, Self.pieceSize))), !data.isEmpty {
          current = (file, left - Int64(data.count))
          return data
        }
        current = nil
        try file.close()
        // Otherwise the server would read the rest of the form as part of the file.
        guard left == 0 else { throw HTTPError.refused(reason: "a file of the form became shorter while it was sent") }
      }
      switch pieces.popFirst() {
      case nil: return nil
      case .bytes(let data): if !data.isEmpty { return data }
      case .file(let url, let length): current = (try FileHandle(forReadingFrom: url), length ?? 0)
      }
    }
  }

  /// Returns the length of all pieces; nil when a file could not be read, which is reported when the form is sent.
  static func length(of pieces: [Piece]) -> Int64? {
    pieces.reduce(0) { sum, piece in
      switch piece {
      case .bytes(let data): sum.map { $0 + Int64(data.count) }
      case .file(_, let length): sum.flatMap { sum in length.map { sum + $0 } }
      }
    }
  }
}
