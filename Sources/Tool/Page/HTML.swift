// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Loopback
  import StepwiseFleet
  import StepwiseTracing

  /// A piece of a page; everything that is interpolated is escaped, unless it is a piece itself.
  struct HTML: Sendable, ExpressibleByStringInterpolation {
    private(set) var text: String

    init(stringLiteral text: String) { self.text = text }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
    /// Markup that this program made.
    init(trusted text: String) { self.text = text }

    struct StringInterpolation: StringInterpolationProtocol {
      fileprivate var text = ""

      init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity * 2) }

      mutating func appendLiteral(_ literal: String) { text += literal }
      mutating func appendInterpolation(_ piece: HTML?) { text += piece?.text ?? "" }
      mutating func appendInterpolation(_ pieces: [HTML]) { for piece in pieces { text += piece.text } }
      /// Appends text in which line breaks remain.
      mutating func appendInterpolation(_ value: some CustomStringConvertible) {
        let lines = value.description.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        text += lines.map { String($0).escapedForMarkup }.joined(separator: "\n")
      }
    }
  }

  /// The pieces that the pages share.
  extension HTML {
    static func link(to id: String) -> HTML { "<a href=\"job?id=\(FormEncoding.encoded(id))\">\(id)</a>" }

    static func badge(_ state: String) -> HTML { "<span class=\"badge \(state)\">\(state)</span>" }

    static func note(_ text: String) -> HTML { "<p class=\"note\">\(text)</p>" }

    /// A button that changes something; with a question, the script shows it first.
    static func button(_ action: String, _ fields: [(String, String)], label: String, question: String? = nil) -> HTML {
      let hidden = fields.map { "<input type=\"hidden\" name=\"\($0)\" value=\"\($1)\">" as HTML }
      return """
        <form method="post" action="\(action)"\(question.map { " data-question=\"\($0)\"" } as HTML?)>
        \(hidden)<button>\(label)</button></form>
        """
    }

    static func value(_ name: String, _ value: JSON) -> HTML {
      switch (name, value) {
      case ("id", .string(let id?)), ("parent", .string(let id?)), ("last", .string(let id?)): link(to: id)
      case ("waitsFor", .string(let wait?)): "waits for \(wait)"
      case ("state", .string(let state?)): badge(state)
      case ("paused", .flag(true)): badge("paused")
      case (_, .time(let time?)): "<time title=\"\(value.plain ?? "")\">\(JSON.relative(time))</time>"
      default: "\(value.brief ?? "")"
      }
    }

    /// A table, which becomes cards on a small screen.
    ///
    /// - Parameters:
    ///   - table: The records.
    ///   - last: The head of a further column, and its cell in a row.
    ///   - special: Returns the content of a cell in a row; nil for that of the record.
    /// - Returns: The table, or the note in its place.
    static func table(
      _ table: Table,
      last: (head: String, cell: (Int) -> HTML)? = nil,
      _ special: (_ row: Int, _ name: String, JSON) -> HTML? = { _, _, _ in nil }
    ) -> HTML {
      guard !table.rows.isEmpty else { return note(table.lines[0]) }
      let heads = (table.names + [last?.head].compactMap(\.self)).map { "<th>\($0)</th>" as HTML }
      let rows = table.rows.enumerated().map { row, values -> HTML in
        let cells = zip(table.names, values).map { name, value -> HTML in
          let kind = "\(name)\(value.isNumber ? " number" : "")\(value.brief == "0" ? " zero" : "")"
          return
            "<td class=\"\(kind)\" data-label=\"\(name)\">\(special(row, name, value) ?? self.value(name, value))</td>"
        }
        return "<tr>\(cells)\(last.map { "<td>\($0.cell(row))</td>" } as HTML?)</tr>"
      }
      return "<table><thead><tr>\(heads)</tr></thead><tbody>\(rows)</tbody></table>"
    }
  }

  /// The texts of queries and forms.
  enum FormEncoding {
    /// Returns the text with everything percent-encoded but letters and digits.
    static func encoded(_ text: String) -> String {
      text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    /// Returns the fields of a query or a body; the last of several with the same name, and none without a value.
    static func fields(_ text: String) -> [String: String] {
      let fields = text.replacing("+", with: " ").split(separator: "&").map { field in
        field.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? String($0) }
      }
      return Dictionary(fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { $1 }
    }
  }

  /// What surrounds the content of each page.
  enum PageLayout {
    static func reply(_ title: String, schema: String, _ body: HTML, _ fields: [String: String], status: Int)
      -> LoopbackServer.Reply
    {
      let nonce = FleetServer.random()
      let headers = [
        ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"), ("Referrer-Policy", "same-origin"),
        ("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Resource-Policy", "same-origin"),
        (
          "Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-\(nonce)'; connect-src 'self'; "
            + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
      ]
      let states = FleetState.all.map { state -> HTML in
        "<option\(fields["state"] == "\(state)" ? " selected" : "")>\(state)</option>"
      }
      let page: HTML = """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <title>\(title) · \(schema)</title>
        <noscript><meta http-equiv="refresh" content="10"></noscript>
        <style>\(style)</style></head><body>
        <header><a href="./">Fleet \(schema)</a>
        <form action="jobs"><input type="search" name="search" placeholder="Id, key or error" aria-label="Search"
        value="\(fields["search"] ?? "")"><select name="state" aria-label="State"><option value="">any state</option>
        \(states)</select><button>Find</button></form></header>
        <main>\(body)</main>
        <script nonce="\(nonce)">\(script)</script></body></html>
        """
      return LoopbackServer.Reply(status: status, headers: headers, body: Array(page.text.utf8))
    }

    /// Replaces the content every two seconds while the page is visible and none of it is in use.
    private static let script: HTML = """
      const main = document.querySelector("main")
      addEventListener("submit", event => {
        const question = event.target.dataset.question
        if (question && !confirm(question)) event.preventDefault()
      })
      setInterval(async () => {
        if (document.hidden || main.querySelector(":active") || main.contains(document.activeElement)) return
        try {
          const response = await fetch(location.href)
          const page = new DOMParser().parseFromString(await response.text(), "text/html")
          if (!main.querySelector(":active")) main.replaceChildren(...page.querySelector("main").childNodes)
          main.classList.remove("stale")
        } catch { main.classList.add("stale") }
      }, 2000)
      """

    private static let style: HTML = """
      :root { color-scheme: light dark; --ink: light-dark(#1f2328, #f0f6fc); --dim: light-dark(#59636e, #9198a1);
        --card: light-dark(#fff, #0d1117); --line: light-dark(#d1d9e0, #3d444d); --blue: light-dark(#0969da, #4493f8);
        --green: light-dark(#1a7f37, #3fb950); --red: light-dark(#cf222e, #f85149);
        --yellow: light-dark(#9a6700, #d29922); --violet: light-dark(#8250df, #ab7df8); }
      * { box-sizing: border-box; overflow-wrap: anywhere; }
      body { margin: 0 auto; max-width: 1200px; padding: 8px 16px; color: var(--ink);
        background: light-dark(#f6f8fa, #010409); font: 15px/1.45 system-ui, sans-serif; }
      header { display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: center; justify-content: space-between;
        padding: 8px 0; }
      header a, h1 { font-size: 20px; font-weight: 600; }
      header form { display: flex; gap: 8px; flex: 1 0 300px; max-width: 520px; }
      header input { flex: 1; width: 0; }
      a { color: var(--blue); text-decoration: none; }
      h2 { font-size: 16px; margin: 0 0 8px; }
      section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px;
        margin: 12px 0; }
      input, select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
        border-radius: 6px; padding: 3px 10px; white-space: nowrap; }
      .queued, .scheduled, .waiting, .p50 { --tone: var(--blue); }
      .running, .p99 { --tone: var(--violet); }
      .done { --tone: var(--green); }
      .failed { --tone: var(--red); }
      .cancelled, .paused { --tone: var(--yellow); }
      .badge { border: 1px solid var(--tone); color: var(--tone); border-radius: 99px; padding: 0 8px; font-size: 13px;
        font-weight: 400; white-space: nowrap; }
      table { border-collapse: collapse; width: 100%; }
      th, td { text-align: left; padding: 5px 16px 5px 0; border-top: 1px solid var(--line); vertical-align: baseline; }
      th { border: 0; font-weight: 400; overflow-wrap: normal; }
      td:first-child { font-weight: 600; min-width: 100px; }
      .number { white-space: nowrap; font-variant-numeric: tabular-nums; }
      th, figcaption, .note, .zero, .axis, .plot span { color: var(--dim); }
      .error, td.failed a { color: var(--red); }
      .error { white-space: pre-wrap; }
      .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 24px; }
      figure { margin: 0; }
      .key { margin-left: 10px; border-bottom: 3px solid var(--tone); }
      .plot { display: grid; grid-template: 1fr auto / 64px 1fr; margin-top: 6px; font-size: 12px; }
      .plot svg { grid-area: 1 / 2 / 3; width: 100%; height: 140px; border-bottom: 1px solid var(--line); }
      .plot rect { fill: var(--tone); }
      .plot path { stroke: var(--tone, var(--line)); stroke-width: 2; vector-effect: non-scaling-stroke; }
      .axis { display: flex; justify-content: space-between; padding-left: 64px; font-size: 12px; }
      .timeline { padding: 0; }
      .timeline svg { display: block; width: 100%; }
      ::placeholder { color: var(--dim); opacity: 1; }
      .stale { opacity: 0.5; }
      .buttons, .bulk { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; }
      .bulk input { width: 110px; }
      progress { vertical-align: middle; accent-color: var(--blue); }
      @media (max-width: 820px) {
        thead, td.zero, td:empty { display: none; }
        tr { display: flex; flex-wrap: wrap; gap: 0 14px; padding: 8px 0; border-top: 1px solid var(--line); }
        td { border: 0; padding: 0; }
        td:first-child, .error { flex: 1 0 100%; }
        .number::before { content: attr(data-label) " "; color: var(--dim); }
      }
      """
  }
#endif
