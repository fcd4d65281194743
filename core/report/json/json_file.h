// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace jaxscope {

/// A file that people or jaxscope wrote. Throws Error{NotFound} that calls it `what`; Error{BadInput} with the line where it breaks.
nlohmann::ordered_json read_json_file(const std::string& path, const char* what);

/// What `--json` wrote, of whatever command.
bool is_report(const nlohmann::ordered_json& document);
std::optional<std::int64_t> integer_field(const nlohmann::ordered_json& object, const char* key);

}  // namespace jaxscope
