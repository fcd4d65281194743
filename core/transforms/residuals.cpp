// SPDX-License-Identifier: Apache-2.0
#include "transforms/residuals.h"

#include <algorithm>
#include <numeric>

#include "transforms/jaxpr_util.h"
#include "transforms/vjp.h"

namespace jaxscope {

namespace {

class Reader {
public:
    Reader(const Jaxpr& j, const ResidualQuery& q, std::size_t num_residuals) : j_(j), q_(q), wanted_(j.num_vars(), false) {
        // reduce_precision isn't counted as the producer: what it rounds is (JAX looks through it as well).
        std::vector<std::uint32_t> through(j.num_vars(), UINT32_MAX);
        for (const Eqn& e : j.eqns)
            if (e.n_out == 1 && e.prim->residual == ResidualLabel::Operand && j.inputs(e)[0].is_var())
                through[e.first_out] = j.inputs(e)[0].var().index;
        for (std::size_t k = j.outvars.size() - num_residuals; k < j.outvars.size(); ++k) {
            const Atom a = j.outvars[k];
            if (a.is_literal()) {
                if (q.literals) literal(a.literal()->aval);
                continue;
            }
            const std::uint32_t v = through[a.var().index] == UINT32_MAX ? a.var().index : through[a.var().index];
            if (q.literals && number(v) && !wanted_[v]) literal(j.aval(Var{v}));
            wanted_[v] = true;
        }
    }

    std::vector<SavedResidual> rows() {
        for (const std::uint32_t i : constants_as_used())
            if (wanted_[i] && !number(i)) constant(i, -1);
        for (std::uint32_t i = 0; i < j_.num_invars; ++i)
            if (wanted_[j_.invar(i).index] && !differentiated(i)) constant(j_.invar(i).index, static_cast<int>(i));
        for (std::uint32_t i = 0; i < j_.num_invars; ++i)
            if (wanted_[j_.invar(i).index] && differentiated(i)) argument(i);
        for (std::size_t i = 0; i < j_.eqns.size(); ++i)
            for (std::uint32_t k = 0; k < j_.eqns[i].n_out; ++k)
                if (wanted_[j_.eqns[i].first_out + k]) computed(i, k);
        return std::move(rows_);
    }

private:
    bool differentiated(std::uint32_t i) const { return q_.wrt.empty() || q_.wrt[i]; }

    /// JAX's trace gets an array when the first equation reads it, the program's own and those that rules hold alike; what none reads, but
    /// the linear part does, comes last.
    std::vector<std::uint32_t> constants_as_used() const {
        std::vector<std::uint32_t> first(j_.num_constvars, UINT32_MAX), order(j_.num_constvars);
        for (std::uint32_t a = 0; a < j_.atoms.size(); ++a)
            if (j_.atoms[a].is_var() && j_.atoms[a].var().index < j_.num_constvars)
                first[j_.atoms[a].var().index] = std::min(first[j_.atoms[a].var().index], a);
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return first[a] < first[b]; });
        return order;
    }

    bool number(std::uint32_t i) const { return i < q_.numbers.size() && q_.numbers[i]; }

    SavedResidual& add(SavedResidual::Kind kind, std::uint32_t var, std::string text) {
        SavedResidual& r = add(kind, j_.aval(Var{var}), std::move(text));
        r.var = Var{var};
        return r;
    }
    SavedResidual& add(SavedResidual::Kind kind, AvalRef aval, std::string text) {
        SavedResidual r;
        r.kind = kind;
        r.aval = aval;
        r.bytes = r.aval->bytes();
        r.text = std::move(text);
        rows_.push_back(std::move(r));
        return rows_.back();
    }
    void literal(AvalRef aval) { add(SavedResidual::Kind::Literal, aval, "from a literal"); }
    void constant(std::uint32_t var, int input) { add(SavedResidual::Kind::Constant, var, "from a constant").input = input; }
    void argument(std::uint32_t i) {
        const std::string& path = i < q_.in_paths.size() ? q_.in_paths[i].str() : Sym().str();
        // The braces are JAX's: its message for arguments without names is no f-string.
        add(SavedResidual::Kind::Argument, j_.invar(i).index,
            path.empty() ? "from the argument at flattened index {i}" : "from the argument " + path)
            .input = static_cast<int>(i);
    }
    void computed(std::size_t i, std::uint32_t k) {
        const Eqn& e = j_.eqns[i];
        auto kind = SavedResidual::Kind::Computed;
        std::string what = "output of " + e.prim->name;
        const Attr* name = e.params->find("name");
        const Sym* text = name ? name->get<Sym>() : nullptr;
        if (e.prim->residual == ResidualLabel::Name && text && !text->empty()) {
            kind = SavedResidual::Kind::Named;
            what = "named '" + text->str() + "'";
        } else if (e.prim->residual == ResidualLabel::Function && text) {
            what = "output of jitted function '" + text->str() + "'";
        }
        SavedResidual& r = add(kind, e.first_out + k, what + " from " + e.source->summary().str());
        r.source = e.source;
        r.eqn = static_cast<int>(i);
        r.output = static_cast<int>(k);
    }

    const Jaxpr& j_;
    const ResidualQuery& q_;
    std::vector<bool> wanted_;
    std::vector<SavedResidual> rows_;
};

}  // namespace

Residuals saved_residuals(const JaxprPtr& j, const ResidualQuery& query) {
    const std::vector<bool> wrt = query.wrt.empty() ? std::vector<bool>(j->num_invars, true) : query.wrt;
    if (wrt.size() != j->num_invars)
        throw Error(ErrorCode::BadUsage,
                    "expected one choice per input (" + std::to_string(j->num_invars) + "), found " + std::to_string(wrt.size()));
    const Linearized v = linearize(j, wrt, query.num_outputs, query.literals);
    Residuals out;
    out.rows = Reader(*v.forward, query, v.num_residuals).rows();
    for (const SavedResidual& r : out.rows) out.total_bytes += r.bytes;
    out.forward = v.forward;
    out.linear = v.linear;
    return out;
}

std::vector<SavedResidual> residual_rows(const JaxprPtr& forward, std::size_t num_residuals, const ResidualQuery& query) {
    return Reader(*forward, query, num_residuals).rows();
}

std::string to_text(const Residuals& residuals) {
    std::string out;
    for (const SavedResidual& r : residuals.rows) out += to_text(r.aval) + " " + r.text + "\n";
    return out;
}

}  // namespace jaxscope
