// SPDX-License-Identifier: Apache-2.0
#include "ir/print/printer.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <unordered_set>

#include "base/cancel.h"
#include "ir/primitive.h"
#include "ir/print/attr_text.h"
#include "ir/print/print_layout.h"
#include "ir/print/print_refs.h"
#include "ir/print/print_rules.h"
#include "ir/print/text_form.h"

namespace jaxscope {

std::string variable_name(std::uint32_t number) {
    std::string s;
    do {
        s.insert(s.begin(), static_cast<char>('a' + number % 26));
        number /= 26;
    } while (number > 0);
    return s;
}

// ---- Names ------------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t kUnnamed = 0, kDropped = 1, kFirstName = 2;

/// The jaxprs that JAX's printer sees in an equation: parameters that are one, or tuples of some, in the order in which JAX binds
/// the parameters.
std::vector<const Jaxpr*> printed_jaxprs(const Eqn& e) {
    std::vector<const Jaxpr*> out;
    if (!e.params->holds_jaxpr()) return out;
    const auto take = [&](const Attr& a) {
        if (const auto* j = a.get<Attr::JaxprRef>()) out.push_back(j->jaxpr.get());
    };
    for (const auto& [name, value] : e.params->entries()) {
        take(value);
        if (const Attr::Seq* s = value.get_seq(); s && s->kind == Attr::SeqKind::Tuple)
            for (const Attr& a : s->items) take(a);
        if (const Attr::Record* r = value.get_record())  // a namedtuple
            for (const auto& [field, a] : r->fields) take(a);
    }
    if (e.prim->text && e.prim->text->last_jaxpr_first) std::reverse(out.begin(), out.end());
    return out;
}

std::string without_angles(const std::string& s) {
    const std::size_t first = s.find_first_not_of("<>");
    return first == std::string::npos ? std::string() : s.substr(first, s.find_last_not_of("<>") - first + 1);
}

}  // namespace

std::uint32_t& VarNames::number(const Jaxpr& j, Var v) {
    const std::uint64_t id = j.var_id(v);
    const auto space = static_cast<std::uint32_t>(id >> 32), index = static_cast<std::uint32_t>(id);
    if (space == Jaxpr::kSharedSpace) return shared_vars_[index];
    std::vector<std::uint32_t>& names = names_[space];
    if (names.size() <= index) names.resize(std::max(std::size_t{index} + 1, std::size_t{j.num_vars()}), kUnnamed);
    return names[index];
}
const std::uint32_t* VarNames::find(const Jaxpr& j, Var v) const {
    const std::uint64_t id = j.var_id(v);
    const auto space = static_cast<std::uint32_t>(id >> 32), index = static_cast<std::uint32_t>(id);
    if (space == Jaxpr::kSharedSpace) {
        const auto known = shared_vars_.find(index);
        return known == shared_vars_.end() ? nullptr : &known->second;
    }
    const auto found = names_.find(space);
    return found == names_.end() || index >= found->second.size() ? nullptr : &found->second[index];
}

void VarNames::find_shared(const Jaxpr& root) {
    root_ = &root;
    // How often each is printed, counted along paths (2 stands for more), and the order in which a walk by levels meets them.
    std::unordered_map<const Jaxpr*, int> times{{&root, 1}};
    const std::vector<const Jaxpr*> inner_first = all_jaxprs(root);
    for (auto j = inner_first.rbegin(); j != inner_first.rend(); ++j)
        for (const Eqn& e : (*j)->eqns)
            for (const Jaxpr* s : printed_jaxprs(e)) times[s] = std::min(2, times[s] + times[*j]);
    std::unordered_map<const Jaxpr*, std::string> names;
    std::vector<const Jaxpr*> order{&root};
    std::unordered_set<const Jaxpr*> seen{&root};
    for (std::size_t i = 0; i < order.size(); ++i)
        for (const Eqn& e : order[i]->eqns) {
            const std::vector<const Jaxpr*> subs = printed_jaxprs(e);
            if (subs.empty()) continue;
            const Attr* name = e.params->find("name");
            for (const Jaxpr* s : subs) {
                if (name && name->get<Sym>()) names.emplace(s, without_angles(name->get<Sym>()->str()));
                if (seen.insert(s).second) order.push_back(s);
            }
        }
    constexpr std::size_t kInlineEqns = 10;
    for (const Jaxpr* j : order) {
        if (times[j] < 2 && (j == &root || j->eqns.size() <= kInlineEqns)) continue;
        const auto named = names.find(j);
        std::string name = named == names.end() ? "jaxpr" : named->second;
        if (const int count = shared_names_[name]++; count > 0) {
            name += std::to_string(count);
            ++shared_names_[name];
        }
        shared_[j] = name;
        shared_order_.push_back(j);
    }
}

bool VarNames::dropped(const Jaxpr& j, Var v) const {
    return j.dropped(v) || (&j == root_ && v.index < unused_.size() && unused_[v.index]);
}

std::uint32_t VarNames::assign(const Jaxpr& j, Var v) {
    if (dropped(j, v)) return kDropped;
    std::uint32_t& name = number(j, v);
    if (name == kUnnamed) {
        while (!shared_names_.empty() && shared_names_.contains(variable_name(next_))) ++next_;
        name = kFirstName + next_++;
    }
    return name;
}
std::string VarNames::spell(std::uint32_t name) const {
    return name == kUnnamed ? "?" : name == kDropped ? "_" : variable_name(name - kFirstName);
}
std::string VarNames::name(const Jaxpr& j, Var v) const {
    if (dropped(j, v)) return "_";
    const std::uint32_t* name = find(j, v);
    return name ? spell(*name) : "?";
}
std::string VarNames::shared_name(const Jaxpr& j) const {
    const auto found = shared_.find(&j);
    return found == shared_.end() ? std::string() : found->second;
}

// ---- The document -----------------------------------------------------------------------------------------------------------

/// Writes the document of a jaxpr to a layout, giving names in the order in which JAX does: as it goes along.
class Printer {
public:
    Printer(const PrintOptions& options, VarNames& names) : options_(options), names_(names), out_(options.width) {}

    std::string whole(const Jaxpr& root) {
        const EmbeddedTextScope scope([](const Jaxpr& j) { return to_text(j); });
        names_.find_shared(root);
        mark_unused(root);
        find_python(root);
        for (const Jaxpr* j : names_.shared_order_) {
            out_.text("let ");
            out_.text(names_.shared_name(*j));
            out_.text(" = ");
            skeleton(*j);
            out_.text(" in");
            out_.brk();
        }
        skeleton(root);
        std::string text = out_.finish();
        if (options_.lines)
            for (const auto& [what, line] : out_.marks()) (*options_.lines)[static_cast<std::size_t>(what)].line = line;
        return text;
    }
    /// One equation, its jaxprs left out.
    std::string single(const Jaxpr& j, const Eqn& e, const VarNames* given) {
        brief_ = true;
        given_ = given;
        equation(j, e);
        return out_.finish();
    }

private:
    /// JAX runs Python in the outermost jaxpr, and in the functions of custom calls there; not of those that are evaluated from a jaxpr.
    void find_python(const Jaxpr& root) {
        static const Sym evaluated("from_jaxpr");
        std::vector<const Jaxpr*> found{&root};
        while (!found.empty()) {
            const Jaxpr& j = *found.back();
            found.pop_back();
            for (const Eqn& e : j.eqns) {
                const Attr* from_jaxpr = e.prim->custom_derivative ? e.params->find(evaluated) : nullptr;
                const bool again = from_jaxpr && from_jaxpr->get<bool>() && *from_jaxpr->get<bool>();
                const Attr* body = e.prim->custom_derivative && !again ? e.params->find(e.prim->body) : nullptr;
                const auto* called = body ? body->get<Attr::JaxprRef>() : nullptr;
                if (called && python_.insert(called->jaxpr.get()).second) found.push_back(called->jaxpr.get());
            }
        }
    }

    /// Of the outermost jaxpr, results that nothing reads are printed as dropped, whatever they are in JAX.
    void mark_unused(const Jaxpr& root) {
        std::vector<bool> used(root.num_vars(), false);
        names_.unused_.assign(root.num_vars(), false);  // by variable: a jaxpr inside may share it, and read it
        for (const Atom a : root.atoms)
            if (a.is_var()) used[a.var().index] = true;
        for (const Atom a : root.outvars)
            if (a.is_var()) used[a.var().index] = true;
        for (std::uint32_t v = root.num_constvars + root.num_invars; v < root.num_vars(); ++v)
            if (!used[v]) names_.unused_[v] = true;
    }

    std::string atom_text(const Jaxpr& j, Atom a) {
        if (a.is_literal()) return value_text(*a.literal()) + ":" + to_text(a.literal()->aval);
        if (!brief_) return names_.spell(names_.assign(j, a.var()));
        if (given_) return given_->name(j, a.var());
        return j.dropped(a.var()) ? "_" : variable_name(a.var().index);
    }

    /// pp_vars: one group, in which each break is a group of its own, so that lines are filled.
    template <class Range>
    void vars(const Jaxpr& j, const Range& atoms, bool with_types, const char* separator = "") {
        out_.nest(2);
        out_.begin_group();
        bool first = true;
        for (const Atom a : atoms) {
            if (!first) {
                out_.text(separator);
                out_.begin_group();
                out_.brk();
                out_.end_group();
            }
            first = false;
            out_.text(atom_text(j, a));
            if (with_types) {
                out_.text(":");
                out_.text(to_text(j.aval(a)));
            }
        }
        out_.end_group();
        out_.unnest();
    }
    void binders(const Jaxpr& j, std::uint32_t first, std::uint32_t count) {
        std::vector<Atom> atoms;
        atoms.reserve(count);
        for (std::uint32_t i = 0; i < count; ++i) atoms.emplace_back(Var{first + i});
        vars(j, atoms, true);
    }

    void skeleton(const Jaxpr& j) {
        out_.begin_group();
        out_.nest(2);
        out_.text("{ lambda ");
        binders(j, 0, j.num_constvars);
        out_.text("; ");
        binders(j, j.num_constvars, j.num_invars);
        out_.text(". let");
        out_.nest(2);
        out_.brk();
        for (std::size_t i = 0; i < j.eqns.size(); ++i) {
            check_cancelled();
            if (i) out_.brk("; ");
            if (options_.lines) {
                out_.mark(static_cast<std::int64_t>(options_.lines->size()));
                options_.lines->push_back({0, &j, static_cast<std::uint32_t>(i)});
            }
            equation(j, j.eqns[i]);
        }
        out_.unnest();
        out_.brk();
        out_.text("in (");
        vars(j, j.outvars, false, ",");
        out_.text(j.outvars.size() == 1 ? ",)" : ")");
        out_.unnest();
        out_.text(" }");
        out_.end_group();
    }

    void jaxpr(const Jaxpr& j) {
        const std::string shared = (given_ ? *given_ : names_).shared_name(j);
        if (!shared.empty())
            out_.text(shared);
        else if (brief_)
            out_.text("{...}");
        else
            skeleton(j);
    }

    void value(const Attr& v) {
        if (const auto* j = v.get<Attr::JaxprRef>()) return jaxpr(*j->jaxpr);
        const Attr::Seq* s = v.get_seq();
        const bool jaxprs = s && s->kind == Attr::SeqKind::Tuple &&
                            std::all_of(s->items.begin(), s->items.end(), [](const Attr& a) { return a.get<Attr::JaxprRef>() != nullptr; });
        if (!jaxprs) return out_.text(brief_ && v.holds_jaxpr() ? "..." : str_text(v));
        out_.begin_group();
        out_.nest(2);
        out_.text("(");
        out_.brk("");
        for (std::size_t i = 0; i < s->items.size(); ++i) {
            if (i) out_.brk();
            jaxpr(*s->items[i].get<Attr::JaxprRef>()->jaxpr);
        }
        out_.unnest();
        out_.brk("");
        out_.text(")");
        out_.end_group();
    }

    void parameters(const std::vector<PrintedParam>& params) {
        if (params.empty()) return;
        out_.begin_group();
        out_.nest(2);
        out_.text("[");
        out_.brk("");
        for (std::size_t i = 0; i < params.size(); ++i) {
            if (i) out_.brk();
            out_.text(params[i].name + "=");
            if (params[i].value)
                value(*params[i].value);
            else
                out_.text(params[i].text);
        }
        out_.unnest();
        out_.brk("");
        out_.text("]");
        out_.end_group();
    }

    /// A jit's jaxpr calls its inputs and outputs as the equation does, so that a reader sees through.
    template <class Like>
    void suggest(const Jaxpr& inner, const std::vector<Atom>& for_vars, const Jaxpr& j, const Like& like) {
        if (for_vars.size() != like.size()) return;
        std::unordered_set<std::uint32_t> used;
        for (std::size_t i = 0; i < for_vars.size(); ++i) {
            if (!for_vars[i].is_var() || !like[i].is_var() || used.contains(like[i].var().index)) continue;
            if (names_.number(inner, for_vars[i].var()) != kUnnamed) continue;
            used.insert(like[i].var().index);
            const std::uint32_t taken = names_.assign(j, like[i].var());
            names_.number(inner, for_vars[i].var()) = taken;
        }
    }
    void suggest_names(const Jaxpr& j, const Eqn& e) {
        const Attr* param = e.params->find(e.prim->body);
        const auto* ref = param ? param->get<Attr::JaxprRef>() : nullptr;
        if (!ref || brief_ || !names_.shared_name(*ref->jaxpr).empty()) return;
        const Jaxpr& inner = *ref->jaxpr;
        std::vector<Atom> invars, outs;
        for (std::uint32_t i = 0; i < inner.num_invars; ++i) invars.emplace_back(inner.invar(i));
        for (std::uint32_t k = 0; k < e.n_out; ++k) outs.emplace_back(j.output(e, k));
        suggest(inner, invars, j, j.inputs(e));
        suggest(inner, inner.outvars, j, outs);
    }

    /// `a[i,:]` of a get or a swap.
    std::string ref_text(const Jaxpr& j, const Eqn& e, const RefAccess& access) {
        const std::span<const Atom> in = j.inputs(e);
        std::string out = atom_text(j, in[0]);
        for (std::size_t i = 0; i < access.indexer.size(); ++i) {
            if (access.indexer[i] != '%') {
                out += access.indexer[i];
                continue;
            }
            std::size_t k = 0;
            while (i + 1 < access.indexer.size() && std::isdigit(static_cast<unsigned char>(access.indexer[i + 1])))
                k = std::min<std::size_t>(10 * k + static_cast<std::size_t>(access.indexer[++i] - '0'), 1u << 20);
            if (access.first_index + k >= in.size()) {
                out += '?';
                continue;
            }
            const Atom index = in[access.first_index + k];
            out += index.is_literal() ? value_text(*index.literal()) : atom_text(j, index);
        }
        return out;
    }
    void ref_equation(const Jaxpr& j, const Eqn& e, const RefAccess& access) {
        const bool get = access.first_index == 1;
        const bool written_only = e.n_out == 1 && !get && atom_text(j, j.output(e, 0)) == "_";
        const std::string ref = ref_text(j, e, access);
        if (e.n_out == 1 && !written_only) binders(j, e.first_out, 1);
        if (!get) out_.text((e.n_out == 0 || written_only ? "" : ", ") + ref);
        if (options_.source) out_.note(e.source->summary().str());
        out_.text(e.n_out == 0 ? " += " : " <- ");
        if (get || !(e.n_out == 0 || written_only)) out_.text(ref);
        if (!get) out_.text((e.n_out == 0 || written_only ? "" : ", ") + atom_text(j, j.inputs(e)[1]));
    }

    void equation(const Jaxpr& j, const Eqn& e) {
        if (const auto access = ref_access(e)) return ref_equation(j, e, *access);
        const TextForm* form = e.prim->text;
        if (form && form->shares_names) suggest_names(j, e);
        if (!form || !form->no_results) {
            binders(j, e.first_out, e.n_out);
            if (e.n_out > 0) {
                if (options_.source) out_.note(e.source->summary().str());
                out_.text(" = ");
            }
        } else if (options_.source) {
            out_.note(e.source->summary().str());
        }
        out_.text(e.prim->name.c_str());
        parameters(printed_params(e, &j == names_.root_ || python_.contains(&j)));
        out_.text(" ");
        vars(j, j.inputs(e), false);
    }

    const PrintOptions& options_;
    VarNames& names_;
    PrintLayout out_;
    std::unordered_set<const Jaxpr*> python_;  ///< see `find_python`
    bool brief_ = false;                       ///< one equation alone, called by `given_` or by numbers
    const VarNames* given_ = nullptr;
};

VarNames::VarNames(const Jaxpr& root) { Printer({}, *this).whole(root); }

std::string eqn_text(const Jaxpr& j, const Eqn& e, const PrintOptions& options, const VarNames* names) {
    VarNames unused;
    return Printer(options, unused).single(j, e, names);
}

std::string to_text(const Jaxpr& j, const PrintOptions& options) {
    VarNames names;
    return Printer(options, names).whole(j);
}

}  // namespace jaxscope
