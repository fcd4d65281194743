// Equinox's functions on trees: what they give as text, and what they refuse.
#include <optional>
#include <tuple>

#include <jaxscope/filter_rules.h>
#include <jaxscope/filter_trees.h>

#include "base/error.h"
#include "pairs.h"

namespace pairs {

struct Linear {
    Array weight, bias;
};
struct Norm {
    Array scale;
    int axis;
    double eps = 1e-5;
    bool affine = true;
    std::string name = "norm";
};
struct Mlp {
    std::vector<Linear> layers;
    Norm norm;
    std::map<std::string, Array> extra;
};

namespace {

using Map = std::map<std::string, Array>;
using Linears = std::vector<Linear>;

Linear lin() { return {jnp::arange(4.).reshape({2, 2}), jnp::ones(2)}; }
Linear bare() { return {jnp::ones({2, 2}), {}}; }
Norm norm() { return {jnp::ones(3), -1}; }
Mlp mlp() { return {{lin(), bare()}, norm(), {{"a", jnp::arange(3)}, {"b", jnp::zeros(2)}}}; }
Map ints() { return {{"f", jnp::arange(2.)}, {"i", jnp::arange(2)}}; }

template <class T>
std::string text(const T& t) {
    if constexpr (std::is_same_v<T, std::string>)
        return t;
    else
        return jax::tree_pformat(t, {.short_arrays = false});
}
template <class F>
void told(const char* python, F f) {
    std::printf("== %s\n", python);
    try {
        std::printf("%s\n", text(f()).c_str());
    } catch (const jaxscope::Error& e) {
        std::printf("!! %s\n", e.fact());
    }
}
#define TEXT(python, ...) told(python, [] { return __VA_ARGS__; })

void formats() {
    using jax::tree_pformat;
    TEXT("pformat(lin())", tree_pformat(lin()));
    TEXT("pformat(bare())", tree_pformat(bare()));
    TEXT("pformat(norm())", tree_pformat(norm()));
    TEXT("pformat(Norm(jnp.ones(3), 0, 1e-3, False, 'other'))", tree_pformat(Norm{jnp::ones(3), 0, 1e-3, false, "other"}));
    TEXT("pformat(Norm(jnp.ones(3), 7, name='b'))", tree_pformat(Norm{.scale = jnp::ones(3), .axis = 7, .name = "b"}));
    TEXT("pformat(mlp())", tree_pformat(mlp()));
    TEXT("pformat(mlp(), width=200)", tree_pformat(mlp(), {.width = 200}));
    TEXT("pformat(mlp(), width=60)", tree_pformat(mlp(), {.width = 60}));
    TEXT("pformat(mlp(), width=40)", tree_pformat(mlp(), {.width = 40}));
    TEXT("pformat(mlp(), width=28)", tree_pformat(mlp(), {.width = 28}));
    TEXT("pformat(mlp(), width=20)", tree_pformat(mlp(), {.width = 20}));
    TEXT("pformat(mlp(), width=1)", tree_pformat(mlp(), {.width = 1}));
    TEXT("pformat(mlp(), indent=4)", tree_pformat(mlp(), {.indent = 4}));
    TEXT("pformat(mlp(), indent=0, width=30)", tree_pformat(mlp(), {.width = 30, .indent = 0}));
    TEXT("pformat(lin(), short_arrays=False)", tree_pformat(lin(), {.short_arrays = false}));
    TEXT("pformat(mlp(), short_arrays=False)", tree_pformat(mlp(), {.short_arrays = false}));
    TEXT("pformat(mlp(), short_arrays=False, width=30, indent=3)", tree_pformat(mlp(), {.width = 30, .indent = 3, .short_arrays = false}));
    TEXT("pformat((jnp.ones(3),))", tree_pformat(std::tuple(jnp::ones(3))));
    TEXT("pformat((jnp.ones(3),), width=4)", tree_pformat(std::tuple(jnp::ones(3)), {.width = 4}));
    TEXT("pformat((jnp.ones(3), (jnp.ones(2), ())), width=12)",
         tree_pformat(std::tuple(jnp::ones(3), std::tuple(jnp::ones(2), std::tuple<>())), {.width = 12}));
    TEXT("pformat([])", tree_pformat(std::vector<Array>()));
    TEXT("pformat({})", tree_pformat(Map()));
    TEXT("pformat({'k': {'a': jnp.ones(3)}}, width=10)",
         tree_pformat(std::map<std::string, Map>{{"k", {{"a", jnp::ones(3)}}}}, {.width = 10}));
    TEXT("pformat([jnp.ones(3, 'bfloat16'), jnp.ones(2, 'int8'), jnp.ones(1, 'uint32'), jnp.ones((), bool), jnp.ones(2, 'complex64')])",
         tree_pformat(std::vector<Array>{jnp::ones(3, jnp::bfloat16), jnp::ones(2, jnp::int8), jnp::ones(1, jnp::uint32),
                                         jnp::ones({}, jnp::bool_), jnp::ones(2, jnp::complex64)}));
    TEXT("pformat([jnp.asarray(1.), jnp.asarray(2), jax.random.key(0)])",
         tree_pformat(std::vector<Array>{jnp::asarray(1.), jnp::asarray(2), jax::random::key(0)}));
    TEXT("pformat(eqx.filter_eval_shape(lin))", tree_pformat(jax::filter_eval_shape(lin)));
    TEXT("pformat(eqx.filter_eval_shape(lin), struct_as_array=True)", tree_pformat(jax::filter_eval_shape(lin), {.struct_as_array = true}));
    TEXT("pformat(eqx.filter_eval_shape(lin), short_arrays=False, struct_as_array=True)",
         tree_pformat(jax::filter_eval_shape(lin), {.short_arrays = false, .struct_as_array = true}));
    TEXT("pformat((jnp.ones(2), 3, 2.5, 'a', True, None))", tree_pformat(std::tuple(jnp::ones(2), 3, 2.5, std::string("a"), true, none)));
}

void filters() {
    TEXT("eqx.filter(ints(), eqx.is_array)", jax::filter(ints(), jax::is_array));
    TEXT("eqx.filter(ints(), eqx.is_inexact_array)", jax::filter(ints(), jax::is_inexact_array));
    TEXT("eqx.filter(ints(), eqx.is_inexact_array, inverse=True)", jax::filter(ints(), jax::is_inexact_array, {.inverse = true}));
    TEXT("eqx.filter(ints(), eqx.is_inexact_array, replace=jnp.zeros(1))",
         jax::filter(ints(), jax::is_inexact_array, {.replace = jnp::zeros(1)}));
    TEXT("eqx.filter(lin(), lambda a: a.ndim > 1)", jax::filter(lin(), [](const Array& a) { return a.ndim() > 1; }));
    TEXT("eqx.filter(lin(), True)", jax::filter(lin(), true));
    TEXT("eqx.filter(lin(), False)", jax::filter(lin(), false));
    TEXT("eqx.filter(lin(), Linear(True, False))", jax::filter(lin(), Linear{true, false}));
    TEXT("eqx.filter(bare(), Linear(False, True))", jax::filter(bare(), Linear{false, true}));
    TEXT("eqx.filter(ints(), {'f': False, 'i': True})", jax::filter(ints(), std::map<std::string, bool>{{"f", false}, {"i", true}}));
    TEXT("eqx.filter((lin(), bare()), (True, False))", jax::filter(std::tuple(lin(), bare()), std::tuple(true, false)));
    TEXT("eqx.filter((lin(), ints()), (Linear(False, True), eqx.is_inexact_array))",
         jax::filter(std::tuple(lin(), ints()), std::tuple(Linear{false, true}, jax::is_inexact_array)));
    TEXT("eqx.filter(lin(), Linear(jnp.array(True), jnp.array(1)))", jax::filter(lin(), Linear{jnp::array(true), jnp::array(1)}));
    TEXT("eqx.partition(ints(), eqx.is_inexact_array)", jax::partition(ints(), jax::is_inexact_array));
    TEXT("eqx.partition(lin(), Linear(True, False))", jax::partition(lin(), Linear{true, false}));
    TEXT("eqx.combine(*eqx.partition(mlp().layers, lambda a: a.ndim > 1))", [] {
        const auto [a, b] = jax::partition(mlp().layers, [](const Array& v) { return v.ndim() > 1; });
        return jax::combine(a, b);
    }());
    const auto whole = jax::is_leaf([](const Linear& l) { return l.bias.has_value(); });
    const auto no_array = []<class N>(const N&) { return !std::is_same_v<N, Array>; };
    told("eqx.filter([lin(), bare()], lambda n: not eqx.is_array(n), is_leaf=lambda n: isinstance(n, Linear) and n.bias is not None)", [&] {
        return jax::filter(Linears{lin(), bare()}, no_array, whole);
    });
    told(
        "eqx.filter((lin(), bare()), (lambda n: not eqx.is_array(n), eqx.is_array), is_leaf=lambda n: isinstance(n, Linear) and n.bias is "
        "not None)",
        [&] { return jax::filter(std::tuple(lin(), bare()), std::tuple(no_array, jax::is_array), whole); });
    told(
        "eqx.partition([lin(), bare()], lambda n: not eqx.is_array(n), is_leaf=lambda n: isinstance(n, Linear) and n.bias is not "
        "None)[0]",
        [&] {
            return jax::partition(Linears{lin(), bare()}, no_array, whole).first;
        });
    told("eqx.filter([lin(), bare()], eqx.is_array, inverse=True, is_leaf=lambda n: isinstance(n, Linear) and n.bias is not None)", [&] {
        return jax::filter(Linears{lin(), bare()}, jax::is_array, whole, {.inverse = true});
    });
    TEXT("eqx.combine(bare(), lin())", jax::combine(bare(), lin()));
    TEXT("eqx.combine(lin(), bare())", jax::combine(lin(), bare()));
    TEXT("eqx.combine(Linear(None, None), bare(), lin())", jax::combine(Linear{}, bare(), lin()));
    TEXT("eqx.combine(Linear(None, None), Linear(None, None))", jax::combine(Linear{}, Linear{}));
    TEXT("eqx.combine({'a': jnp.ones(1)}, {'b': jnp.ones(1)})", jax::combine(Map{{"a", jnp::ones(1)}}, Map{{"b", jnp::ones(1)}}));
    TEXT("eqx.combine([lin()], [lin(), lin()])", jax::combine(Linears{lin()}, Linears{lin(), lin()}));
    TEXT("eqx.apply_updates(lin(), Linear(jnp.ones((2, 2)), None))", jax::apply_updates(lin(), Linear{jnp::ones({2, 2}), {}}));
    TEXT("eqx.apply_updates(bare(), Linear(None, None))", jax::apply_updates(bare(), Linear{}));
}

void places() {
    using jax::replace_fn;
    using jax::tree_at;
    TEXT("eqx.tree_at(lambda m: m.bias, lin(), jnp.zeros(3))", tree_at(
                                                                   [](auto& m) -> auto& { return m.bias; }, lin(), jnp::zeros(3)));
    TEXT("eqx.tree_at(lambda m: (m.bias, m.weight), lin(), (jnp.zeros(1), jnp.zeros(2)))",
         tree_at([](auto& m) { return std::tie(m.bias, m.weight); }, lin(), std::tuple(jnp::zeros(1), jnp::zeros(2))));
    TEXT("eqx.tree_at(lambda m: m.bias, lin(), replace_fn=lambda b: b * 2)",
         tree_at(
             [](auto& m) -> auto& { return m.bias; }, lin(), replace_fn([](const Array& b) { return b * 2; })));
    TEXT("eqx.tree_at(lambda m: (m.bias, m.weight), lin(), replace_fn=lambda b: b * 2)",
         tree_at([](auto& m) { return std::tie(m.bias, m.weight); }, lin(), replace_fn([](const Array& b) { return b * 2; })));
    TEXT("eqx.tree_at(lambda m: (m.bias, m.bias), lin(), replace_fn=lambda b: b * 2)",
         tree_at([](auto& m) { return std::tie(m.bias, m.bias); }, lin(), replace_fn([](const Array& b) { return b * 2; })));
    TEXT("eqx.tree_at(lambda m: (m.bias, m.bias), lin(), (jnp.zeros(1), jnp.zeros(2)))",
         tree_at([](auto& m) { return std::tie(m.bias, m.bias); }, lin(), std::tuple(jnp::zeros(1), jnp::zeros(2))));
    TEXT("eqx.tree_at(lambda m: m.layers[1], mlp(), lin()).layers", tree_at(
                                                                        [](auto& m) -> auto& { return m.layers[1]; }, mlp(), lin())
                                                                        .layers);
    TEXT("eqx.tree_at(lambda m: m.layers, mlp(), [bare()]).layers", tree_at(
                                                                        [](auto& m) -> auto& { return m.layers; }, mlp(), Linears{bare()})
                                                                        .layers);
    TEXT("eqx.tree_at(lambda m: m.extra['b'], mlp(), jnp.ones(5)).extra",
         tree_at(
             [](auto& m) -> auto& { return m.extra.at("b"); }, mlp(), jnp::ones(5))
             .extra);
    TEXT("eqx.tree_at(lambda m: m.norm.scale, mlp(), replace_fn=lambda s: s + 1).norm.scale",
         tree_at(
             [](auto& m) -> auto& { return m.norm.scale; }, mlp(), replace_fn([](const Array& s) { return s + 1; }))
             .norm.scale);
    TEXT("eqx.tree_at(lambda m: m.layers[0], mlp(), replace_fn=lambda l: Linear(l.weight, None)).layers",
         tree_at(
             [](auto& m) -> auto& { return m.layers[0]; }, mlp(), replace_fn([](const Linear& l) {
                 return Linear{l.weight, {}};
             }))
             .layers);
    TEXT("eqx.tree_at(lambda m: m, lin(), bare())", tree_at(
                                                        [](auto& m) -> auto& { return m; }, lin(), bare()));
    TEXT("eqx.tree_at(lambda m: (m.layers[0], m.layers[0].bias), mlp(), (lin(), jnp.ones(1)))",
         tree_at([](auto& m) { return std::tie(m.layers[0], m.layers[0].bias); }, mlp(), std::tuple(lin(), jnp::ones(1))).layers);
    TEXT("eqx.tree_at(lambda m: m.bias, bare(), jnp.ones(2), is_leaf=lambda v: v is None)",
         tree_at(
             [](auto& m) -> auto& { return m.bias; }, bare(), jnp::ones(2)));
    TEXT("eqx.tree_at(lambda m: m.bias, lin(), None)", tree_at(
                                                           [](auto& m) -> auto& { return m.bias; }, lin(), Array()));
    TEXT("eqx.tree_at(lambda t: t[0], (jnp.ones(1), jnp.ones(2)), jnp.ones(5))",
         tree_at(
             [](auto& t) -> auto& { return std::get<0>(t); }, std::tuple(jnp::ones(1), jnp::ones(2)), jnp::ones(5)));
}

void derivatives() {
    using jax::filter_jvp;
    TEXT("eqx.filter_jvp(lambda a, b: (a * 2, b * 2, a.astype(int)), (jnp.ones(2), jnp.ones(2)), (jnp.ones(2), None))",
         filter_jvp([](Array a, Array b) { return std::tuple(a * 2, b * 2, a.astype(jnp::int32)); }, std::tuple(jnp::ones(2), jnp::ones(2)),
                    std::tuple(jnp::ones(2), Array())));
    TEXT("eqx.filter_jvp(lambda a, b: (a * 2, a * b), (jnp.ones(2), jnp.ones(2)), (None, None))",
         filter_jvp([](Array a, Array b) { return std::tuple(a * 2, a * b); }, std::tuple(jnp::ones(2), jnp::ones(2)),
                    std::tuple(Array(), Array())));
    TEXT("eqx.filter_jvp(lambda a: (lax.stop_gradient(a), jnp.ones(3), a), (jnp.ones(2),), (jnp.ones(2),))",
         filter_jvp([](Array a) { return std::tuple(lax::stop_gradient(a), jnp::ones(3), a); }, std::tuple(jnp::ones(2)),
                    std::tuple(jnp::ones(2))));
    TEXT("eqx.filter_jvp(lambda t: t['f'] * t['i'], (ints(),), ({'f': jnp.ones(2), 'i': None},))",
         filter_jvp([](const Map& t) { return t.at("f") * t.at("i"); }, std::tuple(ints()),
                    std::tuple(Map{{"f", jnp::ones(2)}, {"i", Array()}})));
    TEXT("eqx.filter_jvp(lambda t: t['f'], (ints(),), ({'f': jnp.ones(2)},))",
         filter_jvp([](const Map& t) { return t.at("f"); }, std::tuple(ints()), std::tuple(Map{{"f", jnp::ones(2)}})));
    TEXT("eqx.filter_jvp(lambda a: a, (jnp.ones(2),), (jnp.ones(3),))",
         filter_jvp([](Array a) { return a; }, std::tuple(jnp::ones(2)), std::tuple(jnp::ones(3))));
    TEXT("eqx.filter_grad(lambda t: (t['f'] * t['i']).sum())(ints())",
         jax::filter_grad([](const Map& t) { return (t.at("f") * t.at("i")).sum(); })(ints()));
}

}  // namespace

void trees() {
    formats();
    filters();
    places();
    derivatives();
}

}  // namespace pairs
