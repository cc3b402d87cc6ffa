// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

// What the samples use of UIKit and Core Graphics, as far as they use it, with its spelling of that time.

/// An image whose data are its width and its height.
final class UIImage: Sendable {
  let size: CGSize

  init?(data: NSData) {
    guard data.length == 2 else { return nil }
    size = CGSize(width: CGFloat((data as Data)[0]), height: CGFloat((data as Data)[1]))
  }

  init(size: CGSize) {
    self.size = size
  }

  func drawInRect(_ rect: CGRect) { UIGraphicsContext.current?.drawn = rect }
}

/// The drawing that a thread has begun.
final class UIGraphicsContext {
  let size: CGSize
  var drawn: CGRect?

  init(size: CGSize) {
    self.size = size
  }

  static var current: UIGraphicsContext? {
    get { Thread.current.threadDictionary["UIGraphicsContext"] as? UIGraphicsContext }
    set { Thread.current.threadDictionary["UIGraphicsContext"] = newValue }
  }
}

func UIGraphicsBeginImageContextWithOptions(_ size: CGSize, _ opaque: Bool, _ scale: CGFloat) {
  UIGraphicsContext.current = UIGraphicsContext(size: size)
}

/// The image that was drawn; nothing that fills it was: an image without size.
func UIGraphicsGetImageFromCurrentImageContext() -> UIImage {
  guard let context = UIGraphicsContext.current, context.drawn?.size == context.size else {
    return UIImage(size: .zero)
  }
  return UIImage(size: context.size)
}

func UIGraphicsEndImageContext() { UIGraphicsContext.current = nil }
