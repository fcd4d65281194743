// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/zero_bytes.h"

namespace jaxscope {

using Json = nlohmann::ordered_json;

Json read_json_file(const std::string& path, const char* what) {
    std::ifstream in(path, std::ios::binary);
    if (!in || std::filesystem::is_directory(path))
        throw Error(ErrorCode::NotFound, std::string("expected ") + what + ", found no file '" + printable(path) + "'");
    // Of a key that stands twice the last one would win, and nobody would see it.
    std::vector<std::set<std::string>> open;
    const auto once = [&](int, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::object_start) open.emplace_back();
        if (event == Json::parse_event_t::object_end) open.pop_back();
        if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
            throw Error(ErrorCode::BadInput, "expected each key once, found '" + printable(value.get<std::string>(), 60) + "' twice")
                .at({path, 0, 0});
        return true;
    };
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    refuse_zero_bytes(text, 0, path);
    try {
        return Json::parse(text, once);
    } catch (const Json::parse_error& e) {
        const auto before = text.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(e.byte, 1, text.size() + 1) - 1);
        const auto line = 1 + static_cast<int>(std::count(text.begin(), before, '\n'));
        throw Error(ErrorCode::BadInput, std::string("expected JSON, found that it ends or breaks at byte ") + std::to_string(e.byte))
            .at({path, line, 0});
    }
}

bool is_report(const Json& document) { return document.is_object() && document.value("schema", "") == "jaxscope.report/1"; }

std::optional<std::int64_t> integer_field(const Json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_number_integer() ? std::optional(it->get<std::int64_t>()) : std::nullopt;
}

}  // namespace jaxscope
