// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// The few declarations of SwiftUI that the documentation's host uses: they keep what they are given, and draw nothing.

@MainActor
protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  var body: Never { fatalError("a primitive view has no body") }
}

@resultBuilder
enum ViewBuilder {
  static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

struct AnyView: View {
  let content: Any
  init(_ content: some View) { self.content = content }
  var body: Never { fatalError("a primitive view has no body") }
}

struct Text: View {
  let text: String
  init(_ text: String) { self.text = text }
  var body: Never { fatalError("a primitive view has no body") }
}

@propertyWrapper
@MainActor
struct State<Value> {
  var wrappedValue: Value
  init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  var projectedValue: Binding<Value> {
    let value = wrappedValue
    return Binding(get: { value }, set: { _ in })
  }
}

@dynamicMemberLookup
@MainActor
struct Binding<Value> {
  let get: () -> Value
  let set: (Value) -> Void

  subscript<Member>(dynamicMember path: ReferenceWritableKeyPath<Value, Member>) -> Binding<Member> {
    let get = get
    return Binding<Member>(get: { get()[keyPath: path] }, set: { get()[keyPath: path] = $0 })
  }
}

struct NavigationStack<Element: Hashable, Root: View>: View {
  let path: Binding<[Element]>
  let root: Root

  init(path: Binding<[Element]>, @ViewBuilder root: () -> Root) {
    self.path = path
    self.root = root()
  }

  var body: Never { fatalError("a primitive view has no body") }
}

extension NavigationStack: PartlyShown {
  func add(to shown: inout Shown) { shown.swipeBack = { path.set(path.get().dropLast()) } }
}

/// What a user, and the system, can do to a view that is shown.
@MainActor
struct Shown {
  var task: (@MainActor () async -> Void)?
  var swipeBack: (@MainActor () -> Void)?
  var swipeDown: (@MainActor () -> Void)?
  /// The animation has ended that removes a sheet.
  var sheetDisappeared: (@MainActor () -> Void)?
}

@MainActor
protocol PartlyShown {
  func add(to shown: inout Shown)
}

extension View {
  var shown: Shown {
    var shown = Shown()
    (self as? any PartlyShown)?.add(to: &shown)
    return shown
  }
}

struct ModifiedView<Content: View>: View, PartlyShown {
  let content: Content
  let modify: @MainActor (inout Shown) -> Void
  var body: Never { fatalError("a primitive view has no body") }

  func add(to shown: inout Shown) {
    (content as? any PartlyShown)?.add(to: &shown)
    modify(&shown)
  }
}

extension View {
  func navigationDestination<Element: Hashable>(
    for type: Element.Type,
    @ViewBuilder destination: @escaping (Element) -> some View
  ) -> ModifiedView<Self> { ModifiedView(content: self) { _ in } }

  func sheet<Item: Identifiable>(
    item: Binding<Item?>,
    onDismiss: @escaping @MainActor () -> Void,
    @ViewBuilder content: @escaping (Item) -> some View
  ) -> ModifiedView<Self> {
    ModifiedView(content: self) { shown in
      shown.swipeDown = {
        item.set(nil)
        onDismiss()
      }
      shown.sheetDisappeared = onDismiss
    }
  }

  func task(_ action: @escaping @MainActor () async -> Void) -> ModifiedView<Self> {
    ModifiedView(content: self) { shown in shown.task = action }
  }
}
