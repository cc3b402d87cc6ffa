// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// For RTLD_DEEPBIND and RTLD_DEFAULT.
#define _GNU_SOURCE

#include "CurlShim.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/// A message of `curl_multi_info_read`.
struct message {
  int kind;
  void *easy;
  union {
    void *whatever;
    int result;
  } data;
};

/// The beginning of `curl_version_info_data`.
struct version {
  int age;
  const char *text;
  unsigned number;
};

// The functions that Swift does not call by their own names.
#define OTHER_FUNCTIONS(X) \
  X(int, global_init, (long flags), ) \
  X(int, easy_setopt, (void *easy, int option, ...), ) \
  X(int, easy_getinfo, (void *easy, int info, ...), ) \
  X(int, multi_setopt, (void *multi, int option, ...), ) \
  X(int, share_setopt, (void *share, int option, ...), ) \
  X(struct version *, version_info, (int age), ) \
  X(int, multi_socket_action, (void *multi, int descriptor, int events, int *running), ) \
  X(struct message *, multi_info_read, (void *multi, int *left), )
#define MEMBER(type, name, parameters, arguments) type(*name) parameters;
#define ENTRY(type, name, parameters, arguments) {"curl_" #name, &curl.name},
#define FUNCTION(type, name, parameters, arguments) \
  type stepwise_curl_##name parameters { return curl.name arguments; }

static struct {
  STEPWISE_CURL_FUNCTIONS(MEMBER)
  OTHER_FUNCTIONS(MEMBER)
} curl;

STEPWISE_CURL_FUNCTIONS(FUNCTION)

/// OpenSSL's function, where libcurl depends on that.
static int (*ssl_pending)(const void *) = 0;

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

void *stepwise_open_library(const char *name) {
  int mode = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  // Its calls of its own functions reach itself, not those of another version that the process has loaded. Sanitizers end
  // the process where a library is opened in this way.
  mode |= RTLD_DEEPBIND;
#endif
  return dlopen(name, mode);
}

const char *stepwise_curl_load(const char *name) {
  void *library = stepwise_open_library(name);
  if (!library) return "it cannot be loaded";
#if !defined(RTLD_DEEPBIND) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  void *loaded = dlsym(RTLD_DEFAULT, "curl_easy_init");
  if (loaded && loaded != dlsym(library, "curl_easy_init")) return "the process has loaded another libcurl";
#endif
  const struct {
    const char *name;
    void *entry;
  } functions[] = {STEPWISE_CURL_FUNCTIONS(ENTRY) OTHER_FUNCTIONS(ENTRY)};
  for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
    void *function = dlsym(library, functions[index].name);
    if (!function) return "a function is missing in it";
    *(void **)functions[index].entry = function;
  }
  *(void **)&ssl_pending = dlsym(library, "SSL_pending");
  const long everything = 3;
  return curl.global_init(everything) == 0 ? 0 : "it cannot be initialized";
}

unsigned stepwise_curl_version(void) { return curl.version_info(0)->number; }

void *stepwise_curl_share_sessions(void) {
  const int share = 1, sessions = 4;
  void *shared = stepwise_curl_share_init();
  if (shared) curl.share_setopt(shared, share, sessions);
  return shared;
}

void *stepwise_curl_multi_create(void) {
  enum { limit = 1024 };
  char was_open[limit];
  for (int descriptor = 0; descriptor < limit; descriptor++) was_open[descriptor] = fcntl(descriptor, F_GETFD) >= 0;
  void *multi = stepwise_curl_multi_init();
  for (int descriptor = 0; descriptor < limit; descriptor++) {
    const int flags = was_open[descriptor] ? -1 : fcntl(descriptor, F_GETFD);
    if (flags < 0 || flags & FD_CLOEXEC) continue;
    // Another thread may have opened it: those of libcurl are local, and do not block.
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) continue;
    if (fcntl(descriptor, F_GETFL) & O_NONBLOCK) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
  }
  return multi;
}

int stepwise_curl_easy_set_number(void *easy, enum stepwise_curl_option option, int64_t value) {
  // An offset from 30,000 on, and a long below.
  return option < 30000 ? curl.easy_setopt(easy, option, (long)value) : curl.easy_setopt(easy, option, value);
}
int stepwise_curl_easy_set_pointer(void *easy, enum stepwise_curl_option option, const void *value) {
  return curl.easy_setopt(easy, option, value);
}

void stepwise_curl_multi_set_number(void *multi, enum stepwise_curl_option option, long value) {
  curl.multi_setopt(multi, option, value);
}
void stepwise_curl_multi_watch(void *multi, void *context, stepwise_curl_socket_function function) {
  curl.multi_setopt(multi, curlopt_multiSocketFunction, function);
  curl.multi_setopt(multi, curlopt_multiSocketData, context);
}

int64_t stepwise_curl_easy_get_number(void *easy, enum stepwise_curl_info info) {
  long value = 0;
  int64_t large_value = 0;
  // An offset from 0x600000 on, and a long below; libcurl leaves it at 0 where it knows none.
  curl.easy_getinfo(easy, info, info < 0x600000 ? (void *)&value : &large_value);
  return value + large_value;
}
void *stepwise_curl_easy_get_pointer(void *easy, enum stepwise_curl_info info) {
  void *value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}

/// How many bytes OpenSSL has decrypted that libcurl has not read; 0 without OpenSSL.
static int decrypted_bytes(void *easy) {
  const int openssl = 1;
  const struct {
    int backend;
    void *connection;
  } *session = stepwise_curl_easy_get_pointer(easy, curlinfo_tlsSession);
  if (!session || session->backend != openssl || !session->connection) return 0;
  return ssl_pending ? ssl_pending(session->connection) : 0;
}

int stepwise_curl_has_input(void *easy, int descriptor) {
  char byte;
  if (recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return 1;
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return 1;
  return decrypted_bytes(easy) > 0;
}

int stepwise_curl_multi_act(void *multi, int descriptor, int events) {
  int running = 0;
  return curl.multi_socket_action(multi, descriptor, events, &running);
}

void *stepwise_curl_multi_completed(void *multi, int *result) {
  const int done = 1;
  int left = 0;
  struct message *message;
  while ((message = curl.multi_info_read(multi, &left))) {
    if (message->kind != done) continue;
    *result = message->data.result;
    return message->easy;
  }
  return 0;
}

#else

// Apple's platforms have URLSession: nothing is compiled there.
typedef int stepwise_curl_is_not_used;

#endif
