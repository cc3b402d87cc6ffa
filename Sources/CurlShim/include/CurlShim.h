// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// What StepwiseHTTP uses of libcurl, zlib and Linux' event notification, on Linux alone.
//
// libcurl is loaded when it is first used, so neither its headers nor its library are needed to build. Swift cannot call
// functions with variable arguments: options and information of the same size have one function here.

#ifndef STEPWISE_CURL_SHIM_H
#define STEPWISE_CURL_SHIM_H

#if defined(__linux__)

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// Loads a library whose functions only ``dlsym`` finds; NULL when it cannot be loaded.
void *_Nullable stepwise_open_library(const char *_Nonnull name);

/// Loads libcurl, once; returns NULL, or why that is impossible.
const char *_Nullable stepwise_curl_load(const char *_Nonnull name);

// Functions of libcurl: each is called `stepwise_curl_` and its own name.
#define STEPWISE_CURL_FUNCTIONS(X) \
  X(void *_Nullable, easy_init, (void), ()) \
  X(void, easy_cleanup, (void *_Nonnull easy), (easy)) \
  X(void, easy_reset, (void *_Nonnull easy), (easy)) \
  X(int, easy_pause, (void *_Nonnull easy, int mask), (easy, mask)) \
  X(void *_Nullable, slist_append, (void *_Nullable list, const char *_Nonnull line), (list, line)) \
  X(void, slist_free_all, (void *_Nullable list), (list)) \
  X(void *_Nullable, multi_init, (void), ()) \
  X(int, multi_cleanup, (void *_Nonnull multi), (multi)) \
  X(int, multi_timeout, (void *_Nonnull multi, long *_Nonnull milliseconds), (multi, milliseconds)) \
  X(int, multi_add_handle, (void *_Nonnull multi, void *_Nonnull easy), (multi, easy)) \
  X(int, multi_remove_handle, (void *_Nonnull multi, void *_Nonnull easy), (multi, easy)) \
  X(void *_Nullable, share_init, (void), ()) \
  X(int, share_cleanup, (void *_Nonnull share), (share))
#define STEPWISE_CURL_DECLARATION(type, name, parameters, arguments) type stepwise_curl_##name parameters;
STEPWISE_CURL_FUNCTIONS(STEPWISE_CURL_DECLARATION)

/// The version of libcurl, with a byte for each number: 0x075801 is 7.88.1.
unsigned stepwise_curl_version(void);

/// Creates a multi handle, whose own sockets no child process inherits.
void *_Nullable stepwise_curl_multi_create(void);

/// An object for the handles that share sessions of TLS; NULL when there is no memory.
void *_Nullable stepwise_curl_share_sessions(void);

/// Options of libcurl; their numbers never change.
enum stepwise_curl_option {
  curlopt_writeData = 10001, curlopt_url = 10002, curlopt_proxy = 10004, curlopt_readData = 10009,
  curlopt_errorBuffer = 10010, curlopt_userAgent = 10018, curlopt_httpHeader = 10023,
  curlopt_clientCertificate = 10025, curlopt_keyPassword = 10026, curlopt_headerData = 10029,
  curlopt_customRequest = 10036, curlopt_caFile = 10065, curlopt_share = 10100, curlopt_clientCertificateType = 10086,
  curlopt_caFolder = 10097, curlopt_privateData = 10103, curlopt_openData = 10164, curlopt_seekData = 10168,
  curlopt_noProxy = 10177, curlopt_closeData = 10209,
  curlopt_pinnedPublicKey = 10230, curlopt_useData = 10313, curlopt_protocols = 10318, curlopt_writeFunction = 20011,
  curlopt_readFunction = 20012, curlopt_headerFunction = 20079, curlopt_openFunction = 20163,
  curlopt_seekFunction = 20167, curlopt_closeFunction = 20208, curlopt_useFunction = 20312, curlopt_noBody = 44,
  curlopt_freshConnect = 74, curlopt_upload = 46, curlopt_bufferSize = 98, curlopt_noSignal = 99,
  curlopt_connectTimeoutMilliseconds = 156, curlopt_pathAsIs = 234, curlopt_suppressConnectHeaders = 265,
  curlopt_uploadBufferSize = 280, curlopt_quickExit = 322, curlopt_uploadSize = 30115, curlopt_multiPipelining = 3,
  curlopt_multiMaxHostConnections = 7, curlopt_multiMaxConnects = 6, curlopt_multiSocketFunction = 20001,
  curlopt_multiSocketData = 10002
};

// Each returns 0, or libcurl's number for what is wrong, as for an option that this libcurl does not know. A pointer may be
// that of a function.
int stepwise_curl_easy_set_number(void *_Nonnull easy, enum stepwise_curl_option option, int64_t value);
int stepwise_curl_easy_set_pointer(void *_Nonnull easy, enum stepwise_curl_option option, const void *_Nullable value);
void stepwise_curl_multi_set_number(void *_Nonnull multi, enum stepwise_curl_option option, long value);

/// Lets libcurl call a function with each descriptor that it wants to wait for.
typedef int (*_Nonnull stepwise_curl_socket_function)(
    void *_Nullable easy, int descriptor, int what, void *_Nullable context, void *_Nullable socket);
void stepwise_curl_multi_watch(void *_Nonnull multi, void *_Nonnull context, stepwise_curl_socket_function function);

/// Information of libcurl; their numbers never change.
enum stepwise_curl_info {
  curlinfo_privateData = 0x100015, curlinfo_responseCode = 0x200002, curlinfo_verifyResult = 0x20000d,
  curlinfo_proxyConnectStatus = 0x200016, curlinfo_systemError = 0x200019, curlinfo_tlsSession = 0x40002d,
  curlinfo_nameLookupTime = 0x600033
};

/// The value of a piece of information that is a number; 0 where there is none.
int64_t stepwise_curl_easy_get_number(void *_Nonnull easy, enum stepwise_curl_info info);

/// The value of a piece of information that is a pointer; NULL where there is none.
void *_Nullable stepwise_curl_easy_get_pointer(void *_Nonnull easy, enum stepwise_curl_info info);

/// Whether something has arrived on the connection of a transfer, including its end, that was not read yet.
int stepwise_curl_has_input(void *_Nonnull easy, int descriptor);

/// Lets libcurl deal with a descriptor, or with the time when the descriptor is -1.
int stepwise_curl_multi_act(void *_Nonnull multi, int descriptor, int events);

/// The next transfer that is complete, and how it ended; NULL when there is none.
void *_Nullable stepwise_curl_multi_completed(void *_Nonnull multi, int *_Nonnull result);

/// The `z_stream` of zlib, which libcurl is linked with.
struct stepwise_zlib_stream {
  const uint8_t *_Nullable input;
  unsigned input_count;
  unsigned long total_input;
  uint8_t *_Nullable output;
  unsigned output_count;
  unsigned long total_output;
  const char *_Nullable message;
  void *_Nullable others[4];
  int kind;
  unsigned long others_too[2];
};

#endif
#endif
