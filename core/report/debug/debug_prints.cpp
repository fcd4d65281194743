// SPDX-License-Identifier: Apache-2.0
#include "report/debug/debug_prints.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "analysis/equations/eqn_path.h"
#include "analysis/inspection.h"
#include "calls/host/print_text.h"

namespace jaxscope {

namespace {

void add_texts(DebugPrintRow& row, const Onlooker& o) {
    try {
        if (row.format.empty())
            throw NoPrintText{o.params->find("callback") ? "it calls Python, which isn't run" : "its format isn't known"};
        const PrintText format(o.params);
        for (const Onlooker::Call& call : o.kept) {
            row.texts.push_back(format(call.operands));
            row.order.push_back(call.order);
        }
        if (static_cast<std::int64_t>(o.kept.size()) < o.calls)
            row.problem = fmt::format("the texts of {} more calls weren't kept", o.calls - static_cast<std::int64_t>(o.kept.size()));
    } catch (const NoPrintText& n) {
        row.texts.clear();
        row.order.clear();
        row.problem = n.why;
    }
}

DebugPrintRow row_of(const Onlooker& o) {
    DebugPrintRow row;
    row.primitive = o.primitive.str();
    row.equation = o.eqn;
    row.source = o.source->summary().str();
    row.loc = o.source.loc();
    row.format = text_param(o.params, "fmt");
    return row;
}

/// Where equations that only look stand in the whole program. A device's program has them in pieces of its own, in the same order.
class WholeProgram {
public:
    explicit WholeProgram(const Jaxpr& program) { add(program, {}); }
    /// The first one that was made of the same equation and isn't given yet; of a jaxpr that stands in several places, its first.
    std::string place_of(const Onlooker& o) {
        std::string last;
        for (Place& p : places_) {
            if (!same(*p.eqn, o)) continue;
            last = p.path;
            if (!std::exchange(p.given, true)) break;
        }
        return last;
    }

private:
    struct Place {
        const Eqn* eqn;
        std::string path;
        bool given = false;
    };
    static bool same(const Eqn& e, const Onlooker& o) {
        return e.prim->name.c_str() == o.primitive.str() && e.source->summary() == o.source->summary() &&
               text_param(e.params, "fmt") == text_param(o.params, "fmt");
    }
    void add(const Jaxpr& j, const JaxprPath& path) {
        if (!seen_.insert(&j).second) return;
        for (std::uint32_t i = 0; i < j.eqns.size(); ++i) {
            const Eqn& e = j.eqns[i];
            if (e.n_out == 0 && !e.params->holds_jaxpr()) places_.push_back({&e, to_text(EqnPath{path, i})});
            for (const SubJaxpr& s : sub_jaxprs(e)) {
                JaxprPath inner = path;
                inner.steps.push_back({i, s.param, s.index});
                add(*s.jaxpr, inner);
            }
        }
    }
    std::vector<Place> places_;
    std::unordered_set<const Jaxpr*> seen_;
};

}  // namespace

std::vector<DebugPrintRow> debug_prints(const Inspection& inspection, const RunReport& run) {
    std::optional<WholeProgram> whole;
    if (!run.device_peaks.empty()) whole.emplace(*inspection.step().jaxpr);
    std::vector<DebugPrintRow> out;
    for (const Onlooker& o : run.result.onlookers) {
        DebugPrintRow row = row_of(o);
        row.calls = o.calls;
        if (whole) row.equation = whole->place_of(o);
        if (inspection.choices().jit.debug_prints) add_texts(row, o);
        out.push_back(std::move(row));
    }
    return out;
}

std::vector<std::string> printed_lines(const std::vector<DebugPrintRow>& rows) {
    std::map<std::int64_t, std::string> lines;
    for (const DebugPrintRow& row : rows)
        for (std::size_t i = 0; i < row.texts.size(); ++i) lines[row.order[i]] = row.texts[i];
    std::vector<std::string> out;
    for (const auto& [order, line] : lines) out.push_back(line);
    return out;
}

}  // namespace jaxscope
