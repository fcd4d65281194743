// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `report/check`: what a program has to keep to, and where it doesn't. Comes in: budgets (flags, budgets.json), Inspections. Goes
// out: findings at the user's lines, in the formats that CI systems read. Never here: figures that an Inspection doesn't hold.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace jaxscope {

/// What one program has to keep to. Sizes in bytes, shares in percent; what is missing isn't asked.
struct Budget {
    std::optional<std::int64_t> max_peak;               ///< planned, of jaxscope's CPU JIT
    std::optional<std::int64_t> max_residuals;          ///< what the backward pass keeps
    std::optional<std::int64_t> max_unused_donations;   ///< bytes of donated leaves whose memory no output takes
    std::optional<double> max_recomputed;               ///< recomputed work, of all
    std::optional<double> max_peak_growth;              ///< above the baseline
    std::optional<double> max_residual_growth;          ///< above the baseline
    bool no_unsupported = false;                        ///< no primitive that stops grad, vmap or run
    std::vector<std::string> must_save, must_not_save;  ///< names of checkpoint_name
};

/// The measured figures of one program, as a baseline holds them.
struct ProgramFigures {
    std::string file, name;
    std::optional<std::int64_t> planned_peak, residual_bytes;
    std::optional<std::int64_t> unused_donations;  ///< bytes
    std::optional<double> recomputed_share;        ///< percent
    std::string problem;                           ///< why a figure is missing
    std::optional<std::int64_t> threads;           ///< that the peak is planned for
    std::string peak_of;                           ///< what the peak is of, in words: residuals are always of a differentiation
    std::vector<std::string> rules;                ///< what it was held to: ids of CheckRules
};

/// budgets.json: `defaults`, and `programs` by file. Files are relative to the folder of budgets.json.
struct BudgetFile {
    Budget defaults;
    std::vector<std::pair<std::string, Budget>> programs;  ///< defaults included
    std::string path;                                      ///< empty: there is no such file, only flags
};
/// Which of `programs` a file is held to; nothing: the defaults alone.
struct BudgetMatch {
    std::optional<std::size_t> entry;
    bool by_name = false;  ///< by the file's own name: it lies elsewhere, as a capture that a hook makes does
};
/// One for each file: the entry of its path; else that of its own name, where one free entry and one such file have that name.
std::vector<BudgetMatch> match_budgets(const BudgetFile& budgets, const std::vector<std::string>& files);
/// Throws Error{BadInput} with the JSON path, for unknown keys too; Error{NotFound}. What the file doesn't say, `given` says.
BudgetFile read_budgets(const std::string& path, const Budget& given);

/// Figures of an earlier day: a report of `check --json`, of `report`, `residuals` or `plan`. Throws Error{BadInput | NotFound}.
std::vector<ProgramFigures> read_baseline(const std::string& path);
/// The row of this program: by file, else by the file's own name, else the only one there is. Null: none.
const ProgramFigures* baseline_of(const std::vector<ProgramFigures>& rows, const std::string& file, const std::string& name);

}  // namespace jaxscope
