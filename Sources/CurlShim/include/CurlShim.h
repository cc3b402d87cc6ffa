// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// What StepwiseHTTP uses of libcurl and of Linux' event notification, on Linux alone.
//
// libcurl is loaded when it is first used, so neither its headers nor its library are needed to build. Swift cannot call
// functions with variable arguments: options and information of the same size have one function here.

#ifndef STEPWISE_CURL_SHIM_H
#define STEPWISE_CURL_SHIM_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>

/// Loads libcurl; returns NULL, or why that is impossible. Only the first call does anything.
const char *_Nullable stepwise_curl_load(const char *_Nonnull name);

// Functions of libcurl, by their own names.
char *_Nonnull stepwise_curl_version(void);
void *_Nullable stepwise_curl_easy_init(void);
void stepwise_curl_easy_cleanup(void *_Nonnull easy);
void stepwise_curl_easy_reset(void *_Nonnull easy);
int stepwise_curl_easy_pause(void *_Nonnull easy, int mask);
void *_Nullable stepwise_curl_slist_append(void *_Nullable list, const char *_Nonnull line);
void stepwise_curl_slist_free_all(void *_Nullable list);
void *_Nullable stepwise_curl_multi_init(void);
int stepwise_curl_multi_cleanup(void *_Nonnull multi);
int stepwise_curl_multi_add_handle(void *_Nonnull multi, void *_Nonnull easy);
int stepwise_curl_multi_remove_handle(void *_Nonnull multi, void *_Nonnull easy);

// Each returns 0, or libcurl's number for what is wrong, as for an option that this libcurl does not know. A pointer may be
// that of a function.
int stepwise_curl_easy_set_long(void *_Nonnull easy, int option, long value);
int stepwise_curl_easy_set_offset(void *_Nonnull easy, int option, int64_t value);
int stepwise_curl_easy_set_pointer(void *_Nonnull easy, int option, const void *_Nullable value);
int stepwise_curl_multi_set_long(void *_Nonnull multi, int option, long value);
int stepwise_curl_multi_set_pointer(void *_Nonnull multi, int option, const void *_Nullable value);

/// The value of a piece of information that is a number; 0 where there is none.
int64_t stepwise_curl_easy_get_number(void *_Nonnull easy, int info);

/// The value of a piece of information that is a pointer; NULL where there is none.
void *_Nullable stepwise_curl_easy_get_pointer(void *_Nonnull easy, int info);

/// Whether something has arrived on the connection of a transfer, including its end, that was not read yet.
int stepwise_curl_has_input(void *_Nonnull easy, int descriptor);

/// Opens the socket that libcurl asks for, which child processes do not inherit; negative when that is impossible.
int stepwise_curl_open_socket(const void *_Nonnull address);

/// Lets libcurl deal with a descriptor, or with the time when the descriptor is -1.
int stepwise_curl_multi_act(void *_Nonnull multi, int descriptor, int events);

/// The next transfer that is complete, and how it ended; NULL when there is none.
void *_Nullable stepwise_curl_multi_completed(void *_Nonnull multi, int *_Nonnull result);

/// A set of descriptors to wait for; negative when the system has none left.
int stepwise_poll_create(void);

/// A descriptor that can be made readable by any thread; negative when the system has none left.
int stepwise_wakeup_create(void);
void stepwise_wakeup_send(int wakeup);
void stepwise_wakeup_receive(int wakeup);

/// Waits for a descriptor to be readable (1), writable (2), or both (3), instead of for what it waited before; 0 is nothing.
int stepwise_poll_watch(int poll, int descriptor, int events, int before);

/// A descriptor with what it is now: readable (1), writable (2), broken (4).
struct stepwise_poll_event {
  int descriptor;
  int events;
};

/// Waits until there is something, so many milliseconds at most, or for ever when it is negative; returns how much there is.
int stepwise_poll_wait(int poll, struct stepwise_poll_event *_Nonnull events, int capacity, int milliseconds);

void stepwise_close(int descriptor);

#endif
#endif
