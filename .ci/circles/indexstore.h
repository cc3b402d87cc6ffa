// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// What `circles.swift` calls of libIndexStore, which comes with each toolchain, though not always with its header.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#pragma clang assume_nonnull begin

typedef struct { const char *data; size_t length; } indexstore_string;
typedef void *indexstore_object;

indexstore_object indexstore_store_create(const char *path, void *_Nullable error);
bool indexstore_store_units_apply_f(indexstore_object store, unsigned sorted, void *context,
                                    bool (*body)(void *, indexstore_string));
indexstore_object indexstore_unit_reader_create(indexstore_object store, const char *name, void *_Nullable error);
indexstore_string indexstore_unit_reader_get_module_name(indexstore_object unit);
indexstore_string indexstore_unit_reader_get_main_file(indexstore_object unit);
bool indexstore_unit_reader_dependencies_apply_f(indexstore_object unit, void *context,
                                                 bool (*body)(void *, indexstore_object));
int indexstore_unit_dependency_get_kind(indexstore_object dependency);
indexstore_string indexstore_unit_dependency_get_filepath(indexstore_object dependency);
indexstore_string indexstore_unit_dependency_get_name(indexstore_object dependency);
indexstore_object indexstore_record_reader_create(indexstore_object store, const char *name, void *_Nullable error);
bool indexstore_record_reader_occurrences_apply_f(indexstore_object record, void *context,
                                                  bool (*body)(void *, indexstore_object));
indexstore_object indexstore_occurrence_get_symbol(indexstore_object occurrence);
uint64_t indexstore_occurrence_get_roles(indexstore_object occurrence);
indexstore_string indexstore_symbol_get_usr(indexstore_object symbol);
#pragma clang assume_nonnull end
