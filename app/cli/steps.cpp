#include "app/cli/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "calls/remat.h"
#include "ir/builder.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jvp.h"
#include "transforms/policies.h"
#include "transforms/vjp.h"

namespace jaxscope::cli {

namespace {

std::vector<int> numbers(const std::string& text) {
    std::vector<int> out;
    if (trim(text).empty()) return out;
    for (const std::string& part : split(text, ',')) {
        const std::string_view t = trim(part);
        int n = 0;
        const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), n);
        if (error != std::errc() || end != t.data() + t.size())
            throw Error(ErrorCode::BadUsage, "expected numbers such as 0,2, found '" + printable(text) + "'");
        out.push_back(n);
    }
    return out;
}

/// Inputs that belong to the given arguments; none given: those that the capture differentiates, else all.
std::vector<bool> chosen_inputs(const Program& p, const std::string& argument) {
    std::vector<int> wrt = numbers(argument);
    if (wrt.empty() && p.differentiate_given) wrt = p.differentiate;
    const int n = p.arg_of_input.empty() ? 0 : *std::max_element(p.arg_of_input.begin(), p.arg_of_input.end()) + 1;
    for (const int a : wrt)
        if (a < 0 || a >= n) throw Error(ErrorCode::NotFound, fmt::format("expected an argument from 0 to {}, found {}", n - 1, a));
    std::vector<bool> chosen;
    for (const int a : p.arg_of_input) chosen.push_back(wrt.empty() || std::find(wrt.begin(), wrt.end(), a) != wrt.end());
    chosen.resize(p.jaxpr->num_invars, wrt.empty());
    return chosen;
}

/// The names of inputs and outputs follow the program where the step says how, and are numbered otherwise.
Program with_jaxpr(const Program& p, JaxprPtr j) {
    Program out = p;
    out.jaxpr = std::move(j);
    out.marked = nullptr;
    out.regions.clear();
    const auto resize = [](std::vector<Sym>& paths, std::size_t n, const char* name) {
        for (std::size_t i = paths.size(); i < n; ++i) paths.emplace_back(fmt::format("{}{}", name, i));
        paths.resize(n);
    };
    resize(out.in_paths, out.jaxpr->num_invars, "in");
    resize(out.out_paths, out.jaxpr->outvars.size(), "out");
    out.arg_of_input.resize(out.jaxpr->num_invars, out.arg_of_input.empty() ? 0 : out.arg_of_input.back() + 1);
    out.donated.assign(out.jaxpr->num_invars, false);
    out.kept.assign(out.jaxpr->num_invars, true);
    out.values.resize(out.jaxpr->num_invars);
    return out;
}

Program differentiate(const Program& p, const std::string& argument, bool with_value) {
    const std::vector<bool> wrt = chosen_inputs(p, argument);
    Program out = with_jaxpr(p, with_value ? value_and_grad(p.jaxpr, wrt, p.has_aux) : grad(p.jaxpr, wrt));
    out.differentiate_given = false;
    out.out_paths = with_value ? p.out_paths : std::vector<Sym>{};
    for (std::size_t i = 0; i < wrt.size(); ++i)
        if (wrt[i]) out.out_paths.emplace_back("grad of " + (i < p.in_paths.size() ? p.in_paths[i].str() : std::to_string(i)));
    out.out_paths.resize(out.jaxpr->outvars.size());
    return out;
}

Program forward_mode(const Program& p, const std::string& argument) {
    const std::vector<bool> wrt = chosen_inputs(p, argument);
    std::vector<bool> nonzero;
    for (std::size_t i = 0; i < wrt.size(); ++i) nonzero.push_back(wrt[i] && is_inexact(p.jaxpr->in_avals()[i]->dtype));
    Program out = with_jaxpr(p, jvp_jaxpr(p.jaxpr, nonzero, true).jaxpr);
    std::size_t k = p.in_paths.size();
    for (std::size_t i = 0; i < nonzero.size(); ++i)
        if (nonzero[i]) out.in_paths[k++] = Sym("tangent of " + p.in_paths[i].str());
    return out;
}

Program linear(const Program& p, const std::string& argument) {
    const std::vector<bool> wrt = chosen_inputs(p, argument);
    JaxprBuilder b;
    Values in;
    for (std::uint32_t i = 0; i < p.jaxpr->num_invars; ++i) in.push_back(b.add_input(p.jaxpr->aval(p.jaxpr->invar(i)), p.in_paths[i]));
    const LinearizedCall call = linearize_call(b, *p.jaxpr, in, wrt, p.jaxpr->outvars.size());
    return with_jaxpr(p, call.linear);
}

Program batched(const Program& p, const std::string& argument) {
    const std::vector<int> axes = numbers(argument);
    const Avals in = p.jaxpr->in_avals();
    std::vector<int> dims(in.size(), 0);
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto arg = static_cast<std::size_t>(i < p.arg_of_input.size() ? p.arg_of_input[i] : 0);
        if (!axes.empty()) dims[i] = arg < axes.size() ? axes[arg] : kNotMapped;
    }
    // The captured shapes are those of one example: the new axis gets a length that no other axis suggests.
    constexpr std::int64_t kExamples = 8;
    return with_jaxpr(p, vmap(p.jaxpr, kExamples, dims, std::vector<int>(p.jaxpr->outvars.size(), 0)));
}

Program without_dead_code(const Program& p, const std::string& argument) {
    const std::vector<int> outs = numbers(argument);
    std::vector<bool> used(p.jaxpr->outvars.size(), outs.empty());
    for (const int o : outs) {
        if (o < 0 || static_cast<std::size_t>(o) >= used.size())
            throw Error(ErrorCode::NotFound,
                        fmt::format("expected an output from 0 to {}, found {}", static_cast<int>(used.size()) - 1, o));
        used[static_cast<std::size_t>(o)] = true;
    }
    Program out = with_jaxpr(p, dce_jaxpr(p.jaxpr, used, true).jaxpr);
    out.donated = p.donated;
    out.out_paths.clear();
    for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i]) out.out_paths.push_back(i < p.out_paths.size() ? p.out_paths[i] : Sym());
    return out;
}

Program checkpointed(const Program& p, const std::string& argument) {
    Program out = with_jaxpr(p, checkpoint(p.jaxpr, parse_policy(argument)));
    out.donated = p.donated;
    out.differentiate_given = p.differentiate_given;
    return out;
}

struct Step {
    const char* name;
    Program (*apply)(const Program&, const std::string& argument);
};
constexpr Step kSteps[] = {
    {"grad", [](const Program& p, const std::string& a) { return differentiate(p, a, false); }},
    {"value_and_grad", [](const Program& p, const std::string& a) { return differentiate(p, a, true); }},
    {"jvp", forward_mode},
    {"linearize", linear},
    {"vmap", batched},
    {"checkpoint", checkpointed},
    {"dce", without_dead_code},
};

}  // namespace

ProgramPtr apply_steps(const Program& program, const std::vector<std::string>& steps) {
    auto current = std::make_shared<Program>(program);
    for (const std::string& text : steps) {
        const std::size_t colon = text.find(':');
        const std::string name = text.substr(0, colon), argument = colon == std::string::npos ? "" : text.substr(colon + 1);
        const auto* step = std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Step& s) { return name == s.name; });
        if (step == std::end(kSteps)) {
            std::string known;
            for (const Step& s : kSteps) known += (known.empty() ? "" : ", ") + std::string(s.name);
            throw Error(ErrorCode::BadUsage, "expected one of the steps " + known + ", found '" + printable(name) + "'");
        }
        try {
            current = std::make_shared<Program>(step->apply(*current, argument));
        } catch (Error& e) {
            e.in("applying " + printable(text));
            throw;
        }
    }
    return current;
}

}  // namespace jaxscope::cli
