// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// What StepwiseHTTP uses of libcurl and of Linux' event notification, on Linux alone.
//
// libcurl is loaded when it is first used, so neither its headers nor its library are needed to build. Swift cannot call
// functions with variable arguments: each kind of option has a function here.

#ifndef STEPWISE_CURL_SHIM_H
#define STEPWISE_CURL_SHIM_H

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>

/// Loads libcurl; returns NULL, or why that is impossible. Only the first call does anything.
const char *_Nullable stepwise_curl_load(const char *_Nonnull name);

/// Which libcurl this is, such as "libcurl/8.5.0 OpenSSL/3.0.13".
const char *_Nonnull stepwise_curl_version(void);

void *_Nullable stepwise_curl_easy_init(void);
void stepwise_curl_easy_cleanup(void *_Nonnull easy);
void stepwise_curl_easy_reset(void *_Nonnull easy);
int stepwise_curl_easy_pause(void *_Nonnull easy, int mask);

// Each returns 0, or libcurl's number for what is wrong, as for an option that this libcurl does not know.
int stepwise_curl_easy_set_long(void *_Nonnull easy, int option, long value);
int stepwise_curl_easy_set_offset(void *_Nonnull easy, int option, int64_t value);
int stepwise_curl_easy_set_string(void *_Nonnull easy, int option, const char *_Nullable value);
int stepwise_curl_easy_set_pointer(void *_Nonnull easy, int option, void *_Nullable value);

typedef size_t (*stepwise_curl_data_callback)(char *_Nullable data, size_t size, size_t count, void *_Nullable context);
typedef int (*stepwise_curl_seek_callback)(void *_Nullable context, int64_t offset, int origin);

int stepwise_curl_easy_set_data_callback(
  void *_Nonnull easy, int option, stepwise_curl_data_callback _Nonnull callback);
int stepwise_curl_easy_set_seek_callback(
  void *_Nonnull easy, int option, stepwise_curl_seek_callback _Nonnull callback);

typedef int (*stepwise_curl_open_callback)(void *_Nullable context, int purpose, void *_Nullable address);
typedef int (*stepwise_curl_close_callback)(void *_Nullable context, int descriptor);

/// Makes libcurl open the sockets of connections with one function and close them with the other.
void stepwise_curl_easy_set_socket_callbacks(
  void *_Nonnull easy, stepwise_curl_open_callback _Nonnull open, void *_Nullable open_context,
  stepwise_curl_close_callback _Nonnull close, void *_Nullable close_context);

typedef int (*stepwise_curl_ready_callback)(
  void *_Nullable context, char *_Nullable server, char *_Nullable client, int server_port, int client_port);

/// Makes libcurl call a function when a transfer has a connection, before it sends the request; that refuses it with 1.
void stepwise_curl_easy_set_ready_callback(
  void *_Nonnull easy, stepwise_curl_ready_callback _Nonnull callback, void *_Nullable context);

/// Whether something has arrived on the connection of a transfer, including its end, that was not read yet.
int stepwise_curl_has_input(void *_Nonnull easy, int descriptor);

/// Opens the socket that libcurl asks for, which child processes do not inherit; negative when that is impossible.
int stepwise_curl_open_socket(const void *_Nonnull address);

/// The value of a piece of information that is a number; 0 where there is none.
long stepwise_curl_easy_get_long(void *_Nonnull easy, int info);

/// The value of a piece of information that is a large number; 0 where there is none.
int64_t stepwise_curl_easy_get_offset(void *_Nonnull easy, int info);

/// The value of a piece of information that is a pointer; NULL where there is none.
void *_Nullable stepwise_curl_easy_get_pointer(void *_Nonnull easy, int info);

/// Adds a copy of a line to a list; returns the list, or NULL when there is no memory, and then the list is as it was.
void *_Nullable stepwise_curl_list_append(void *_Nullable list, const char *_Nonnull line);
void stepwise_curl_list_free(void *_Nullable list);

void *_Nullable stepwise_curl_multi_init(void);
void stepwise_curl_multi_cleanup(void *_Nonnull multi);
int stepwise_curl_multi_add(void *_Nonnull multi, void *_Nonnull easy);
int stepwise_curl_multi_remove(void *_Nonnull multi, void *_Nonnull easy);
int stepwise_curl_multi_set_long(void *_Nonnull multi, int option, long value);

typedef int (*stepwise_curl_socket_callback)(
  void *_Nullable easy, int descriptor, int what, void *_Nullable context, void *_Nullable socket);
typedef int (*stepwise_curl_timer_callback)(void *_Nullable multi, long milliseconds, void *_Nullable context);

/// Makes libcurl say which descriptors it waits for, and until when.
void stepwise_curl_multi_set_callbacks(
  void *_Nonnull multi, stepwise_curl_socket_callback _Nonnull socket, stepwise_curl_timer_callback _Nonnull timer,
  void *_Nullable context);

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
