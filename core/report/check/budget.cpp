// SPDX-License-Identifier: Apache-2.0
#include "report/check/budget.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "base/text.h"
#include "report/json/json_file.h"

namespace jaxscope {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

/// Reads one value of a budget; `place` is its JSON path.
class Entry {
public:
    Entry(const Json& value, std::string place, const std::string& file) : value_(value), place_(std::move(place)), file_(file) {}

    void read(std::optional<std::int64_t>& size) const {
        if (value_.is_number_unsigned())
            size = value_.get<std::int64_t>();
        else if (value_.is_string())
            size = parsed_size();
        else
            fail("a size in bytes, or one such as \"1.5G\"");
    }
    void read(std::optional<double>& percent) const {
        if (!value_.is_number() || value_.get<double>() < 0) fail("a percentage from 0");
        percent = value_.get<double>();
    }
    void read(bool& flag) const {
        if (!value_.is_boolean()) fail("true or false");
        flag = value_.get<bool>();
    }
    void read(std::vector<std::string>& names) const {
        if (!value_.is_array()) fail("a list of names");
        names.clear();
        for (const Json& name : value_) {
            if (!name.is_string()) fail("a list of names");
            names.push_back(name.get<std::string>());
        }
    }
    [[noreturn]] void fail(const std::string& expected) const {
        throw Error(ErrorCode::BadInput, place_ + ": expected " + expected + ", found " + printable(value_.dump(), 60)).at({file_, 0, 0});
    }

private:
    std::int64_t parsed_size() const {
        try {
            return parse_size(value_.get<std::string>());
        } catch (const Error&) {
            fail("a size in bytes, or one such as \"1.5G\"");
        }
    }
    const Json& value_;
    std::string place_;
    const std::string& file_;
};

/// The keys of a budget, each once: what it is called and where it goes.
template <class Visit>
bool with_key(Budget& b, std::string_view key, Visit visit) {
    const auto is = [&](std::string_view name, auto& member) { return key == name && (visit(member), true); };
    return is("max_peak", b.max_peak) || is("max_residuals", b.max_residuals) || is("max_unused_donations", b.max_unused_donations) ||
           is("max_recomputed", b.max_recomputed) || is("max_peak_growth", b.max_peak_growth) ||
           is("max_residual_growth", b.max_residual_growth) || is("no_unsupported", b.no_unsupported) || is("must_save", b.must_save) ||
           is("must_not_save", b.must_not_save);
}
constexpr std::string_view kKeys[] = {"max_peak",       "max_residuals",   "max_unused_donations",
                                      "max_recomputed", "max_peak_growth", "max_residual_growth",
                                      "no_unsupported", "must_save",       "must_not_save"};

void read_budget(Budget& budget, const Json& object, const std::string& place, const std::string& file) {
    if (!object.is_object()) Entry(object, place, file).fail("an object of limits");
    for (const auto& [key, value] : object.items()) {
        const Entry entry(value, place + "." + key, file);
        if (with_key(budget, key, [&](auto& member) { entry.read(member); })) continue;
        Error error(ErrorCode::BadInput, place + ": expected a limit that jaxscope knows, found '" + printable(key, 60) + "'");
        throw suggest(error, key, views_of(kKeys)).at({file, 0, 0});
    }
}

}  // namespace

std::vector<BudgetMatch> match_budgets(const BudgetFile& budgets, const std::vector<std::string>& files) {
    std::vector<BudgetMatch> out(files.size());
    std::vector<bool> taken(budgets.programs.size());
    std::error_code none;
    for (std::size_t f = 0; f < files.size(); ++f)
        for (std::size_t k = 0; k < budgets.programs.size() && !out[f].entry; ++k) {
            const std::string& name = budgets.programs[k].first;
            if (name != files[f] && !fs::equivalent(name, files[f], none)) continue;
            out[f].entry = k;
            taken[k] = true;
        }
    const auto own_name = [](const std::string& file) { return fs::path(file).filename().string(); };
    std::map<std::string, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> left;  // files and entries of one name
    for (std::size_t f = 0; f < files.size(); ++f)
        if (!out[f].entry) left[own_name(files[f])].first.push_back(f);
    for (std::size_t k = 0; k < taken.size(); ++k)
        if (!taken[k]) left[own_name(budgets.programs[k].first)].second.push_back(k);
    for (const auto& [name, both] : left)
        if (both.first.size() == 1 && both.second.size() == 1) out[both.first[0]] = {both.second[0], true};
    return out;
}

BudgetFile read_budgets(const std::string& path, const Budget& given) {
    const Json document = read_json_file(path, "budgets");
    BudgetFile out;
    out.defaults = given;
    out.path = path;
    if (!document.is_object()) Entry(document, "$", path).fail("an object with `defaults` and `programs`");
    for (const auto& [key, value] : document.items())
        if (key != "defaults" && key != "programs" && key != "schema") {
            Error error(ErrorCode::BadInput, "$: expected `defaults` and `programs`, found '" + printable(key, 60) + "'");
            throw suggest(error, key, {"defaults", "programs", "schema"}).at({path, 0, 0});
        }
    if (document.contains("defaults")) read_budget(out.defaults, document["defaults"], "$.defaults", path);
    if (!document.contains("programs")) return out;
    if (!document["programs"].is_object()) Entry(document["programs"], "$.programs", path).fail("an object of budgets by file");
    for (const auto& [file, object] : document["programs"].items()) {
        Budget budget = out.defaults;
        read_budget(budget, object, "$.programs['" + printable(file, 60) + "']", path);
        const bool own = file.starts_with("sample:") || fs::path(file).is_absolute();
        out.programs.emplace_back(own ? file : (fs::path(path).parent_path() / file).lexically_normal().string(), std::move(budget));
    }
    return out;
}

std::vector<ProgramFigures> read_baseline(const std::string& path) {
    const Json document = read_json_file(path, "a report to compare with");
    if (!is_report(document))
        throw Error(ErrorCode::BadInput, "expected a report of jaxscope's (\"schema\": \"jaxscope.report/1\"), found something else")
            .at({path, 0, 0})
            .advise("jaxscope check ... --json > baseline.json");
    std::vector<ProgramFigures> out;
    if (document.contains("programs") && document["programs"].is_array()) {
        for (const Json& p : document["programs"])
            out.push_back({p.value("file", ""),
                           p.value("name", ""),
                           integer_field(p, "planned_peak"),
                           integer_field(p, "residual_bytes"),
                           {},
                           {},
                           {},
                           {},
                           {},
                           {}});
        return out;
    }
    ProgramFigures one;
    one.residual_bytes = integer_field(document, "device_bytes");  // of one of several devices, as a check counts
    if (!one.residual_bytes) one.residual_bytes = integer_field(document, "total_bytes");
    if (document.contains("memory") && document["memory"].is_object()) one.planned_peak = integer_field(document["memory"], "planned_peak");
    if (!one.residual_bytes && !one.planned_peak)
        throw Error(ErrorCode::BadInput, "expected a report with residuals or memory in it, found one of another command").at({path, 0, 0});
    out.push_back(std::move(one));
    return out;
}

namespace {
/// What the pytest plugin writes has no file: a row for each test and program. Rows of one program that differ are none for certain.
const ProgramFigures* row_named(const std::vector<ProgramFigures>& rows, const std::string& name) {
    const ProgramFigures* found = nullptr;
    for (const ProgramFigures& r : rows) {
        if (!r.file.empty() || r.name.empty() || r.name != name) continue;
        if (found && (found->planned_peak != r.planned_peak || found->residual_bytes != r.residual_bytes)) return nullptr;
        if (!found) found = &r;
    }
    return found;
}
}  // namespace

const ProgramFigures* baseline_of(const std::vector<ProgramFigures>& rows, const std::string& file, const std::string& name) {
    for (const ProgramFigures& r : rows)
        if (r.file == file) return &r;
    const ProgramFigures* found = nullptr;
    for (const ProgramFigures& r : rows)
        if (!r.file.empty() && fs::path(r.file).filename() == fs::path(file).filename()) {
            if (found) return nullptr;  // two of that name: neither is meant for certain
            found = &r;
        }
    if (!found) found = row_named(rows, name);
    if (!found && rows.size() == 1 && rows[0].file.empty() && rows[0].name.empty()) found = &rows[0];
    return found;
}

}  // namespace jaxscope
