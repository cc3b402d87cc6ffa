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
  private enum Content {
    case bytes(Data)
    case file(URL)
  }

  private var parts: [(header: String, content: Content)] = []
  /// The reason why the form cannot be sent.
  private(set) var refusal: String?
  private let boundary: String

  /// Creates an empty form.
  public init() {
    var generator = SystemRandomNumberGenerator()
    boundary = "stepwise-" + (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
  }

  var type: String { "multipart/form-data; boundary=" + boundary }

  /// Adds a text field.
  ///
  /// - Parameters:
  ///   - name: The name of the field; a name may be added more than once.
  ///   - value: The text.
  public mutating func add(_ name: String, _ value: String) {
    add(name, nil, nil, .bytes(Data(value.utf8)))
  }

  /// Adds bytes in memory, as a file.
  ///
  /// - Parameters:
  ///   - name: The name of the field.
  ///   - bytes: The content.
  ///   - fileName: The file name that the server receives.
  ///   - type: The media type.
  public mutating func add(
    _ name: String,
    bytes: Data,
    fileName: String,
    type: String = "application/octet-stream"
  ) {
    add(name, fileName, type, .bytes(bytes))
  }

  /// Adds a file, which is read as it is sent.
  ///
  /// - Parameters:
  ///   - name: The name of the field.
  ///   - file: The file. If it cannot be read, the request throws ``HTTPError/request(underlying:)``.
  ///   - fileName: The file name that the server receives; nil for the file's own.
  ///   - type: The media type.
  public mutating func add(
    _ name: String,
    file: URL,
    fileName: String? = nil,
    type: String = "application/octet-stream"
  ) {
    add(name, fileName ?? file.lastPathComponent, type, .file(file))
  }

  private mutating func add(_ name: String, _ fileName: String?, _ type: String?, _ content: Content) {
    var header = "Content-Disposition: form-data; name=\"\(Self.quoted(name))\""
    if let fileName { header += "; filename=\"\(Self.quoted(fileName))\"" }
    if let type {
      if type.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
        refusal = "the media type of a part of the form contains a line break or a control character"
      }
      header += "\r\nContent-Type: \(type)"
    }
    parts.append((header, content))
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

  func pieces() -> [MultipartSource.Piece] {
    var pieces: [MultipartSource.Piece] = []
    for (header, content) in parts {
      pieces.append(.bytes(Data("--\(boundary)\r\n\(header)\r\n\r\n".utf8)))
      switch content {
      case .bytes(let data): pieces.append(.bytes(data))
      case .file(let file): pieces.append(.file(file, length: MultipartSource.length(of: file)))
      }
      pieces.append(.bytes(Data("\r\n".utf8)))
    }
    return pieces + [.bytes(Data("--\(boundary)--\r\n".utf8))]
  }
}

extension HTTPMultipart: CustomStringConvertible, CustomReflectable {
  /// The number of parts.
  public var description: String { "HTTPMultipart(\(parts.count) parts)" }

  /// A mirror without children: the content may be secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
