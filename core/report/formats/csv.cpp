// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/suggest.h"
#include "report/formats/formats.h"
#include "report/json/fields.h"
#include "report/json/report_fields.h"
#include "report/measure.h"

namespace jaxscope {

namespace {

/// RFC 4180: quotes doubled. What a spreadsheet would take for a formula is kept from being one by an apostrophe in front.
std::string cell(std::string text) {
    if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

/// Fields that hold no further objects.
template <class M>
std::optional<std::string> flat(const M& value) {
    if constexpr (std::is_same_v<M, std::string>)
        return cell(value);
    else if constexpr (std::is_same_v<M, bool>)
        return value ? "true" : "false";
    else if constexpr (std::is_arithmetic_v<M>) {
        return fmt::format("{}", value);
    } else if constexpr (detail::IsOptional<M>::value) {
        return value ? flat(*value) : std::optional<std::string>("");
    } else {
        return {};
    }
}

template <class Row>
void table(std::ostream& out, const std::vector<Row>& rows) {
    const Row none{};
    const auto line = [&](auto text_of) {
        std::string text;
        std::apply(
            [&](const auto&... f) {
                const auto one = [&](const auto& field) {
                    if (!flat(none.*(field.member))) return;
                    text += (text.empty() ? "" : ",") + text_of(field);
                };
                (one(f), ...);
            },
            ReportFields<Row>::fields);
        out << text << "\r\n";
    };
    line([](const auto& field) { return std::string(field.name); });
    for (const Row& row : rows) line([&](const auto& field) { return *flat(row.*(field.member)); });
}

}  // namespace

void write_csv(std::ostream& out, const Inspection& inspection, const std::string& what) {
    if (what == "residuals") return table(out, inspection.residuals().rows);
    if (what == "donation") return table(out, inspection.donation().donated);
    if (what == "memory") return table(out, memory_report(inspection, nullptr).at_peak);
    if (what == "policies") return table(out, inspection.policies({}, false));
    if (what == "inputs") return table(out, inspection.summary().inputs);
    if (what == "outputs") return table(out, inspection.summary().outputs);
    throw unknown_name(ErrorCode::BadUsage, "expected --what residuals, donation, memory, policies, inputs or outputs", what,
                       {"residuals", "donation", "memory", "policies", "inputs", "outputs"});
}

}  // namespace jaxscope
