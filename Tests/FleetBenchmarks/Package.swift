// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import PackageDescription

let package = Package(
  name: "fleet-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "stepwise", path: "../..", traits: ["Postgres"])
  ],
  targets: [
    .executableTarget(
      name: "FleetBenchmarks",
      dependencies: [
        .product(name: "Stepwise", package: "stepwise"), .product(name: "StepwiseFleet", package: "stepwise"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]
    )
  ],
  swiftLanguageModes: [.v6]
)
