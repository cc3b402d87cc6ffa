// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#pragma once

#include <stddef.h>

/// Starts a server on 127.0.0.1 that sends the same bytes after each request without a body; returns its port, or -1.
///
/// One thread serves all connections, so that the server takes as little as possible from what is measured.
int small_requests_server_start(const void *answer, size_t length);

/// Sends GET requests with libcurl, from the calling thread alone; returns how many nanoseconds that took, or -1.
///
/// With a width of 1 they are sent by `curl_easy_perform`, otherwise by `curl_multi_perform` with so many in flight. Handles and
/// connections are reused. It returns -1 on systems other than Linux, and where libcurl cannot be loaded.
double small_requests_drive(const char *url, int count, int width);

struct small_request;

/// Called by the sending thread with libcurl's number for how the request ended; 0 is a response.
typedef void small_request_completed(void *context, struct small_request *request, int result);

/// A request that `small_requests_send` has sent.
struct small_request {
  void *easy;
  void *context;
  small_request_completed *completed;
  struct small_request *next;
  /// The lines of the head, then the body.
  char *bytes;
  size_t count, room;
  /// The number of bytes of the head.
  size_t head;
};

/// Sends a GET request from one thread for all of them; returns 0 where that is impossible.
int small_requests_send(const char *url, void *context, small_request_completed *completed);

/// Lets a completed request be used for another one.
void small_requests_reuse(struct small_request *request);
