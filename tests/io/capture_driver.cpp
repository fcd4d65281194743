// Reads many captures in one process and says of each, as one line of JSON, what the tests in Python compare with JAX:
//   capture_driver [--lies] < LIST_OF_FILES
// `text`       what `jaxscope print` prints
// `again`      null, or what the text reads back as where that isn't the text itself
// `accepted`   (--lies) result types that an equation doesn't have and that the type checker takes all the same
// `opaque`     primitives without a rule for their result types
// `error`      in place of all that, where the file is refused
#include <algorithm>
#include <iostream>
#include <set>

#include <nlohmann/json.hpp>

#include "io/load_program.h"
#include "io/text/parser.h"
#include "ir/primitive.h"
#include "ir/print/printer.h"
#include "ir/registry.h"
#include "ir/type_check.h"

namespace {

using namespace jaxscope;

/// Types near `a` that differ from it.
Avals lies_about(AvalRef a) {
    Avals out;
    if (!a->is_array()) return out;
    const auto with = [&](auto change) {
        Aval lie = *a;
        change(lie);
        if (lie.dtype != a->dtype || lie.shape != a->shape) out.emplace_back(lie);
    };
    with([](Aval& l) { l.shape.push_back(1); });
    for (std::size_t d = 0; d < a->shape.size(); ++d) {
        with([&](Aval& l) { l.shape[d] += 1; });
        with([&](Aval& l) { l.shape[d] = std::max<std::int64_t>(l.shape[d] - 1, 0); });
    }
    with([](Aval& l) { l.dtype = l.dtype == DType::F32 ? DType::S32 : DType::F32; });
    with([](Aval& l) { l.dtype = l.dtype == DType::Bool ? DType::U8 : DType::Bool; });
    return out;
}

/// One equation of `j` as a jaxpr of its own.
std::shared_ptr<Jaxpr> alone(const Jaxpr& j, const Eqn& e) {
    auto one = std::make_shared<Jaxpr>();
    Eqn copy = e;
    copy.in_begin = 0;
    for (const Atom a : j.inputs(e)) one->atoms.push_back(a.is_literal() ? a : Atom(one->add_var(j.aval(a))));
    one->num_invars = copy.first_out = one->num_vars();
    for (std::uint32_t k = 0; k < e.n_out; ++k) one->add_var(j.aval(j.output(e, k)));
    one->eqns.push_back(std::move(copy));
    return one;
}

bool accepted(const Jaxpr& j) {
    try {
        check_jaxpr(j);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// The equation with its `k`-th result called `lie`.
bool takes(const Jaxpr& one, std::uint32_t k, AvalRef lie) {
    Jaxpr lying;
    lying.num_invars = one.num_invars;
    lying.atoms = one.atoms;
    lying.eqns = one.eqns;
    for (std::uint32_t v = 0; v < one.num_vars(); ++v) lying.add_var(v == one.eqns[0].first_out + k ? lie : one.aval(Var{v}));
    return accepted(lying);
}

void look_for_lies(const Jaxpr& root, nlohmann::json& out) {
    std::set<std::string> taken, opaque;
    for (const Jaxpr* j : all_jaxprs(root))
        for (const Eqn& e : j->eqns) {
            if (!e.prim->abstract_eval) {
                opaque.insert(e.prim->name.c_str());
                continue;
            }
            const auto one = alone(*j, e);
            if (!accepted(*one)) taken.insert(std::string(e.prim->name.c_str()) + ": refused as it is");
            for (std::uint32_t k = 0; k < e.n_out; ++k)
                for (const AvalRef lie : lies_about(j->aval(j->output(e, k))))
                    if (takes(*one, k, lie))
                        taken.insert(std::string(e.prim->name.c_str()) + ": " + to_text(lie) + " for " + to_text(j->aval(j->output(e, k))));
        }
    out["accepted"] = taken;
    out["opaque"] = opaque;
}

nlohmann::json look_at(const std::string& file, bool lies) {
    nlohmann::json out;
    out["file"] = file;
    try {
        const ProgramPtr program = load_program(file);
        const std::string text = to_text(*program->jaxpr);
        out["text"] = text;
        const ProgramPtr again = read_jaxpr_text(text, "printed");
        const std::string twice = to_text(*again->jaxpr);
        out["again"] = twice == text ? nlohmann::json() : nlohmann::json(twice);
        if (lies) look_for_lies(*program->jaxpr, out);
    } catch (const Error& e) {
        out["error"] = full_text(e);
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    const bool lies = argc > 1 && std::string(argv[1]) == "--lies";
    register_all_primitives();
    for (std::string file; std::getline(std::cin, file);)
        std::cout << look_at(file, lies).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return 0;
}
