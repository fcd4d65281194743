// SPDX-License-Identifier: Apache-2.0
#include "analysis/naming/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/equations/cost.h"
#include "base/cancel.h"
#include "calls/families.h"
#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/types/dtype.h"
#include "lax/primitives.h"

namespace jaxscope {

namespace {

using Key = std::tuple<std::string, const Primitive*, std::uint32_t>;  ///< place, primitive, aval

/// Calls whose bodies policies see through; the values inside are what can be named.
bool is_entered(const Eqn& e) { return e.prim->flow == Flow::Call || e.prim->flow == Flow::Remat || e.prim->flow == Flow::Scan; }

/// Values that Python can give a name to: what an expression of the user's ends with. What stands inside of a library's function (the
/// maximum in a softmax) is read at the place of the call alone.
class Nameable {
public:
    explicit Nameable(const Jaxpr& j) : j_(j), leaves_(j.num_vars(), false) {
        std::vector<std::uint32_t> place(j.num_vars(), 0);
        for (const Eqn& e : j.eqns) {
            const std::uint32_t here = e.source->traceback.id();
            for (const Atom& a : j.inputs(e))
                if (a.is_var() && (here == 0 || place[a.var().index] != here)) leaves_[a.var().index] = true;
            for (std::uint32_t k = 0; k < e.n_out; ++k) place[e.first_out + k] = here;
        }
        for (const Atom& a : j.outvars)
            if (a.is_var()) leaves_[a.var().index] = true;
    }
    bool operator()(const Eqn& e) const {
        if (e.n_out != 1 || is_entered(e) || !leaves_[e.first_out]) return false;
        const AvalRef a = j_.aval(j_.output(e, 0));
        return a->is_array() && a->rank() > 0 && is_inexact(a->dtype);
    }

private:
    const Jaxpr& j_;
    std::vector<bool> leaves_;
};

class Namer {
public:
    Namer(std::size_t most, const std::function<bool(const SaveCandidate&)>& wanted) : most_(most), wanted_(wanted) {}

    /// Counts what stands in checkpoints; `times`: how often this jaxpr runs.
    void count(const Jaxpr& j, bool inside, std::int64_t times) {
        check_cancelled();
        const Nameable nameable(j);
        for (const Eqn& e : j.eqns) {
            if (is_entered(e))
                for (const JaxprPtr& body : e.params->jaxprs()) count(*body, inside || e.prim->flow == Flow::Remat, times * repetitions(e));
            if (inside && nameable(e)) note(j, e, times);
        }
    }
    std::vector<SaveCandidate> chosen() {
        std::vector<std::pair<Key, SaveCandidate>> all(found_.begin(), found_.end());
        // What comes from no line can't be named in Python (libraries that hide their frames); a program without any line is text.
        const auto lineless = [](const auto& c) { return !c.second.has_name && c.second.frame.line == 0; };
        if (!std::all_of(all.begin(), all.end(), lineless)) std::erase_if(all, lineless);
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
            const auto density = [](const SaveCandidate& c) { return c.flops / static_cast<double>(std::max<std::int64_t>(c.bytes, 1)); };
            return std::tuple(!a.second.has_name, -density(a.second)) < std::tuple(!b.second.has_name, -density(b.second));
        });
        if (all.size() > most_) all.resize(most_);
        std::vector<SaveCandidate> out;
        std::set<std::string> taken;
        for (auto& [key, c] : all) {
            if (!c.has_name) {
                const std::string base = c.name;
                for (int n = 2; taken.contains(c.name); ++n) c.name = fmt::format("{}_{}", base, n);
            }
            taken.insert(c.name);
            if (wanted_ && !wanted_(c)) continue;
            if (!c.has_name) names_[key] = Sym(c.name);
            out.push_back(std::move(c));
        }
        return out;
    }
    JaxprPtr named(const JaxprPtr& j, bool inside) {
        JaxprPtr& done = done_[{j.get(), inside}];
        if (done) return done;
        JaxprBuilder b;
        const Values in = b.add_signature(*j);
        const Nameable nameable(*j);
        Interpreter run(*j, {.builder = &b}, LiteralAsValue(), Value());
        run.bind_all(in);
        const Values out =
            run.forward([&](const Eqn& e, const Values& operands) { return apply(b, *j, e, operands, inside, nameable(e)); });
        return done = b.finish(out, j->name);
    }

private:
    static Key key_of(const Jaxpr& j, const Eqn& e) { return {e.source->summary().str(), e.prim, j.aval(j.output(e, 0)).id()}; }
    void note(const Jaxpr& j, const Eqn& e, std::int64_t times) {
        const std::optional<Sym> given = given_name(*e.prim, e.params);
        const AvalRef aval = j.aval(j.output(e, 0));
        // Values of one name are one choice, whichever lines give it.
        const Key key = given ? Key{given->str(), e.prim, 0} : key_of(j, e);
        SaveCandidate& c = found_[key];
        if (c.count == 0) {
            const SourceLoc loc = e.source.loc();
            const Frame* frame = e.source.user_frame();
            c.has_name = given.has_value();
            c.name = given ? given->str() : fmt::format("{}_{}", frame ? frame->function.str() : std::string("value"), loc.line);
            c.primitive = e.prim->name.c_str();
            c.aval = to_text(aval);
            c.source = e.source->summary().str();
            c.loc = loc;
            if (frame) c.frame = *frame;
        }
        c.count += times;
        c.bytes += aval->bytes() * times;
        c.flops += given ? 0 : cost_of(j, e).flops * static_cast<double>(times);
    }
    Values apply(JaxprBuilder& b, const Jaxpr& j, const Eqn& e, const Values& in, bool inside, bool nameable) {
        if (is_entered(e)) {
            const bool now = inside || e.prim->flow == Flow::Remat;
            Eqn changed = e;
            changed.params = map_jaxprs(e.params, [&](const JaxprPtr& body) { return named(body, now); });
            return b.copy(j, changed, in);
        }
        Values out = b.copy(j, e, in);
        if (!inside || !nameable) return out;
        if (const auto it = names_.find(key_of(j, e)); it != names_.end())
            out[0] = b.append(kName, {out[0]}, Params::make({{Sym("name"), Attr(it->second)}}), {j.aval(j.output(e, 0))})[0];
        return out;
    }

    std::size_t most_;
    const std::function<bool(const SaveCandidate&)>& wanted_;
    std::map<Key, SaveCandidate> found_;
    std::map<Key, Sym> names_;
    std::map<std::pair<const Jaxpr*, bool>, JaxprPtr> done_;
};

}  // namespace

NamedFunction name_candidates(const JaxprPtr& function, std::size_t most, const std::function<bool(const SaveCandidate&)>& wanted) {
    Namer namer(most, wanted);
    namer.count(*function, false, 1);
    NamedFunction out;
    out.candidates = namer.chosen();
    out.jaxpr = namer.named(function, false);
    return out;
}

}  // namespace jaxscope
