// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension HTTPResponse {
  /// The body as text, in the encoding that `Content-Type` names.
  ///
  /// Without a charset, or with an unknown one, the text is decoded as UTF-8. A byte order mark is removed, and takes
  /// precedence over the charset. Invalid bytes become U+FFFD.
  public var text: String {
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { return String(decoding: body.dropFirst(3), as: UTF8.self) }
    if body.starts(with: [0xFE, 0xFF]) { return Self.utf16(body.dropFirst(2), isBigEndian: true) }
    if body.starts(with: [0xFF, 0xFE]) { return Self.utf16(body.dropFirst(2), isBigEndian: false) }
    switch headers["Content-Type"].flatMap(Self.charset) {
    // Browsers decode all of these as Windows-1252 (WHATWG Encoding, section 4.2).
    case "iso-8859-1", "latin1", "us-ascii", "ascii", "windows-1252", "cp1252":
      return String(data: body, encoding: .windowsCP1252) ?? String(data: body, encoding: .isoLatin1) ?? ""
    case "utf-16", "utf-16le": return Self.utf16(body, isBigEndian: false)
    case "utf-16be": return Self.utf16(body, isBigEndian: true)
    default: return String(decoding: body, as: UTF8.self)
    }
  }

  /// The value of the parameter `charset`, in lower case and without quotes.
  private static func charset(_ contentType: String) -> String? {
    for parameter in contentType.split(separator: ";").dropFirst() {
      let pair = parameter.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces).lowercased() == "charset" else { continue }
      return pair[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'")).lowercased()
    }
    return nil
  }

  private static func utf16(_ bytes: Data, isBigEndian: Bool) -> String {
    let bytes = [UInt8](bytes)
    let units = stride(from: 0, to: bytes.count - bytes.count % 2, by: 2).map { index -> UInt16 in
      let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isBigEndian ? first << 8 | second : second << 8 | first
    }
    return String(decoding: units, as: UTF16.self)
  }
}
