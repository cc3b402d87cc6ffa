// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import PackageDescription

let package = Package(
  name: "stepwise",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Stepwise", targets: ["Stepwise"]),
    .library(name: "StepwiseFlows", targets: ["StepwiseFlows"]),
    .library(name: "StepwiseTracing", targets: ["StepwiseTracing"]),
    .library(name: "StepwiseCheckpoints", targets: ["StepwiseCheckpoints"]),
    .library(name: "StepwiseHTTP", targets: ["StepwiseHTTP"]),
    .library(
      name: "StepwiseLegacy",
      targets: ["LegacyStepwise", "LegacyGrain", "LegacyGrainFirst", "LegacyFlowState"]
    ),
    .library(name: "StepwiseTesting", targets: ["StepwiseTesting"]),
    .library(name: "StepwiseHTTPTesting", targets: ["StepwiseHTTPTesting"]),
    .library(name: "StepwiseFleet", targets: ["StepwiseFleet"]),
    .library(name: "StepwiseFleetTesting", targets: ["StepwiseFleetTesting"]),
    .executable(name: "stepctl", targets: ["stepctl"]),
  ],
  traits: [
    .trait(name: "Postgres", description: "StepwiseFleet: checkpoints in PostgreSQL, through the system's libpq.")
  ],
  dependencies: [],
  targets: [
    .target(name: "Stepwise", swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(name: "StepwiseTracing", dependencies: ["Stepwise"]),
    .target(name: "StepwiseFlows", dependencies: ["Stepwise", "StepwiseTracing"]),
    .target(name: "StepwiseFiles"),
    .target(name: "StepwiseCheckpoints", dependencies: ["Stepwise", "StepwiseFiles"]),
    // What is used of libcurl on Linux; on Apple's platforms there is nothing in it.
    .target(name: "CurlShim"),
    .target(
      name: "StepwiseHTTP",
      dependencies: ["CurlShim", "Stepwise", "StepwiseFiles"],
      swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
    ),
    .target(name: "LegacySupport", path: "Sources/Legacy/LegacySupport"),
    .target(
      name: "LegacyStepwise",
      dependencies: ["LegacySupport", "Stepwise"],
      path: "Sources/Legacy/LegacyStepwise"
    ),
    .target(name: "LegacyGrain", dependencies: ["LegacySupport", "Stepwise"], path: "Sources/Legacy/LegacyGrain"),
    .target(
      name: "LegacyGrainFirst",
      dependencies: ["LegacyGrain", "LegacySupport"],
      path: "Sources/Legacy/LegacyGrainFirst"
    ),
    .target(
      name: "LegacyFlowState",
      dependencies: ["LegacySupport", "Stepwise", "StepwiseFlows"],
      path: "Sources/Legacy/LegacyFlowState"
    ),
    .target(name: "StepwiseTesting", dependencies: ["Stepwise", "StepwiseCheckpoints", "StepwiseFlows"]),
    .target(name: "StepwiseHTTPTesting", dependencies: ["Stepwise", "StepwiseHTTP"]),
    // Without the trait the module is empty and libpq is not needed.
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "StepwiseFleet",
      dependencies: [
        "Stepwise", "StepwiseCheckpoints", "StepwiseFiles",
        .target(name: "CLibpq", condition: .when(traits: ["Postgres"])),
      ]
    ),
    .target(
      name: "StepwiseFleetTesting",
      dependencies: ["Stepwise", "StepwiseCheckpoints", "StepwiseFleet", "StepwiseTesting"]
    ),
    .target(name: "Loopback", dependencies: ["Stepwise"]),
    // What programs for a terminal share.
    .target(name: "CommandKit", dependencies: ["Stepwise", "StepwiseTracing"]),
    .executableTarget(
      name: "stepctl",
      dependencies: [
        "CommandKit", "Loopback", "Stepwise", "StepwiseCheckpoints", "StepwiseTracing",
        .target(name: "StepwiseFleet", condition: .when(traits: ["Postgres"])),
      ],
      path: "Sources/Tool"
    ),
    .executableTarget(
      name: "Tour",
      dependencies: [
        "CommandKit", "Loopback", "Stepwise", "StepwiseCheckpoints", "StepwiseFiles", "StepwiseFlows", "StepwiseHTTP",
        "StepwiseTracing",
        .target(name: "StepwiseFleet", condition: .when(traits: ["Postgres"])),
      ],
      exclude: ["Resources/CREDITS.md"],
      resources: [.copy("Resources/cat.bmp")]
    ),
    // How the tests run unless the environment says otherwise; linked into all of them, which are one program.
    .target(name: "TestDefaults", path: "Tests/TestDefaults"),
    // What the tests of several modules share.
    .target(
      name: "TestSupport",
      dependencies: ["Stepwise", "StepwiseTesting", "TestDefaults"],
      path: "Tests/TestSupport"
    ),
    .executableTarget(name: "SignalChild", dependencies: ["Stepwise"], path: "Tests/SignalChild"),
    .testTarget(
      name: "StepwiseTests",
      dependencies: [
        "Stepwise", "StepwiseCheckpoints", "StepwiseTesting", "StepwiseTracing", "TestSupport", "SignalChild",
      ]
    ),
    .testTarget(
      name: "StepwiseTracingTests",
      dependencies: ["StepwiseTracing", "Stepwise", "StepwiseTesting", "TestSupport"]
    ),
    .testTarget(
      name: "StepwiseFlowsTests",
      dependencies: ["StepwiseFlows", "Stepwise", "StepwiseTesting", "StepwiseTracing", "TestSupport"]
    ),
    // Starts a program, kills it and checks what it resumes from.
    .target(
      name: "CrashTesting",
      dependencies: ["StepwiseCheckpoints", "StepwiseTesting"],
      path: "Tests/CrashTesting"
    ),
    .executableTarget(
      name: "CheckpointCrashChild",
      dependencies: ["CrashTesting", "StepwiseCheckpoints", "Stepwise"],
      path: "Tests/CheckpointCrashChild"
    ),
    .testTarget(
      name: "StepwiseCheckpointsTests",
      dependencies: [
        "StepwiseCheckpoints", "Stepwise", "StepwiseFiles", "StepwiseTesting", "StepwiseTracing",
        "CheckpointCrashChild", "CrashTesting",
      ],
      exclude: ["Golden"]
    ),
    .testTarget(
      name: "StepwiseHTTPTests",
      dependencies: ["StepwiseHTTP", "StepwiseHTTPTesting", "Loopback", "Stepwise", "StepwiseFiles", "StepwiseTesting"]
    ),
    .testTarget(
      name: "ExampleTests",
      dependencies: [
        "Stepwise", "StepwiseCheckpoints", "StepwiseFlows", "StepwiseHTTP", "StepwiseHTTPTesting", "StepwiseTesting",
        "StepwiseTracing", "Loopback",
      ]
    ),
    // The samples again, as links, in a target whose default isolation is the main actor.
    .testTarget(
      name: "MainActorExampleTests",
      dependencies: [
        "Stepwise", "StepwiseCheckpoints", "StepwiseHTTP", "StepwiseTesting", "StepwiseTracing", "Loopback",
      ],
      swiftSettings: [.defaultIsolation(MainActor.self)]
    ),
    .testTarget(
      name: "LegacyTests",
      dependencies: [
        "LegacyStepwise", "LegacyGrain", "LegacyGrainFirst", "LegacyFlowState", "Stepwise", "StepwiseFlows",
        "StepwiseTesting", "Loopback",
      ],
      path: "Tests/LegacyTests/Swift5",
      swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    .testTarget(
      name: "LegacySwift6Tests",
      dependencies: [
        "LegacyStepwise", "LegacyGrain", "LegacyGrainFirst", "LegacyFlowState", "Stepwise", "StepwiseFlows",
        "StepwiseTesting", "Loopback",
      ],
      path: "Tests/LegacyTests/Swift6"
    ),
    .testTarget(name: "StepwiseTestingTests", dependencies: ["StepwiseTesting", "Stepwise", "StepwiseFlows"]),
    .executableTarget(
      name: "FleetWorkerChild",
      dependencies: ["StepwiseFleet", "StepwiseCheckpoints", "Stepwise"],
      path: "Tests/FleetWorkerChild"
    ),
    .testTarget(
      name: "StepwiseFleetTests",
      dependencies: [
        "StepwiseFleet", "StepwiseFleetTesting", "FleetWorkerChild", "StepwiseCheckpoints", "Stepwise",
        "StepwiseTesting",
      ]
    ),
    .testTarget(name: "StressTests", dependencies: ["Stepwise", "StepwiseFlows", "StepwiseTesting", "TestSupport"]),
    .testTarget(
      name: "ToolTests",
      dependencies: [
        "stepctl", "CommandKit", "Loopback", "Stepwise", "StepwiseCheckpoints", "StepwiseTesting",
        .target(name: "StepwiseFleet", condition: .when(traits: ["Postgres"])),
      ]
    ),
    .testTarget(
      name: "TourTests",
      dependencies: [
        "Tour", "CommandKit", "Loopback", "Stepwise", "StepwiseCheckpoints", "StepwiseFiles", "StepwiseHTTP",
        "StepwiseTesting",
        .target(name: "StepwiseFleet", condition: .when(traits: ["Postgres"])),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)

let upcomingFeatures = [
  "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "InferIsolatedConformances",
  "ImmutableWeakCaptures",
]
// Code for the old libraries, in the language mode they knew, knows none of them.
for target in package.targets where !["LegacyTests", "CurlShim", "CLibpq", "TestDefaults"].contains(target.name) {
  target.swiftSettings = upcomingFeatures.map { .enableUpcomingFeature($0) } + (target.swiftSettings ?? [])
}

// The old libraries' operators and overloads must not be slow to type-check: no expression may take more milliseconds. Only
// where it is asked for, since nobody can depend on a package that has such flags.
if let limit = Context.environment["STEPWISE_EXPRESSION_LIMIT"] {
  for target in package.targets where ["LegacyTests", "LegacySwift6Tests"].contains(target.name) {
    let flags = ["-Xfrontend", "-warn-long-expression-type-checking=\(limit)"]
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(flags)]
  }
}

// Builds some targets alone, named with commas between: for ThreadSanitizer, under which everything takes several times as
// long, and for tests that need a server.
if let names = Context.environment["STEPWISE_TARGETS"] {
  let kept = Set(names.split(separator: ",").map(String.init))
  package.targets.removeAll { target in !kept.contains(target.name) }
  package.products.removeAll()
}
