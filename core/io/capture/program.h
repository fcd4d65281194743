// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "io/capture/tables.h"

namespace jaxscope {

/// Sections 1, 5 and 6 of a capture: what stands around the tables. `v` is the value of the key of that name.
void read_producer(const JsonValue& v, Program& out);
void read_flags(const JsonValue& v, const CaptureTables& tables, Program& out);
CustomRule read_custom_rule(const JsonValue& v, const CaptureTables& tables);
void read_program(const JsonValue& v, const CaptureTables& tables, Program& out);
/// One entry of `marked.calls`.
MarkedCall read_marked_call(const JsonValue& v, const CaptureTables& tables);
Region read_region(const JsonValue& v, const CaptureTables& tables, std::size_t num_regions);
/// The value of `xla`, or an entry of `targets`.
XlaFacts read_xla(const JsonValue& v);

}  // namespace jaxscope
