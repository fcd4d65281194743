// SPDX-License-Identifier: Apache-2.0
#include "analysis/equations/eqn_path.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/error.h"
#include "ir/primitive.h"

namespace jaxscope {

std::string to_text(const JaxprPath& path) {
    std::string text;
    for (const auto& step : path.steps) {
        if (!text.empty()) text += '/';
        text += std::to_string(step.eqn) + '/' + step.param.str();
        if (step.index > 0) text += '[' + std::to_string(step.index) + ']';
    }
    return text;
}

std::string to_text(const EqnPath& path) {
    const std::string prefix = to_text(path.jaxpr);
    return (prefix.empty() ? "" : prefix + '/') + std::to_string(path.eqn);
}

namespace {

std::uint32_t parse_number(std::string_view text, std::string_view whole) {
    std::uint32_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || text.empty())
        throw Error(ErrorCode::BadInput, "expected an equation like '12/jaxpr/5', found '" + printable(whole) + "'");
    return value;
}

}  // namespace

EqnPath parse_eqn_path(std::string_view text) {
    EqnPath path;
    std::string_view rest = text;
    const auto next = [&] {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::string_view part = rest.substr(0, slash);
        rest.remove_prefix(std::min(slash + 1, rest.size()));
        return part;
    };
    path.eqn = parse_number(next(), text);
    while (!rest.empty()) {
        std::string_view param = next();
        if (param.empty() || rest.empty() || rest.back() == '/') parse_number({}, text);
        JaxprPath::Step step{path.eqn, {}, 0};
        if (const std::size_t open = param.find('['); open != std::string_view::npos && param.back() == ']') {
            step.index = parse_number(param.substr(open + 1, param.size() - open - 2), text);
            param = param.substr(0, open);
        }
        step.param = Sym(param);
        path.jaxpr.steps.push_back(step);
        path.eqn = parse_number(next(), text);
    }
    return path;
}

std::vector<SubJaxpr> sub_jaxprs(const Eqn& eqn) {
    std::vector<SubJaxpr> found;
    if (!eqn.params->holds_jaxpr()) return found;
    for (const auto& [name, value] : eqn.params->entries()) {
        std::vector<JaxprPtr> here;
        value.collect_jaxprs(here);
        for (std::uint32_t k = 0; k < here.size(); ++k) found.push_back({here[k], name, k, here.size() == 1});
    }
    return found;
}

const Jaxpr& resolve(const Jaxpr& root, const JaxprPath& path) {
    const Jaxpr* at = &root;
    for (const auto& step : path.steps) {
        const Jaxpr* inner = nullptr;
        if (step.eqn < at->eqns.size())
            for (const SubJaxpr& sub : sub_jaxprs(at->eqns[step.eqn]))
                if (sub.param == step.param && sub.index == step.index) inner = sub.jaxpr.get();  // kept alive by the root
        if (inner == nullptr) throw Error(ErrorCode::NotFound, "expected a jaxpr at '" + to_text(path) + "', found none");
        at = inner;
    }
    return *at;
}

const Eqn& resolve(const Jaxpr& root, const EqnPath& path) {
    const Jaxpr& jaxpr = resolve(root, path.jaxpr);
    if (path.eqn >= jaxpr.eqns.size())
        throw Error(ErrorCode::NotFound,
                    "expected an equation at '" + to_text(path) + "', found " + std::to_string(jaxpr.eqns.size()) + " equations there");
    return jaxpr.eqns[path.eqn];
}

namespace {

/// The first equation that `wanted` names in a jaxpr, each jaxpr looked at once; `path` leads to the jaxpr where it is found.
template <class Wanted>
std::optional<EqnPath> first_below(const Jaxpr& j, JaxprPath& path, std::unordered_set<const Jaxpr*>& seen, const Wanted& wanted) {
    if (!seen.insert(&j).second) return {};
    if (const std::optional<std::uint32_t> eqn = wanted(j)) return EqnPath{path, *eqn};
    for (std::size_t i = 0; i < j.eqns.size(); ++i)
        for (const SubJaxpr& sub : sub_jaxprs(j.eqns[i])) {
            path.steps.push_back({static_cast<std::uint32_t>(i), sub.param, sub.index});
            if (auto found = first_below(*sub.jaxpr, path, seen, wanted)) return found;
            path.steps.pop_back();
        }
    return {};
}
template <class Wanted>
std::optional<EqnPath> first_below(const Jaxpr& root, const Wanted& wanted) {
    JaxprPath path;
    std::unordered_set<const Jaxpr*> seen;
    return first_below(root, path, seen, wanted);
}

}  // namespace

std::optional<EqnPath> path_of(const Jaxpr& root, const Jaxpr& jaxpr, std::uint32_t eqn) {
    return first_below(root, [&](const Jaxpr& j) { return &j == &jaxpr ? std::optional(eqn) : std::nullopt; });
}

std::optional<EqnPath> traced_at(const Jaxpr& root, TracebackRef place) {
    if (place == TracebackRef()) return {};
    return first_below(root, [&](const Jaxpr& j) -> std::optional<std::uint32_t> {
        const auto at = std::find_if(j.eqns.begin(), j.eqns.end(), [&](const Eqn& e) { return e.source->traceback == place; });
        return at == j.eqns.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(at - j.eqns.begin()));
    });
}

/// By an equation, and neither a constant nor an input.
static bool is_made(const Jaxpr& jaxpr, const Atom& a) {
    return !a.is_literal() && a.var().index >= jaxpr.num_constvars + jaxpr.num_invars;
}

static std::uint32_t maker_before(const Jaxpr& jaxpr, std::uint32_t eqn, Var var) {
    const auto after = std::upper_bound(jaxpr.eqns.begin(), jaxpr.eqns.begin() + eqn, var.index,
                                        [](std::uint32_t index, const Eqn& other) { return index < other.first_out; });
    return static_cast<std::uint32_t>(after - jaxpr.eqns.begin()) - 1;
}

std::optional<std::uint32_t> made_by(const Jaxpr& jaxpr, std::uint32_t eqn, std::size_t operand) {
    const auto inputs = jaxpr.inputs(jaxpr.eqns[eqn]);
    if (operand >= inputs.size() || !is_made(jaxpr, inputs[operand])) return {};
    return maker_before(jaxpr, eqn, inputs[operand].var());
}

std::optional<std::uint32_t> in_place_of(const Jaxpr& jaxpr, std::uint32_t eqn) {
    const Eqn& e = jaxpr.eqns[eqn];
    for (const Atom a : jaxpr.inputs(e)) {
        if (!is_made(jaxpr, a)) continue;
        if (e.n_out != 1 || jaxpr.aval(a) != jaxpr.aval(jaxpr.output(e, 0))) continue;
        return maker_before(jaxpr, eqn, a.var());
    }
    return {};
}

std::optional<std::uint32_t> moved_by(const Jaxpr& jaxpr, std::uint32_t eqn) {
    const Eqn& e = jaxpr.eqns[eqn];
    const auto inputs = jaxpr.inputs(e);
    if (e.n_out != 1 || inputs.size() != 1 || !is_made(jaxpr, inputs[0])) return {};
    const AvalRef from = jaxpr.aval(inputs[0]), to = jaxpr.aval(jaxpr.output(e, 0));
    if (from->space == to->space || from->shape != to->shape || from->dtype != to->dtype) return {};
    return maker_before(jaxpr, eqn, inputs[0].var());
}
std::optional<std::uint32_t> renamed_by(const Jaxpr& jaxpr, std::uint32_t eqn) {
    const ResidualLabel label = jaxpr.eqns[eqn].prim->residual;
    return label == ResidualLabel::Name || label == ResidualLabel::Operand ? in_place_of(jaxpr, eqn) : std::nullopt;
}

namespace {

struct Made {
    const Jaxpr* jaxpr;
    std::uint32_t eqn, output;
};

/// The equation in the body of a call that makes its result; nothing where the body passes something on.
std::optional<Made> inside(const Made& at) {
    const Eqn& e = at.jaxpr->eqns[at.eqn];
    if (!e.params->holds_jaxpr()) return {};
    const std::vector<SubJaxpr> subs = sub_jaxprs(e);
    if (subs.size() != 1 || subs[0].jaxpr->outvars.size() != e.n_out) return {};
    const Jaxpr& body = *subs[0].jaxpr;
    const Atom a = body.outvars[at.output];
    if (a.is_literal() || a.var().index < body.num_constvars + body.num_invars) return {};
    const auto after = std::upper_bound(body.eqns.begin(), body.eqns.end(), a.var().index,
                                        [](std::uint32_t var, const Eqn& other) { return var < other.first_out; });
    const auto maker = static_cast<std::uint32_t>(after - body.eqns.begin()) - 1;
    return Made{&body, maker, a.var().index - body.eqns[maker].first_out};
}

}  // namespace

std::string maker_of(const Jaxpr& jaxpr, std::uint32_t eqn, std::uint32_t output) {
    constexpr int kMost = 300;  // as deep as jaxprs nest
    Made at{&jaxpr, eqn, output};
    for (int step = 0; step < kMost; ++step) {
        if (const std::optional<Made> inner = inside(at))
            at = *inner;
        else if (const std::optional<std::uint32_t> before = renamed_by(*at.jaxpr, at.eqn))
            at = {at.jaxpr, *before, 0};
        else
            break;
    }
    const Eqn& e = at.jaxpr->eqns[at.eqn];
    return std::string(e.prim->name.c_str()) + " " + e.source->summary().str() + " " +
           to_text(at.jaxpr->aval(at.jaxpr->output(e, at.output)));
}

}  // namespace jaxscope
