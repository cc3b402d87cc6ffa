// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import PackageDescription

let package = Package(
  name: "walks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "stepwise", path: "../..")],
  targets: [
    .executableTarget(
      name: "Walks",
      dependencies: [
        .product(name: "Stepwise", package: "stepwise"), .product(name: "StepwiseFlows", package: "stepwise"),
      ]
    )
  ]
)
