// SPDX-License-Identifier: Apache-2.0
#include "trace/functions.h"

#include <fmt/core.h>

#include <jaxscope/lax.h>

#include <numeric>
#include <ostream>

#include "base/error.h"
#include "calls/control_flow.h"
#include "ir/print/printer.h"
#include "pytree/tree.h"
#include "trace/refusals.h"

namespace jaxscope::jax {

namespace detail {

ArgumentNames argument_names(const Call& call, const std::vector<std::string>& given) {
    ArgumentNames out;
    const std::vector<PyTreeDef> args = make_tree(call.arguments()).children();
    for (std::size_t i = 0; i < args.size(); ++i)
        out.args.push_back(call.keywords[i] ? call.keywords[i] : i < given.size() ? given[i] : fmt::format("args[{}]", i));
    for (const std::size_t i : call.order) {
        if (call.leaves_of_arg[i] == 0) continue;  // else it may be a number that was fixed
        for (const std::string& path : args[i].paths()) {
            const std::size_t n = out.leaves.size();
            out.leaves.emplace_back(n < call.leaf_names.size() ? call.leaf_names[n] : out.args[i] + path);
            out.arg_of_leaf.push_back(static_cast<int>(i));
        }
    }
    return out;
}

PyTreeDef pair_of_trees(const Call& call, const std::vector<bool>& fixed) {
    const std::vector<PyTreeDef> trees = make_tree(call.arguments()).children();
    std::vector<PyTreeDef> args;
    std::vector<std::pair<std::string, PyTreeDef>> kwargs;
    for (const std::size_t i : call.order) {
        if (call.static_args[i] || fixed[i]) continue;
        if (call.keywords[i])
            kwargs.emplace_back(call.keywords[i], trees[i]);
        else
            args.push_back(trees[i]);
    }
    return tuple_of_trees({tuple_of_trees(args), dict_of_trees(kwargs)});
}
std::string tree_text(const PyTreeDef& tree, const std::vector<std::string>& leaves) {
    std::string out = tree.str();
    out = out.substr(out.find('(') + 1);
    out.pop_back();
    std::size_t at = 0;
    for (const std::string& text : leaves) {
        at = out.find('*', at);
        if (at == std::string::npos) break;
        out.replace(at, 1, text);
        at += text.size();
    }
    return out;
}

const std::vector<Array>& leaves_of(const Call& call) {
    if (const Trace* t = Trace::current(); t && !t->eager()) return call.leaves;
    at_place(call.where, [&] {
        for (const Array& a : call.leaves)
            if (!a.is_tracer()) elements(*a.node());
    });
    return call.leaves;
}

std::string static_text(const Call& call, std::size_t arg) {
    const std::string text = make_tree(call.arguments()).children()[arg].node()->type;
    const char* type = "object";
    if (text == "True" || text == "False")
        type = "bool";
    else if (!text.empty() && text.front() == '\'')
        type = "str";
    else if (text.find_first_not_of("-0123456789.einfa") == std::string::npos)
        type = text.find('.') == std::string::npos ? "int" : "float";
    return fmt::format("Argument {} of type <class '{}'> is not a valid JAX type", text.empty() ? "<unknown>" : text, type);
}

void refuse_statics(const Call& call, const std::vector<std::size_t>& argnums) {
    for (const std::size_t i : argnums)
        if (call.static_args[i])
            detail::refuse_at(
                call.where, ErrorCode::BadUsage, static_text(call, i) + ".",
                "what is differentiated by is an Array, or a tree of them; a parameter of another type of C++ can't be traced");
}

void refuse_statics(const Call& call) {
    std::vector<std::size_t> all(call.static_args.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    refuse_statics(call, all);
}

Avals avals_of(const std::vector<Array>& arrays) {
    Avals out;
    for (const Array& a : arrays) out.push_back(a.node()->aval);
    return out;
}
Array of_rows(const std::vector<Array>& rows, const Where& where) {
    std::vector<Array> parts;
    for (const Array& a : rows) parts.push_back(lax::expand_dims(Operand(a, where.file, where.line, where.function), 0));
    return lax::concatenate(parts, 0, where);
}

TracedCall trace_call(Call& call, const Avals& in, const char* what, const std::string& function, const ArgumentNames* names) {
    Trace t(what, function);
    return trace_call_in(t, call, in, names);
}
TracedCall trace_known(Call& call, const char* what, const std::string& function) {
    Trace t(what, function);
    t.inputs_are(call.leaves);
    return trace_call_in(t, call, avals_of(call.leaves), nullptr);
}
TracedCall trace_call_in(Trace& t, Call& call, const Avals& in, const ArgumentNames* names) {
    std::vector<Array> leaves, out;

    for (std::size_t i = 0; i < in.size(); ++i) leaves.push_back(t.input(in[i], names ? names->leaves[i] : Sym()));
    // What has no line of its own (an operator can't) is told of the line that transforms the function.
    return at_place(call.where, [&] {
        call.run(leaves.data(), out);
        return TracedCall{t.finish(out), make_tree(call.results())};
    });
}
TracedCall trace_call(Call& call, const char* what, const std::string& function, const ArgumentNames* names) {
    return trace_call(call, avals_of(call.leaves), what, function, names);
}

TracedCall trace_call(Call& call, const std::vector<bool>& fixed, const char* what, const std::string& function) {
    Trace t(what, function);
    std::vector<Array> leaves, out;
    for (std::size_t i = 0; i < fixed.size(); ++i)
        leaves.push_back(fixed[i] ? number_as_given(call.leaves[i]) : t.input(call.leaves[i].node()->aval));
    call.run(leaves.data(), out);
    return {t.finish(out), make_tree(call.results())};
}

std::vector<Array> with_consts(const Traced& t, const std::vector<Array>& leaves) { return joined(t.consts, leaves); }

Jaxpr make_jaxpr(Call& call, const MakeJaxprOptions& options) {
    const ArgumentNames names = argument_names(call, options.arg_names);
    return public_jaxpr(trace_call(call, "make_jaxpr", options.name, &names).traced.jaxpr);
}

Jaxpr public_jaxpr(JaxprPtr jaxpr) {
    auto* program = new TracedProgram;
    Jaxpr out(program);
    program->jaxpr = std::move(jaxpr);
    return out;
}

}  // namespace detail

Jaxpr::Jaxpr(const Jaxpr& o) noexcept : program_(o.program_) { program_->refs.fetch_add(1); }
Jaxpr& Jaxpr::operator=(const Jaxpr& o) noexcept {
    Jaxpr copy(o);
    std::swap(program_, copy.program_);
    return *this;
}
Jaxpr::~Jaxpr() {
    if (program_->refs.fetch_sub(1) == 1) delete program_;
}
std::string Jaxpr::str() const { return to_text(*program_->jaxpr); }
std::string Jaxpr::str_with_sources() const { return to_text(*program_->jaxpr, {.source = true}); }
std::size_t Jaxpr::num_equations() const { return program_->jaxpr->eqns.size(); }
std::ostream& operator<<(std::ostream& out, const Jaxpr& j) { return out << j.str(); }

}  // namespace jaxscope::jax
