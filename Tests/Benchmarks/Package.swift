// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import PackageDescription

let package = Package(
  name: "benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "Benchmarks", targets: ["Benchmarks"])
  ],
  dependencies: [
    .package(name: "stepwise", path: "../..")
  ],
  targets: [
    .target(name: "CAllocationCounter"),
    .target(name: "CSmallRequests"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CAllocationCounter", "CSmallRequests", .product(name: "Stepwise", package: "stepwise"),
        .product(name: "StepwiseCheckpoints", package: "stepwise"),
        .product(name: "StepwiseFlows", package: "stepwise"),
        .product(name: "StepwiseHTTP", package: "stepwise"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)

let upcomingFeatures = [
  "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "InferIsolatedConformances",
  "ImmutableWeakCaptures",
]
for target in package.targets where target.name == "Benchmarks" {
  target.swiftSettings = upcomingFeatures.map { .enableUpcomingFeature($0) }
}
