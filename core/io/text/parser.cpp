// SPDX-License-Identifier: Apache-2.0
#include "io/text/parser.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/cancel.h"
#include "base/limits.h"
#include "io/text/cursor.h"
#include "io/text/literals.h"
#include "io/text/names.h"
#include "io/text/reading.h"
#include "io/text/sharing.h"
#include "io/text/values.h"
#include "ir/primitive.h"
#include "ir/print/text_form.h"
#include "ir/type_check.h"

namespace jaxscope {

namespace {

constexpr const char* kJaxprOrName = "a jaxpr, or the name of one that a `let` defines";

/// Parses by descent over nested jaxprs; equations, variables and parameters are loops.
class TextParser {
public:
    TextParser(std::string_view text, const std::string& name) : in_(text, name) {}
    // What calls itself holds itself: a text that is refused must not leave that behind.
    ~TextParser() {
        if (!accepted_)
            for (const Slot& s : slots_) s.jaxpr->eqns.clear();
    }
    TextParser(const TextParser&) = delete;
    TextParser& operator=(const TextParser&) = delete;

    std::shared_ptr<Jaxpr> whole() {
        // A shared jaxpr stands in front of those that it calls: references point forwards, so the names are collected first.
        for (std::string& name : in_.shared_names()) shared_names_.insert(std::move(name));
        while (in_.at_word("let")) shared(1);
        std::shared_ptr<Jaxpr> root = jaxpr(1);
        in_.skip_spaces();
        if (in_.at_jaxpr() || in_.at_word("let")) in_.fail("one program in a file, and the end of the text behind it");
        if (!in_.at_end() && !in_.surrounded()) in_.fail("the end of the text");
        refuse_cycles(*root);
        for (const auto& [j, literals] : untyped_) settle_literals(*j, literals);
        restore_sharing(root, lets_);
        names_.finish();
        for (const auto& j : closed_) add_unknown_consts(*j);
        add_unknown_consts(*root);
        accepted_ = true;
        return root;
    }
    const std::vector<std::string>& input_names() const { return input_names_; }
    /// Line and column of an equation, or of the text for a whole jaxpr.
    FilePlace place(const Jaxpr& j, std::size_t eqn) const {
        const auto of = places_.find(&j);
        return {in_.loc_at(of == places_.end() || eqn == kWholeJaxpr ? 0 : of->second.at(eqn)), {}};
    }

    /// Where the parameter stands that an error of `eqn` is about; it says so in its context.
    FilePlace place(const Jaxpr& j, std::size_t eqn, const Error& error) const {
        const auto of = places_.find(&j);
        if (of == places_.end() || eqn == kWholeJaxpr) return place(j, eqn);
        if (const auto params = param_places_.find(of->second.at(eqn)); params != param_places_.end())
            for (const auto& [name, at] : params->second)
                if (std::find(error.context.begin(), error.context.end(), "parameter " + name.str()) != error.context.end())
                    return {in_.loc_at(at), {}};
        return place(j, eqn);
    }

private:
    void shared(std::size_t depth) {
        in_.expect_word("let");
        const std::string name = in_.let_name();
        in_.expect("=");
        const std::shared_ptr<Jaxpr> j = jaxpr(depth, {}, true);
        in_.expect_word("in");
        std::shared_ptr<Jaxpr> slot = shared_jaxpr(name);
        if (!slot || !defined_.insert(slot.get()).second) in_.fail("a jaxpr with a name of its own behind '" + printable(name, 60) + "'");
        if (j->name.empty()) j->name = slot->name;
        *slot = std::move(*j);
        places_[slot.get()] = std::move(places_[j.get()]);
        places_.erase(j.get());  // its address may come again
        if (auto untyped = untyped_.extract(j.get())) {
            untyped.key() = slot.get();
            untyped_.insert(std::move(untyped));
        }
        names_.is_let(slot);
        if (depth == 1) lets_.push_back(slot);
    }
    /// What `name` stands for, here or further down; null where no `let` defines it.
    std::shared_ptr<Jaxpr> shared_jaxpr(const std::string& name, std::size_t met_at = 0) {
        if (const auto s = shared_.find(name); s != shared_.end()) return s->second;
        if (!shared_names_.contains(name)) return nullptr;
        auto slot = std::make_shared<Jaxpr>();
        shared_.emplace(name, slot);
        slots_.push_back({name, slot, met_at});
        return slot;
    }

    /// The jaxprs of a custom_linear_solve print as programs of their own inside one text.
    std::shared_ptr<Jaxpr> own_program(std::size_t depth) {
        std::unordered_map<std::string, std::shared_ptr<Jaxpr>> outer = std::exchange(shared_, {});
        TextNames outer_names = std::exchange(names_, {});
        while (in_.at_word("let")) shared(depth + 1);
        std::shared_ptr<Jaxpr> root = jaxpr(depth + 1);
        shared_ = std::move(outer);
        names_ = std::move(outer_names);
        return root;
    }
    /// `_LinearSolveTuple(matvec={ lambda ... }, vecmat=let ... in { lambda ... }, ...)`; nothing where it is something else.
    std::optional<Attr> jaxpr_record(std::size_t depth) {
        Attr::Record r;
        r.type = in_.word("a record");
        if (!in_.take("(")) return std::nullopt;
        while (!in_.take(")")) {
            const std::string field = in_.peek_word();
            if (field.empty()) return std::nullopt;
            in_.word("a field");
            if (!in_.take("=")) return std::nullopt;
            if (in_.take("None"))
                r.fields.emplace_back(field, Attr());
            else if (in_.at_jaxpr() || (in_.at_word("let") && r.type.str().front() == '_'))
                r.fields.emplace_back(field, with_values(own_program(depth), true));
            else
                return std::nullopt;
            in_.take(",");
        }
        return Attr(std::make_shared<const Attr::Record>(std::move(r)));
    }

    /// Nothing may call itself, and everything that is called must be there.
    void refuse_cycles(const Jaxpr& root) const {
        const Called called = called_from(root);
        if (called.cycle)
            throw Error(ErrorCode::BadInput, "expected jaxprs that don't call themselves, found one that does")
                .at(place(*called.cycle->first, called.cycle->second).loc);
        for (const Slot& s : slots_)
            if (called.jaxprs.contains(s.jaxpr.get()) && !defined_.contains(s.jaxpr.get()))
                in_.fail_at(s.met_at, "the name of a jaxpr that a `let` defines");
    }

    /// `result_types`: of the equation that calls it, where that is known.
    /// `called_by_name`: by an equation whose names it shares.
    std::shared_ptr<Jaxpr> jaxpr(std::size_t depth, const Avals& result_types = {}, bool called_by_name = false) {
        if (depth > kMaxNesting.value)
            throw Error(ErrorCode::LimitExceeded,
                        "expected jaxprs nested at most " + std::to_string(kMaxNesting.value) + " deep, found more")
                .at(in_.loc());
        Reading r;
        r.called_by_name = called_by_name;
        in_.expect("{");
        in_.expect_word("lambda");
        std::vector<std::string> names = binders(r, ";");
        in_.expect(";");
        r.jaxpr->num_constvars = r.jaxpr->num_vars();
        names = binders(r, ".");
        in_.expect(".");
        r.jaxpr->num_invars = r.jaxpr->num_vars() - r.jaxpr->num_constvars;
        in_.expect_word("let");
        while (!at_results()) {
            equation(r, depth);
            in_.take(";");
        }
        results(r, result_types);
        places_[r.jaxpr.get()] = std::move(r.places);
        if (!r.untyped.empty()) untyped_[r.jaxpr.get()] = std::move(r.untyped);
        if (depth == 1) input_names_ = std::move(names);
        names_.read(r.jaxpr, std::move(r.scope));
        return r.jaxpr;
    }

    /// `in (`: a variable may be called `in`, but no open parenthesis follows one.
    bool at_results() const { return in_.at_word("in") && in_.after_word("in", '('); }

    /// `a:f32[3] b:f32[]`, up to `end`.
    std::vector<std::string> binders(Reading& r, std::string_view end) {
        std::vector<std::string> names;
        while (!in_.at(end)) {
            const TextCursor::Mark at = in_.mark();  // behind spaces
            names.push_back(in_.word("a variable"));
            if (!in_.take(":")) in_.fail("':' and the type of '" + printable(names.back(), 60) + "' (print_shapes=True prints it)");
            bind(in_, r, {names.back(), read_aval(in_), at});
        }
        return names;
    }

    // ---- Equations ----
    void equation(Reading& r, std::size_t depth) {
        in_.skip_spaces();
        const std::size_t column = in_.column();
        r.places.push_back(in_.mark().at);
        std::vector<Binder> outs;
        while (in_.at_binder()) {
            const TextCursor::Mark at = in_.mark();
            std::string name = in_.word("a variable");
            in_.expect(":");
            outs.push_back({std::move(name), read_aval(in_), at});
        }
        const SourceRef source = in_.line_source();
        if (at_ref_access(in_, r, outs.size())) return read_ref_access(in_, r, std::move(outs), source);
        if (!outs.empty()) in_.expect("=");
        in_.skip_spaces();
        const Primitive& prim = primitive(in_.primitive_name());
        Avals in_avals, out_avals;
        for (const Binder& b : outs) out_avals.push_back(b.aval);
        Parameters params;
        if (in_.at_now("[")) params = parameters(prim, depth, out_avals);
        check_cancelled();
        Eqn e;
        e.prim = &prim;
        e.source = source;
        e.in_begin = static_cast<std::uint32_t>(r.jaxpr->atoms.size());
        atoms(r, column);
        e.n_in = static_cast<std::uint32_t>(r.jaxpr->atoms.size()) - e.in_begin;
        e.first_out = r.jaxpr->num_vars();
        e.n_out = static_cast<std::uint32_t>(outs.size());
        for (std::uint32_t i = 0; i < e.n_in; ++i) in_avals.push_back(r.jaxpr->aval(r.jaxpr->atoms[e.in_begin + i]));
        for (const Binder& b : outs) bind(in_, r, b);
        check_lengths(params, e.n_in, e.n_out);
        if (!params.places.empty()) param_places_[r.places.back()] = std::move(params.places);
        e.params = Params::make(with_hidden_params(prim, std::move(params.entries), in_avals, out_avals));
        names_.called_by(r, e, outs);
        r.jaxpr->eqns.push_back(std::move(e));
    }

    /// Inputs, up to what begins another equation: `;`, binders with `=`, or a line that stands no deeper than this equation's.
    void atoms(Reading& r, std::size_t column) {
        while (true) {
            const std::size_t last_line = in_.line();
            in_.skip_spaces();
            if (in_.at_end() || in_.at(";") || in_.at("}") || at_results()) break;
            if (in_.line() > last_line) {
                // `inf:f32[]` reads like a result; standing deeper than its equation it is an input.
                const std::string word = in_.peek_word();
                const bool deeper = in_.column() > column && (word == "inf" || word == "nan" || word == "True" || word == "False");
                if (in_.column() <= column || (!deeper && in_.at_equation())) break;
            }
            const TextCursor::Mark before = in_.mark();
            const std::string token = in_.atom_text();
            if (token.empty()) in_.fail("a variable or a literal");
            if (in_.at_now(":")) {
                in_.expect(":");
                const AvalRef type = read_aval(in_);
                const auto l = literal_from_text(token, type);
                if (!l) {
                    in_.back_to(before);
                    in_.fail("a literal of " + printable(to_text(type), 60));
                }
                r.jaxpr->atoms.emplace_back(LiteralRef(*l));
            } else if (const auto v = r.scope.find(token); v != r.scope.end()) {
                r.jaxpr->atoms.emplace_back(v->second);
            } else if (token == "_" && r.called_by_name && !r.dropped.empty()) {
                r.jaxpr->atoms.emplace_back(read_dropped(r));
            } else if (is_untyped_literal(token)) {
                // Typed when all jaxprs are read; until then anything.
                r.untyped.push_back({r.jaxpr->eqns.size(), r.jaxpr->atoms.size(), token});
                r.jaxpr->atoms.emplace_back(guess(in_, token, {}, before));
            } else {
                in_.back_to(before);
                in_.fail("a variable that is defined above");
            }
        }
    }
    // ---- Parameters ----
    static bool holds_jaxprs(std::string_view name) { return name.find("jaxpr") != std::string_view::npos || name == "branches"; }
    static bool is_open(const Primitive& prim, std::string_view param) {
        return (prim.text && prim.text->open_body && param == prim.body) || param == "update_jaxpr";
    }

    struct Parameters {
        std::vector<Params::Entry> entries;
        std::vector<std::pair<Sym, std::size_t>> places;  ///< where each stands
        std::unordered_set<std::uint32_t> names;          ///< once there are many

        bool has(Sym name) {
            constexpr std::size_t kMany = 16;
            if (places.size() < kMany) return std::any_of(places.begin(), places.end(), [&](const auto& p) { return p.first == name; });
            if (names.empty())
                for (const auto& [known, place] : places) names.insert(known.id());
            return !names.insert(name.id()).second;
        }
    };
    Parameters parameters(const Primitive& prim, std::size_t depth, const Avals& result_types) {
        Parameters params;
        in_.expect("[");
        in_.skip_spaces();
        const TextCursor::Layout layout = in_.begin_parameters();
        while (!in_.take("]")) {
            in_.skip_spaces();
            const std::size_t begin = in_.mark().at;
            const std::string name(param_of_today(prim, in_.word("a parameter")));
            const Sym param(name);
            if (params.has(param)) in_.fail_at(begin, "each parameter once");
            in_.expect("=");
            params.places.emplace_back(param, begin);
            params.entries.emplace_back(param, parameter(prim, name, layout, depth, result_types));
            in_.skip_spaces();
        }
        name_call(prim, params.entries);
        return params;
    }
    /// What stands in a parameter for each input, or for each result.
    void check_lengths(const Parameters& params, std::size_t inputs, std::size_t results) const {
        constexpr std::string_view kPerInput[] = {"donated_invars", "in_shardings", "in_layouts"},
                                   kPerResult[] = {"out_shardings", "out_layouts"};
        const auto check = [&](const auto& names, std::size_t k, std::size_t n, const char* what) {
            const auto* list = params.entries[k].second.get_seq();
            if (!list || list->items.size() == n ||
                std::find(std::begin(names), std::end(names), params.entries[k].first.str()) == std::end(names))
                return;
            throw Error(ErrorCode::BadInput, "expected " + params.entries[k].first.str() + " for " + std::to_string(n) + " " + what +
                                                 ", found " + std::to_string(list->items.size()))
                .at(in_.loc_at(params.places[k].second));
        };
        for (std::size_t k = 0; k < params.entries.size(); ++k) {
            check(kPerInput, k, inputs, "inputs");
            check(kPerResult, k, results, "results");
        }
    }
    /// Does a jaxpr have to stand there?
    static bool must_be_jaxpr(const Primitive& prim, std::string_view param) {
        return (prim.body && param == prim.body) || (prim.flow == Flow::Cond && param == "branches") ||
               (prim.flow == Flow::While && param.ends_with("_jaxpr"));
    }
    Attr parameter(const Primitive& prim, const std::string& name, const TextCursor::Layout& layout, std::size_t depth,
                   const Avals& result_types) {
        const bool closed = !is_open(prim, name);
        const bool by_name = prim.text && prim.text->shares_names;
        if (in_.at_jaxpr()) return with_values(jaxpr(depth + 1, result_types, by_name), closed);
        if (holds_jaxprs(name) && in_.at_now("(")) {
            const TextCursor::Mark before = in_.mark();
            if (std::optional<Attr> tuple = jaxpr_tuple(depth, must_be_jaxpr(prim, name))) return *tuple;
            in_.back_to(before);
        }
        if (name == "jaxprs") {
            const TextCursor::Mark record = in_.mark();
            if (!in_.peek_word().empty())
                if (std::optional<Attr> r = jaxpr_record(depth)) return *r;
            in_.back_to(record);
        }
        const TextCursor::Mark before = in_.mark();
        const std::string text = in_.value_text(layout);
        if (holds_jaxprs(name))
            if (const std::shared_ptr<Jaxpr> s = shared_jaxpr(text, before.at)) return with_values(s, closed);
        if (text.empty()) {
            in_.back_to(before);
            in_.fail("the value of parameter '" + printable(name, 60) + "'");
        }
        if (must_be_jaxpr(prim, name)) in_.fail_at(before.at, kJaxprOrName);
        return value_from_text(name, text);
    }
    /// `(jaxpr0 { lambda ... })`; nothing where it is a tuple of something else, unless that can't be.
    std::optional<Attr> jaxpr_tuple(std::size_t depth, bool must) {
        Attrs items;
        in_.expect("(");
        while (!in_.take(")")) {
            in_.skip_spaces();
            if (in_.at_jaxpr()) {
                items.push_back(with_values(jaxpr(depth + 1), true));
                continue;
            }
            const std::shared_ptr<Jaxpr> s = shared_jaxpr(in_.peek_word(), in_.mark().at);
            if (!s && must) in_.fail(kJaxprOrName);
            if (!s) return std::nullopt;
            in_.word("a jaxpr");
            items.push_back(with_values(s, true));
        }
        return Attr::tuple(std::move(items));
    }
    /// Constants of a closed jaxpr are there, but a text doesn't say what they are.
    Attr with_values(const std::shared_ptr<Jaxpr>& j, bool closed) {
        building_[j.get()] = j;
        if (closed) closed_.push_back(j);
        return Attr::JaxprRef{j, closed};
    }
    /// A call prints the name of the function that its jaxpr came from.
    void name_call(const Primitive& prim, std::vector<Params::Entry>& params) {
        if (!prim.text || prim.text->title == TextForm::Title::None) return;
        Sym name;
        for (const auto& [n, value] : params)
            if (n.str() == "name" && value.get<Sym>()) name = *value.get<Sym>();
        if (name.empty()) return;
        for (const auto& [n, value] : params)
            if (const auto* j = value.get<Attr::JaxprRef>()) {
                Jaxpr& named = *building_.at(j->jaxpr.get());
                if (named.name.empty()) named.name = name;
            }
    }

    void results(Reading& r, const Avals& types) {
        in_.expect_word("in");
        in_.expect("(");
        std::vector<std::size_t> dropped;
        std::size_t first_dropped = 0;
        while (!in_.take(")")) {
            in_.skip_spaces();
            const TextCursor::Mark before = in_.mark();
            const std::string token = in_.atom_text();
            if (token == "_") {
                if (dropped.empty()) first_dropped = before.at;
                dropped.push_back(r.jaxpr->outvars.size());
                r.jaxpr->outvars.emplace_back();
            } else if (in_.at_now(":")) {
                in_.expect(":");
                const AvalRef type = read_aval(in_);
                const auto l = literal_from_text(token, type);
                if (!l) in_.fail("a literal of " + printable(to_text(type), 60));
                r.jaxpr->outvars.emplace_back(LiteralRef(*l));
            } else if (const auto v = r.scope.find(token); v != r.scope.end()) {
                r.jaxpr->outvars.emplace_back(v->second);
            } else if (is_untyped_literal(token)) {
                const std::size_t k = r.jaxpr->outvars.size();
                const bool known = k < types.size() && types[k]->is_array();
                r.jaxpr->outvars.emplace_back(guess(in_, token, known ? std::vector{types[k]->dtype} : std::vector<DType>{}, before));
            } else {
                in_.back_to(before);
                in_.fail("a variable that is defined above");
            }
            in_.take(",");
        }
        if (!dropped.empty() && !r.called_by_name) in_.fail_at(first_dropped, "a variable that has a name");
        dropped_results(in_, r, dropped, types);
        if (in_.take(":")) in_.skip_braces();  // effects
        in_.expect("}");
    }

    static void add_unknown_consts(Jaxpr& j) {
        if (!j.consts.empty()) return;
        for (std::uint32_t i = 0; i < j.num_constvars; ++i) {
            auto a = std::make_shared<ArrayConst>();
            a->aval = j.aval(j.constvar(i));
            j.consts.push_back(std::move(a));
        }
    }

    TextCursor in_;
    TextNames names_;
    std::unordered_map<std::string, std::shared_ptr<Jaxpr>> shared_;
    std::unordered_set<std::string> shared_names_;  ///< of all `let`s, wherever they stand
    struct Slot {
        std::string name;
        std::shared_ptr<Jaxpr> jaxpr;
        std::size_t met_at;  ///< in the text
    };
    std::vector<Slot> slots_;
    std::vector<std::shared_ptr<Jaxpr>> lets_;  ///< those in front, in order
    bool accepted_ = false;
    std::unordered_set<const Jaxpr*> defined_;
    std::unordered_map<const Jaxpr*, std::vector<std::size_t>> places_;
    std::unordered_map<Jaxpr*, std::vector<UntypedLiteral>> untyped_;
    std::vector<std::shared_ptr<Jaxpr>> closed_;
    std::unordered_map<const Jaxpr*, std::shared_ptr<Jaxpr>> building_;  ///< those that a parameter's name may still name
    std::vector<std::string> input_names_;
    std::unordered_map<std::size_t, std::vector<std::pair<Sym, std::size_t>>> param_places_;  ///< by where the equation begins
};

ProgramPtr program_of(const std::shared_ptr<Jaxpr>& root, const TextParser& parser, std::string_view text, const std::string& name) {
    auto program = std::make_shared<Program>();
    program->jaxpr = root;
    program->path = name;
    program->file_bytes = static_cast<std::int64_t>(text.size());
    program->jit = "jax";
    program->rules = std::make_shared<CustomRules>();
    program->donated.assign(root->num_invars, false);
    program->kept.assign(root->num_invars, true);
    program->values.assign(root->num_invars, nullptr);
    for (std::uint32_t i = 0; i < root->num_invars; ++i) {
        const Sym input = i < parser.input_names().size() ? Sym(parser.input_names()[i]) : Sym("arg" + std::to_string(i));
        program->in_paths.push_back(input);
        program->arg_names.push_back(input);
        program->arg_of_input.push_back(static_cast<int>(i));
    }
    const bool lone = root->outvars.size() == 1;
    for (std::size_t i = 0; i < root->outvars.size(); ++i) program->out_paths.push_back(lone ? Sym{} : Sym("[" + std::to_string(i) + "]"));
    return program;
}

}  // namespace

ProgramPtr parse_jaxpr_text(std::string_view text, const std::string& name) {
    TextParser parser(text, name);
    return program_of(parser.whole(), parser, text, name);
}
ProgramPtr read_jaxpr_text(std::string_view text, const std::string& name) {
    TextParser parser(text, name);
    ProgramPtr program = program_of(parser.whole(), parser, text, name);
    check_program(*program, [&](const Jaxpr& j, std::size_t eqn, const Error& e) { return parser.place(j, eqn, e); });
    return program;
}

}  // namespace jaxscope
