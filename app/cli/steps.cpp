// SPDX-License-Identifier: Apache-2.0
#include "app/cli/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/sharding/distribution.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"
#include "calls/families.h"
#include "calls/remat/remat.h"
#include "calls/simplify.h"
#include "io/text/values.h"
#include "ir/builder.h"
#include "ir/primitive.h"
#include "ir/types/type_mesh.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jvp.h"
#include "transforms/policies.h"
#include "transforms/vjp.h"

namespace jaxscope::cli {

namespace {

constexpr std::int64_t kExamples = 8;  ///< of vmap, where `@N` doesn't say it: no axis of a captured shape suggests it

std::vector<int> numbers(const std::string& text) { return trim(text).empty() ? std::vector<int>{} : parse_numbers(text, "the step"); }

int argument_count(const Program& p) {
    return p.arg_of_input.empty() ? 0 : *std::max_element(p.arg_of_input.begin(), p.arg_of_input.end()) + 1;
}

/// Inputs that belong to the given arguments; none given: those that the capture differentiates, else all.
std::vector<bool> chosen_inputs(const Program& p, const std::string& argument) {
    std::vector<int> wrt = numbers(argument);
    if (wrt.empty() && p.differentiate_given) wrt = p.differentiate;
    const int n = argument_count(p);
    for (const int a : wrt)
        if (a < 0 || a >= n) throw Error(ErrorCode::NotFound, fmt::format("expected an argument from 0 to {}, found {}", n - 1, a));
    std::vector<bool> chosen;
    for (const int a : p.arg_of_input) chosen.push_back(wrt.empty() || std::find(wrt.begin(), wrt.end(), a) != wrt.end());
    chosen.resize(p.jaxpr->num_invars, wrt.empty());
    return chosen;
}

/// The program with another jaxpr of the same inputs and outputs.
Program with_body(const Program& p, JaxprPtr j) {
    Program out = p;
    out.jaxpr = std::move(j);
    out.marked = nullptr;
    out.regions.clear();
    out.xla = {};  // compilers spoke of another program
    out.targets.clear();
    return out;
}

/// Signature of a program whose inputs and outputs are others: filled input by input.
class Signature {
public:
    Signature(const Program& p, JaxprPtr j) : from_(p), out_(with_body(p, std::move(j))) {
        out_.in_paths.clear();
        out_.out_paths.clear();
        out_.arg_of_input.clear();
        out_.arg_names.clear();
        out_.values.clear();
        out_.donated.clear();
        out_.kept.clear();
        out_.same_arrays.clear();  // by numbers of the old inputs
        out_.in_shardings.clear();
        out_.differentiate.clear();
        out_.differentiate_given = out_.has_aux = false;
    }
    /// Input `i` of the old program as it is, or (`value` false) of another shape.
    void keep(std::size_t i, bool value = true) {
        add(from_.in_paths[i], from_.arg_of_input[i], value && i < from_.values.size() ? from_.values[i] : nullptr);
        if (i < from_.donated.size()) out_.donated.back() = from_.donated[i] && value;
        if (i < from_.kept.size()) out_.kept.back() = from_.kept[i];
        if (i >= from_.in_shardings.size()) return;
        out_.in_shardings.resize(out_.in_paths.size());
        out_.in_shardings.back() = from_.in_shardings[i];
    }
    void add(Sym path, int argument, ArrayPtr value = nullptr) {
        out_.in_paths.push_back(path);
        out_.arg_of_input.push_back(argument);
        out_.values.push_back(std::move(value));
        out_.donated.push_back(false);
        out_.kept.push_back(true);
    }
    void output(const std::string& path) { out_.out_paths.emplace_back(path); }
    /// The outputs of the old program below `prefix`.
    void outputs(const std::string& prefix) {
        for (const Sym path : from_.out_paths) output(prefix + path.str());
    }
    Program finish() && {
        if (!out_.in_shardings.empty()) out_.in_shardings.resize(out_.in_paths.size());
        JAXSCOPE_ASSERT(out_.in_paths.size() == out_.jaxpr->num_invars && out_.out_paths.size() == out_.jaxpr->outvars.size());
        return std::move(out_);
    }

private:
    const Program& from_;
    Program out_;
};

/// The arguments whose gradients are wanted, in the order in which they were asked for, else in theirs.
std::vector<int> asked_arguments(const Program& p, const std::vector<bool>& wrt, const std::string& argument) {
    std::vector<int> asked = numbers(argument);
    if (asked.empty() && p.differentiate_given) asked = p.differentiate;
    for (std::size_t i = 0; i < asked.size(); ++i)
        if (std::find(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(i), asked[i]) !=
            asked.begin() + static_cast<std::ptrdiff_t>(i))
            throw Error(ErrorCode::BadUsage, fmt::format("expected each argument once, found {} again", asked[i]));
    if (!asked.empty()) return asked;
    for (std::size_t i = 0; i < wrt.size(); ++i)
        if (wrt[i] && (asked.empty() || asked.back() != p.arg_of_input[i])) asked.push_back(p.arg_of_input[i]);
    return asked;
}

/// Inputs whose gradients are results, in the order of those.
std::vector<std::size_t> gradients_in_order(const Program& p, const std::vector<bool>& wrt, const std::vector<int>& asked) {
    std::vector<std::size_t> out;
    for (const int a : asked)
        for (std::size_t i = 0; i < wrt.size(); ++i)
            if (wrt[i] && p.arg_of_input[i] == a) out.push_back(i);
    return out;
}

/// `j` with the gradients among its results, which stand from `first` on in the order of the inputs, in that of `wanted`.
JaxprPtr with_gradients(const JaxprPtr& j, std::size_t first, const std::vector<bool>& wrt, const std::vector<std::size_t>& wanted) {
    std::vector<std::size_t> position(wrt.size());
    std::size_t n = 0;
    for (std::size_t i = 0; i < wrt.size(); ++i)
        if (wrt[i]) position[i] = first + n++;
    const auto at = [&](std::size_t k) { return j->outvars.begin() + static_cast<std::ptrdiff_t>(k); };
    std::vector<Atom> outs(j->outvars.begin(), at(first));
    for (const std::size_t i : wanted) outs.push_back(j->outvars[position[i]]);
    outs.insert(outs.end(), at(first + n), j->outvars.end());
    if (outs == j->outvars) return j;
    auto out = std::make_shared<Jaxpr>(*j);
    out->outvars = std::move(outs);
    return out;
}

/// Where the gradients stand in the result of jax.grad: the argument's own tree, or a tuple of those where there are several.
void gradient_paths(Signature& s, const Program& p, const std::vector<bool>& wrt, const std::vector<int>& asked,
                    const std::string& prefix) {
    for (std::size_t k = 0; k < asked.size(); ++k)
        for (std::size_t i = 0; i < wrt.size(); ++i) {
            if (!wrt[i] || p.arg_of_input[i] != asked[k]) continue;
            const std::string& path = p.in_paths[i].str();
            const std::size_t name = std::min(path.find_first_of("[."), path.size());
            s.output(prefix + (asked.size() > 1 ? fmt::format("[{}]", k) : "") + path.substr(name));
        }
}

Program differentiate(const Program& p, const std::string& argument, bool with_value) {
    const std::vector<bool> wrt = chosen_inputs(p, argument);
    const std::vector<int> asked = asked_arguments(p, wrt, argument);
    const JaxprPtr made = with_value ? value_and_grad(p.jaxpr, wrt, p.has_aux) : grad(p.jaxpr, wrt, p.has_aux);
    Signature s(p, with_gradients(made, with_value ? p.jaxpr->outvars.size() : 0, wrt, gradients_in_order(p, wrt, asked)));
    for (std::size_t i = 0; i < wrt.size(); ++i) s.keep(i);
    if (with_value) s.outputs("[0]");
    gradient_paths(s, p, wrt, asked, with_value ? "[1]" : p.has_aux ? "[0]" : "");
    if (!with_value && p.has_aux)
        for (std::size_t k = 1; k < p.out_paths.size(); ++k) s.output(p.out_paths[k].str());
    return std::move(s).finish();
}

/// Tangents of the arguments come behind the arguments, in their order.
void add_tangents_of(Signature& s, const Program& p, const std::vector<bool>& which, int first_argument) {
    int argument = first_argument - 1, last = -1;
    for (std::size_t i = 0; i < which.size(); ++i) {
        if (!which[i]) continue;
        if (p.arg_of_input[i] != last) ++argument;
        last = p.arg_of_input[i];
        s.add(Sym("tangent of " + p.in_paths[i].str()), argument);
    }
}

Program forward_mode(const Program& p, const std::string& argument) {
    std::vector<bool> nonzero = chosen_inputs(p, argument);
    for (std::size_t i = 0; i < nonzero.size(); ++i) nonzero[i] = nonzero[i] && is_inexact(p.jaxpr->in_avals()[i]->dtype);
    Signature s(p, jvp(p.jaxpr, nonzero).jaxpr);
    for (std::size_t i = 0; i < nonzero.size(); ++i) s.keep(i);
    add_tangents_of(s, p, nonzero, argument_count(p));
    s.outputs("[0]");
    s.outputs("[1]");
    return std::move(s).finish();
}

/// The linear function that jax.linearize gives: its residuals first, which JAX closes over.
Program linear(const Program& p, const std::string& argument) {
    const Linearized found = linearize(p.jaxpr, chosen_inputs(p, argument), p.has_aux ? 1 : p.jaxpr->outvars.size());
    Signature s(p, found.linear);
    for (std::size_t r = 0; r < found.num_residuals; ++r) s.add(Sym(fmt::format("residuals[{}]", r)), 0);
    add_tangents_of(s, p, found.wrt, found.num_residuals > 0 ? 1 : 0);
    for (std::size_t k = 0; k < found.nonzero_out.size(); ++k)
        if (found.nonzero_out[k]) s.output(p.out_paths[k].str());
    return std::move(s).finish();
}

/// `AXES@N`: one axis for all arguments or one per argument, `-` or `None` where it has none; N examples.
struct Mapping {
    std::vector<std::string> axes;
    std::int64_t size = kExamples;
};
Mapping parse_mapping(const std::string& text, int arguments) {
    Mapping m;
    const std::size_t at = text.find('@');
    if (at != std::string::npos) {
        const std::string_view n = trim(std::string_view(text).substr(at + 1));
        const auto [end, error] = std::from_chars(n.data(), n.data() + n.size(), m.size);
        if (error != std::errc() || end != n.data() + n.size() || m.size < 0)
            throw Error(ErrorCode::BadUsage, "expected a number of examples behind '@', found '" + printable(n) + "'");
    }
    const std::string axes(trim(std::string_view(text).substr(0, at)));
    m.axes = split(axes.empty() ? "0" : axes, ',');
    if (m.axes.size() == 1) m.axes.resize(static_cast<std::size_t>(std::max(arguments, 1)), m.axes.front());
    if (static_cast<int>(m.axes.size()) != arguments)
        throw Error(ErrorCode::BadUsage,
                    fmt::format("expected one axis for all arguments or {}, one each, found {}", arguments, m.axes.size()));
    return m;
}

/// The axis of an argument of rank `rank`; negative ones count from the end of the batched shape, as in JAX.
int batch_axis(const std::string& text, int rank) {
    const std::string_view t = trim(text);
    if (t == "-" || t == "None" || t == "none") return kNotMapped;
    const int axis = parse_numbers(t, "vmap").front();
    if (axis < -(rank + 1) || axis > rank)
        throw Error(ErrorCode::BadUsage, fmt::format("expected a batch axis from {} to {}, found {}", -(rank + 1), rank, axis));
    return axis < 0 ? axis + rank + 1 : axis;
}

Program batched(const Program& p, const std::string& argument) {
    const Mapping m = parse_mapping(argument, argument_count(p));
    const Avals in = p.jaxpr->in_avals();
    std::vector<int> dims;
    for (std::size_t i = 0; i < in.size(); ++i)
        dims.push_back(batch_axis(m.axes[static_cast<std::size_t>(p.arg_of_input[i])], static_cast<int>(in[i]->rank())));
    if (std::all_of(dims.begin(), dims.end(), [](int d) { return d == kNotMapped; }))
        throw Error(ErrorCode::BadUsage, "vmap must have at least one non-None value in in_axes");
    Signature s(p, vmap(p.jaxpr, m.size, dims, std::vector<int>(p.jaxpr->outvars.size(), 0)));
    for (std::size_t i = 0; i < dims.size(); ++i) s.keep(i, dims[i] == kNotMapped);
    s.outputs("");
    return std::move(s).finish();
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
    Program out = with_body(p, dce_jaxpr(p.jaxpr, used, true).jaxpr);
    out.out_paths.clear();
    for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i]) out.out_paths.push_back(p.out_paths[i]);
    return out;
}

Program checkpointed(const Program& p, const std::string& argument) { return with_body(p, checkpoint(p.jaxpr, parse_policy(argument))); }

void expect_nothing(const std::string& argument) {
    if (!argument.empty()) throw Error(ErrorCode::BadUsage, "expected no argument of the step, found '" + printable(argument) + "'");
}

/// One jit equation around everything, with the program's own donation.
Program jitted(const Program& p, const std::string& argument) {
    expect_nothing(argument);
    const JaxprPtr& j = p.jaxpr;
    JaxprBuilder b;
    Values in;
    for (std::uint32_t i = 0; i < j->num_invars; ++i)
        in.push_back(b.add_input(j->aval(j->invar(i)), j->arg_names.empty() ? Sym() : j->arg_names[i]));
    std::vector<Params::Entry> params{{Sym("jaxpr"), Attr(Attr::JaxprRef{j, true})},
                                      {Sym("name"), Attr(p.name.empty() ? Sym("f") : p.name)},
                                      {Sym("donated_invars"), to_attr(p.donated)}};
    if (p.donated.size() != j->num_invars) params.pop_back();
    params = with_hidden_params(kJit, std::move(params), j->in_avals(), j->out_avals());
    const Values out = b.emit(kJit, in, Params::make(std::move(params)), j->out_avals(), j->effects);
    return with_body(p, b.finish(out, p.name));
}

Program simplified(const Program& p, const std::string& argument) {
    expect_nothing(argument);
    return with_body(p, simplify(p.jaxpr));
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
    {"jit", jitted},
    {"simplify", simplified},
};

/// Inputs and outputs of pasted text may have no names.
void name_everything(Program& p) {
    for (std::size_t i = p.in_paths.size(); i < p.jaxpr->num_invars; ++i) p.in_paths.emplace_back(fmt::format("arg{}", i));
    for (std::size_t i = p.arg_of_input.size(); i < p.jaxpr->num_invars; ++i) p.arg_of_input.push_back(argument_count(p));
    for (std::size_t i = p.out_paths.size(); i < p.jaxpr->outvars.size(); ++i) p.out_paths.emplace_back(fmt::format("[{}]", i));
}

}  // namespace

const char* step_help() {
    return "rewrite the program, step by step: grad[:ARG,..] value_and_grad[:ARG,..] jvp[:ARG,..] linearize[:ARG,..] vmap[:AXES][@N] "
           "checkpoint[:POLICY] dce[:OUT,..] jit simplify. AXES: one axis for all arguments or one each, - for none (vmap:0,-@32: the "
           "first argument has an axis of 32 examples in front; 8 without @N)";
}

ProgramPtr apply_steps(const Program& program, const std::vector<std::string>& steps) {
    const Attr mesh = type_mesh(program);
    const TypeMeshScope scope(mesh);
    auto current = std::make_shared<Program>(program);
    name_everything(*current);
    for (const std::string& text : steps) {
        const std::size_t colon = text.find_first_of(":@");  // vmap@16: the axes left out
        const std::string name(trim(text.substr(0, colon)));
        const std::string argument = colon == std::string::npos ? "" : text.substr(text[colon] == ':' ? colon + 1 : colon);
        const auto* step = std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Step& s) { return name == s.name; });
        if (step == std::end(kSteps)) {
            std::string known;
            std::vector<std::string_view> names;
            for (const Step& s : kSteps) {
                known += (known.empty() ? "" : ", ") + std::string(s.name);
                names.emplace_back(s.name);
            }
            throw unknown_name(ErrorCode::BadUsage, "expected one of the steps " + known, name, names);
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
