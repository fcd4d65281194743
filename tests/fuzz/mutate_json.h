#pragma once
// Changes a document of JSON without breaking its syntax, so that what is tried gets beyond the parser: numbers become others that stand in
// the document, parts are dropped, doubled, swapped or replaced by other parts.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace jaxscope::fuzz {

using Json = nlohmann::ordered_json;

/// All parts of a document, itself first.
inline void parts_of(Json& at, std::vector<Json*>& out) {
    out.push_back(&at);
    if (at.is_structured())
        for (Json& child : at) parts_of(child, out);
}

inline void mutate_number(Json& at, std::mt19937& random) {
    static constexpr int kOdd[] = {0, 1, -1, 2, 3, 7, 255, -2147483647, 2147483647};
    const auto value = at.get<std::int64_t>();
    switch (random() % 3) {
        case 0:
            at = value + 1;
            break;
        case 1:
            at = value - 1;
            break;
        default:
            at = kOdd[random() % std::size(kOdd)];
    }
}

inline void mutate_array(Json& at, std::mt19937& random) {
    const auto pick = [&] { return static_cast<std::ptrdiff_t>(random() % at.size()); };
    const auto one = at.begin() + pick();
    switch (random() % 4) {
        case 0:
            at.erase(one);
            break;
        case 1:
            at.insert(one, Json(at[static_cast<std::size_t>(pick())]));
            break;
        case 2:
            std::swap(*one, at[static_cast<std::size_t>(pick())]);
            break;
        default:
            at.push_back(Json(*one));
    }
}

inline void mutate_once(Json& document, std::mt19937& random) {
    std::vector<Json*> parts;
    parts_of(document, parts);
    Json& at = *parts[random() % parts.size()];
    Json& other = *parts[random() % parts.size()];
    if (at.is_number_integer() && random() % 4 != 0)
        mutate_number(at, random);
    else if (at.is_boolean())
        at = !at.get<bool>();
    else if (at.is_array() && !at.empty() && random() % 4 != 0)
        mutate_array(at, random);
    else if (&at != &document && other.type() == at.type())
        at = Json(other);  // a copy: the one may hold the other
}

/// One to four changes; the text as it was where it isn't JSON.
inline std::string mutated_json(std::string_view text, unsigned seed) {
    Json document = Json::parse(text, nullptr, false);
    if (document.is_discarded()) return std::string(text);
    std::mt19937 random(seed);
    const unsigned times = 1 + random() % 4;
    for (unsigned i = 0; i < times; ++i) mutate_once(document, random);
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace jaxscope::fuzz
