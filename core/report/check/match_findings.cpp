// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "base/text.h"
#include "report/check/findings.h"

namespace jaxscope {

namespace fs = std::filesystem;

namespace {

std::string own_name(const std::string& file) { return fs::path(file).filename().string(); }
/// What is compared: that both are captures makes no names alike.
std::string stem(const std::string& file) { return fs::path(file).stem().string(); }

Finding of_file(const std::string& file, const char* level, std::string message) {
    return {file, "no-budget", level, std::move(message), file, 0, {}, {}, {}};
}

/// Entries that no file given is held to: the programs of another part of the work, or misspelt ones.
std::vector<std::string> left_over(const BudgetFile& budgets, const std::vector<BudgetMatch>& matches) {
    std::vector<std::string> out;
    for (std::size_t k = 0; k < budgets.programs.size(); ++k)
        if (std::none_of(matches.begin(), matches.end(), [&](const BudgetMatch& m) { return m.entry == k; }))
            out.push_back(budgets.programs[k].first);
    return out;
}

}  // namespace

std::vector<Finding> match_findings(const BudgetFile& budgets, const std::vector<std::string>& files,
                                    const std::vector<BudgetMatch>& matches) {
    std::vector<Finding> out;
    std::vector<std::string> unknown;  // of the entries left over, those whose file isn't there: they may mean one that was given
    for (const std::string& entry : left_over(budgets, matches)) {
        std::error_code none;
        if (!fs::exists(entry, none)) unknown.push_back(entry);
        out.push_back(of_file(budgets.path, "warning", fmt::format("the budget of '{}' is of none of the files given", printable(entry))));
    }
    for (std::size_t f = 0; f < files.size(); ++f) {
        if (matches[f].by_name)
            out.push_back(of_file(
                files[f], "note",
                fmt::format("held to the budget of '{}', by the file's own name", printable(budgets.programs[*matches[f].entry].first))));
        if (matches[f].entry || unknown.empty()) continue;
        std::vector<std::string> names;
        for (const std::string& entry : unknown) names.push_back(stem(entry));
        Finding& error = out.emplace_back(
            of_file(files[f], "error",
                    fmt::format("expected a budget of this program in {}, found those of programs that weren't given and aren't there: {}",
                                printable(budgets.path), printable(fmt::format("{}", fmt::join(unknown, ", "))))));
        const std::string_view near = nearest_name(stem(files[f]), views_of(names));
        if (!near.empty()) error.remedy = fmt::format("did you mean {} where it says {}? ", printable(stem(files[f])), printable(near));
        error.remedy += fmt::format("For the defaults alone: \"{}\": {{}} in `programs`", printable(own_name(files[f])));
    }
    return out;
}

}  // namespace jaxscope
