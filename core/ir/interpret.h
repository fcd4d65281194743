// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "ir/builder.h"
#include "ir/transform_cache.h"

namespace jaxscope {

/// "eqn 7: mul", for the context of errors; "eqn 3/jaxpr/7: mul" where the jaxpr is that of "3/jaxpr" in the program.
std::string eqn_label(const Jaxpr& j, std::size_t index, Sym path = {});

/// Visits the equations of one jaxpr, forwards or backwards. Every transformation visits them by this class, so that what each of them has
/// to do at an equation stands in one place, `visit`. While the walk lives, what its builder emits stands where the equation at work
/// stands; then the builder is back at its own place.
class EqnWalk {
public:
    struct Options {
        Builder* builder = nullptr;
        const char* doing = nullptr;  ///< "linearizing" has errors say "linearizing eqn 7: mul"; without it they say nothing of equations
        Sym path = {};                ///< of the jaxpr in the program, for `eqn_label`
        /// In which name stack the equations are put; by default in the builder's, as JAX does.
        std::optional<NameStack> within = {};
        /// JAX evaluates this jaxpr; else it runs the user's Python here (or does neither), but for what was transposed before.
        bool evaluates = false;
    };
    EqnWalk(const Jaxpr& j, const Options& options);
    ~EqnWalk();
    EqnWalk(const EqnWalk&) = delete;
    EqnWalk& operator=(const EqnWalk&) = delete;

    template <class Visit>
    void forward(Visit&& at) {
        for (std::size_t i = 0; i < j_.eqns.size(); ++i) visit(i, at);
    }
    template <class Visit>
    void backward(Visit&& at) {
        for (std::size_t i = j_.eqns.size(); i-- > 0;) visit(i, at);
    }
    template <class Visit>
    void visit(std::size_t i, Visit&& at) {
        check_cancelled();
        index_ = i;
        const Eqn& e = j_.eqns[i];
        const EvaluatingScope scope(options_.evaluates || e.source->name_stack.has_transform(stack_names::kTranspose));
        if (options_.builder) {
            options_.builder->source = place_(e.source);
            options_.builder->context = e.context;
        }
        if (!options_.doing) return at(e);
        try {
            at(e);
        } catch (Error& error) {
            add_context(error, i);
            throw;
        }
    }
    /// Which equation is at work.
    std::size_t index() const { return index_; }
    [[noreturn]] void refuse_operands(std::size_t wanted, std::size_t found) const;

private:
    void add_context(Error& error, std::size_t i) const;
    const Jaxpr& j_;
    Options options_;
    SourcesWithin place_;
    std::size_t index_ = 0;
    SourceRef source_;
    ContextRef context_;
};

struct LiteralAsValue {
    Value operator()(LiteralRef literal) const { return literal; }
};

/// Interprets a jaxpr: keeps what stands for each variable, reads an equation's inputs, has it applied, writes its results. What stands for
/// a variable is a T, and one of each `More`: a Value, or a Value and its tangent, or a Value and its batch axis, or a node of a graph.
/// They are kept, and handed on, in a vector per type, as rules take them.
///
///     Interpreter run(j, {.builder = &b, .doing = "batching"}, LiteralAsValue(), Value(), kNotMapped);
///     run.bind_inputs(x, dims);
///     return run.forward([&](const Eqn& e, const Values& in, const std::vector<int>& dims) { return BatchResult{...}; });
template <class Lift, class T, class... More>
class Interpreter {
public:
    /// `lift` makes a T of a literal. `unset` and `more` are what variables hold before anything is written; a literal has `more` as well.
    Interpreter(const Jaxpr& j, const EqnWalk::Options& options, Lift lift, T unset, More... more)
        : j_(j), walk_(j, options), lift_(std::move(lift)), more_(more...), env_(Columns(make(unset), make(more)...)) {}

    void bind_consts(const ListOf<T>& consts) { bind(std::get<0>(env_), 0, j_.num_constvars, consts); }
    void bind_inputs(const ListOf<T>& in, const ListOf<More>&... more) {
        const auto given = std::tie(in, more...);
        each([&](auto i) { bind(std::get<i>(env_), j_.num_constvars, j_.num_invars, std::get<i>(given)); });
    }
    /// Constvars and inputs together.
    void bind_all(const ListOf<T>& values) { bind(std::get<0>(env_), 0, j_.num_constvars + j_.num_invars, values); }

    /// Applies all equations in order; returns the results of the jaxpr. `apply(e, inputs...)` returns those of an equation: a vector, or a
    /// struct of vectors, one per type. One that is left empty stands for results that stay unset.
    template <class Apply>
    auto forward(Apply&& apply) {
        using Results = std::decay_t<std::invoke_result_t<Apply&, const Eqn&, const ListOf<T>&, const ListOf<More>&...>>;
        walk_.forward([&](const Eqn& e) { write(e, applied(e, apply)); });
        Columns outs;
        read_all(j_.outvars, outs);
        return std::apply([](auto&... column) { return Results{std::move(column)...}; }, outs);
    }
    /// Equation `i` by itself; writes no results.
    template <class Apply>
    void visit(std::size_t i, Apply&& apply) {
        walk_.visit(i, [&](const Eqn& e) { applied(e, apply); });
    }
    std::size_t index() const { return walk_.index(); }
    /// What stands for a variable, or for a literal.
    T read(Atom a) const { return a.is_literal() ? lift_(a.literal()) : T(std::get<0>(env_)[a.var().index]); }

private:
    using Columns = std::tuple<ListOf<T>, ListOf<More>...>;
    template <class Column>
    ListOf<Column> make(Column unset) const {
        return ListOf<Column>(j_.num_vars(), unset);
    }
    /// Calls `f` with 0, 1, ...: the number of each column.
    template <class F>
    static void each(F&& f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<std::size_t, I>()), ...); }
        (std::index_sequence_for<T, More...>());
    }
    /// How many operands a body gets may be wrong in a file: an error, not a broken invariant.
    template <class Column>
    void bind(Column& column, std::uint32_t first, std::uint32_t n, const Column& values) const {
        if (values.size() != n) walk_.refuse_operands(n, values.size());
        std::copy(values.begin(), values.end(), column.begin() + first);
    }
    template <class Column>
    static void put(Column& column, std::uint32_t first, std::uint32_t n, const Column& values) {
        JAXSCOPE_ASSERT(values.size() == n);
        std::copy(values.begin(), values.end(), column.begin() + first);
    }
    void read_all(std::span<const Atom> atoms, Columns& to) const {
        each([&](auto i) {
            auto& column = std::get<i>(to);
            column.clear();
            for (const Atom a : atoms) {
                if constexpr (i == 0)
                    column.push_back(read(a));
                else
                    column.push_back(a.is_literal() ? std::get<i - 1>(more_) : std::get<i>(env_)[a.var().index]);
            }
        });
    }
    template <class Apply>
    decltype(auto) applied(const Eqn& e, Apply& apply) {
        read_all(j_.inputs(e), in_);
        return std::apply([&](const auto&... in) -> decltype(auto) { return apply(e, in...); }, in_);
    }
    template <class Results>
    void write(const Eqn& e, const Results& out) {
        const auto put_if_any = [&](auto& column, const auto& values) {
            if (!values.empty()) put(column, e.first_out, e.n_out, values);
        };
        if constexpr (sizeof...(More) == 0) {
            put_if_any(std::get<0>(env_), out);
        } else {
            static_assert(sizeof...(More) == 1, "results are a struct of two vectors");
            const auto& [first, second] = out;
            put_if_any(std::get<0>(env_), first);
            put_if_any(std::get<1>(env_), second);
        }
    }

    const Jaxpr& j_;
    EqnWalk walk_;
    Lift lift_;
    std::tuple<More...> more_;
    Columns env_, in_;
};

/// How equations come into another jaxpr: as if they were emitted there; as they are, nothing traced again.
enum class Inlined : std::uint8_t { Again, AsTheyAre };
/// Copies `j`'s equations into `b` with inputs `consts` and `in`; returns the results (JAX's eval_jaxpr under a tracer; with `as_they_are`
/// nothing is folded or traced again).
Values inline_jaxpr(JaxprBuilder& b, const Jaxpr& j, const Values& consts, const Values& in, Inlined how = Inlined::Again);

}  // namespace jaxscope
