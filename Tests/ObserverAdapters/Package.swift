// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import PackageDescription

// The adapters of the articles "Logs, metrics and traces" and "Operate a fleet", and the codec of the latter, compiled against
// the packages that they adapt. That of a fleet needs libpq, and is left out unless the environment has STEPWISE_LIBPQ.
let traits: Set<Package.Dependency.Trait> = Context.environment["STEPWISE_LIBPQ"] == nil ? [] : ["Postgres"]
let package = Package(
  name: "observer-adapters",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "stepwise", path: "../..", traits: traits),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-crypto.git", "3.12.3"..<"5.0.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.2.0"),
  ],
  targets: [
    .target(
      name: "ObserverAdapters",
      dependencies: [
        .product(name: "Stepwise", package: "stepwise"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]
    ),
    .target(
      name: "ServiceAdapters",
      dependencies: [
        .product(name: "Stepwise", package: "stepwise"),
        .product(name: "StepwiseCheckpoints", package: "stepwise"),
        .product(name: "StepwiseFleet", package: "stepwise"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]
    ),
    .target(
      name: "CodecAdapters",
      dependencies: [
        .product(name: "StepwiseCheckpoints", package: "stepwise"),
        .product(name: "StepwiseFleet", package: "stepwise"),
        .product(name: "Crypto", package: "swift-crypto"),
      ]
    ),
    .testTarget(
      name: "CodecAdaptersTests",
      dependencies: [
        "CodecAdapters",
        .product(name: "Stepwise", package: "stepwise"),
        .product(name: "StepwiseCheckpoints", package: "stepwise"),
        .product(name: "Crypto", package: "swift-crypto"),
      ]
    ),
    .testTarget(
      name: "ServiceAdaptersTests",
      dependencies: [
        "ServiceAdapters",
        .product(name: "Stepwise", package: "stepwise"),
        .product(name: "StepwiseCheckpoints", package: "stepwise"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .testTarget(
      name: "ObserverAdaptersTests",
      dependencies: [
        "ObserverAdapters",
        .product(name: "Stepwise", package: "stepwise"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)

let upcomingFeatures = [
  "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "InferIsolatedConformances",
  "ImmutableWeakCaptures",
]
for target in package.targets { target.swiftSettings = upcomingFeatures.map { .enableUpcomingFeature($0) } }
