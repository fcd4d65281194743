// SPDX-License-Identifier: Apache-2.0
#include <jaxscope/capture.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "api/rule_table.h"
#include "calls/remat/remat.h"
#include "io/capture/writer.h"
#include "io/text/surroundings.h"
#include "trace/jit/jit_state.h"
#include "trace/regions.h"
#include "transforms/residuals.h"

namespace jaxscope::jax::detail {

struct CaptureState {
    std::shared_ptr<::jaxscope::Program> program;
};

namespace {

/// Sets the thread's recorder while a program is traced.
class Recording {
public:
    explicit Recording(RegionRecorder& r) : outer_(std::exchange(RegionRecorder::current(), &r)) {}
    ~Recording() { RegionRecorder::current() = outer_; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

private:
    RegionRecorder* outer_;
};

/// A file's text, as captures of Python hold theirs: as long ones as these. None where it can't be read, or isn't what was compiled: it has
/// no line `last`.
std::optional<std::string> text_of(const std::string& file, int last) {
    constexpr std::size_t kMostBytes = 2'000'000;
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none)) return {};
    std::string text(kMostBytes, '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || in.gcount() <= 0) return {};
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (!in.eof()) {  // up to the end of a line
        text.resize(text.rfind('\n') + 1);
    } else if (std::count(text.begin(), text.end(), '\n') + 1 < last) {
        return {};
    }
    return first_bad_utf8(text) == std::string_view::npos ? std::optional(std::move(text)) : std::nullopt;
}

/// The files that the program's places name, with their text where it is at hand.
void add_files(::jaxscope::Program& p) {
    std::vector<std::pair<Sym, int>> last;  // line that is named
    const auto add = [&](const ::jaxscope::Jaxpr& top) {
        for (const ::jaxscope::Jaxpr* j : all_jaxprs(top))
            for (const Eqn& e : j->eqns)
                for (const Frame& f : e.source->frames()) {
                    const auto known = std::find_if(last.begin(), last.end(), [&](const auto& l) { return l.first == f.file; });
                    if (known == last.end())
                        last.emplace_back(f.file, f.line);
                    else
                        known->second = std::max(known->second, f.line);
                }
    };
    add(*p.jaxpr);
    for (const ::jaxscope::Region& region : p.regions) add(*region.jaxpr);
    for (const auto& [file, line] : last) p.files.push_back({file.str(), true, text_of(file.str(), line)});
}

/// Has callable policies answer what the capture's readers may ask: a policy is no longer there then.
void ask_policies(const ::jaxscope::Jaxpr& program) {
    for (const ::jaxscope::Jaxpr* j : all_jaxprs(program))
        for (const Eqn& e : j->eqns) {
            if (e.prim->flow != Flow::Remat) continue;
            const auto& p = e.params->as<RematParams>();
            if (p.differentiated || !p.policy || !p.policy->name.empty()) continue;
            try {
                ::jaxscope::saved_residuals(checkpoint(p.jaxpr.jaxpr, p.policy), {});
            } catch (const Error&) {
                continue;  // it can't be differentiated: nobody will ask
            }
        }
}

}  // namespace

CaptureState* make_capture(Call& call, JitState* state, const CaptureOptions& options) {
    initialise();
    JitHandle fresh(JitOptions{.name = options.name ? options.name : "<unnamed function>"}, Where("", 0, ""));
    JitState& s = *fresh;
    if (state) {
        s.options = state->options;
        s.rules = state->rules;
    }
    if (!options.arg_names.empty()) s.options.arg_names = options.arg_names;
    RegionRecorder first;
    std::shared_ptr<::jaxscope::Program> p;
    {
        const Recording recording(first);
        p = std::make_shared<::jaxscope::Program>(*find_entry(s, call)->program);
    }
    p->regions = first.regions;
    if (first.marks > 0) {
        RegionRecorder second;
        second.marking = true;
        const Recording recording(second);
        s.entries.clear();
        p->marked = find_entry(s, call)->program->jaxpr;
        // Calls that vmap mapped stand there as they are now, no longer as they were.
        std::vector<const ::jaxscope::Jaxpr*> there = all_jaxprs(*p->marked);
        std::erase_if(second.calls,
                      [&](const MarkedCall& c) { return std::find(there.begin(), there.end(), c.jaxpr.get()) == there.end(); });
        p->marked_calls = std::move(second.calls);
    }
    if (state && !s.rules.marker) p->jit = "jax";  // else it is Equinox's
    for (const Array& a : call.leaves) p->values.push_back(a.node()->array);
    ask_policies(*p->jaxpr);
    for (const ::jaxscope::Region& r : p->regions) ask_policies(*r.jaxpr);
    gather_rules(*p);
    add_files(*p);
    auto out = std::make_unique<CaptureState>();
    out->program = std::move(p);
    return out.release();
}

void save_capture(const CaptureState& state, const std::string& path, const SaveOptions& options) {
    if (options.source) return write_capture(*state.program, path);
    ::jaxscope::Program plain = *state.program;
    for (SourceFile& file : plain.files) file.text.reset();
    write_capture(plain, path);
}
void drop_capture(CaptureState* state) noexcept { delete state; }

}  // namespace jaxscope::jax::detail
