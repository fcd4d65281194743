// pmap and filter_pmap on eight virtual devices, for tests/differential/test_pmap.py, which runs the same cases (pmap_cases.py) on JAX's
// eight forced host devices. For each case a line "NAME", its text (values: a line "DTYPE SHAPE N..." per array), a line "==".
#include <jaxscope/jax.h>

#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "base/error.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
using jax::Axis;
using jax::filter_pmap;
using jax::none;
using jax::pmap;

namespace {

using Map = std::map<std::string, Array>;
struct Layer {
    Array w, b;
};
struct Scaled {
    Array w;
    int times = 2;
    Array operator()(const Array& x) const { return x * w * times; }
};

Array ramp(std::vector<std::int64_t> shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return jnp::sin(jnp::arange(static_cast<double>(n)) * 0.7).reshape(jax::Shape(shape));
}
Array on_devices(const Array& x) {
    return pmap([](const Array& v) { return v * 1.0; })(x);
}

void put(std::ostream& out, const Array& a) {
    const bool whole = a.dtype() == jax::dtype::int32;
    out << (whole ? "int32" : a.dtype() == jax::dtype::float32 ? "float32" : "?") << " " << a.shape().str();
    for (const double v : a.to_vector()) out << " " << v;
    out << "\n";
}
template <class... T>
std::string values(const T&... t) {
    std::stringstream out;
    out.precision(9);
    const auto one = [&](const auto& v) {
        for (const Array& a : jax::tree_leaves(v)) put(out, a);
    };
    (one(t), ...);
    return out.str();
}
template <class F>
std::string refused(F f) {
    try {
        f();
    } catch (const jaxscope::Error& e) {
        return e.fact();
    }
    return "no error";
}
std::string yes(bool b) { return b ? "True" : "False"; }
template <class F>
auto jaxpr(F f) {
    return [f](const auto&... a) { return jax::make_jaxpr(f)(a...).str(); };
}

const auto same = [](const Array& x) { return x; };
const auto plus_one = [](const Array& x) { return x + 1; };
const auto add = [](const Array& x, const Array& y) { return x + y; };
const auto share = [](const Array& x) { return x / lax::psum(x, "i"); };

/// Is the argument gone after the call?
template <class F>
std::string gone(const F& f, const Array& x) {
    f(x);
    return yes(x.is_deleted());
}

const std::vector<std::pair<std::string, std::function<std::string()>>> kCases{
    // ---- Values
    {"squares", [] { return values(pmap([](const Array& x) { return x * x; })(ramp({8}))); }},
    {"shares", [] { return values(pmap(share, {.axis_name = "i"})(ramp({4}))); }},
    {"axes",
     [] {
         return values(pmap(
             [](const Array& x, const Array& y) {
                 return std::pair{jnp::matmul(x, y), jnp::sum(y)};
             },
             {.in_axes = {1, none}, .out_axes = {1, 0}})(ramp({2, 4, 3}), ramp({3, 5})));
     }},
    {"trees",
     [] {
         const Map batch{{"x", ramp({8, 3, 2})}, {"y", ramp({8, 3})}};
         const auto step = [](const Layer& p, const Map& b) {
             const auto loss = [&](const Layer& q) { return jnp::mean(jnp::square(jnp::matmul(b.at("x"), q.w) + q.b - b.at("y"))); };
             const Layer g = lax::pmean(jax::grad(loss)(p), "batch");
             return Layer{p.w - 0.1 * g.w, p.b - 0.1 * g.b};
         };
         return values(pmap(step, {.axis_name = "batch", .in_axes = {none, 0}, .out_axes = none})(Layer{ramp({2}), Array(0.5)}, batch));
     }},
    {"members",
     [] {
         return values(
             pmap([](const Map& m, const Array& x) { return m.at("a") * x + m.at("b"); },
                  {.in_axes = {Axis::dict({{"a", 0}, {"b", none}}), 1}})(Map{{"a", ramp({2, 3})}, {"b", ramp({3})}}, ramp({3, 2})));
     }},
    {"integers",
     [] {
         return values(pmap(
             [](const Array& x) {
                 return std::tuple{lax::psum(x, "i"), lax::pmax(x, "i"), lax::axis_index("i"), x % 3};
             },
             {.axis_name = "i"})(jnp::arange(8)));
     }},
    {"gathers",
     [] {
         return values(pmap(
             [](const Array& x) {
                 return std::tuple{lax::all_gather(x, "i"),
                                   lax::psum_scatter(lax::all_gather(x, "i", {.tiled = true}), "i", {.tiled = true}), lax::pmin(x, "i")};
             },
             {.axis_name = "i"})(ramp({4, 2})));
     }},
    {"scalars",
     [] {
         return values(pmap([](const Array& x, const Array& s) { return x * s; }, {.in_axes = {0, none}})(ramp({3}), 2.5));
     }},
    {"by name",
     [] {
         return values(pmap(add)(ramp({4, 2}), jax::kw("y", ramp({4, 2}))));
     }},
    {"static",
     [] {
         return values(pmap([](const Array& x, int n, const Array& y) { return x * n + y; },
                            {.in_axes = {0, none, 1}, .static_broadcasted_argnums = {1}})(ramp({4, 2}), 3, ramp({2, 4})));
     }},
    {"loop",
     [] {
         return values(pmap(
             [](const Array& x) {
                 return lax::fori_loop(
                     0, 3, [](const Array&, const Array& c) { return jnp::sin(c) + lax::pmean(c, "i"); }, x);
             },
             {.axis_name = "i"})(ramp({4, 3})));
     }},
    {"closed over",
     [] {
         const Array c = ramp({2});
         return values(pmap([&](const Array& x) { return x + c; })(ramp({4, 2})));
     }},
    {"one device",
     [] {
         return values(pmap(share, {.axis_name = "i"})(ramp({1, 3})));
     }},
    {"none for all",
     [] {
         return values(pmap([](const Array& x) { return lax::psum(x, "i"); }, {.axis_name = "i", .out_axes = none})(ramp({4, 2})));
     }},
    {"results from the end",
     [] {
         return values(pmap([](const Array& x) { return x * 1.0; }, {.out_axes = -1})(ramp({4, 5})));
     }},
    {"vmap inside",
     [] {
         return values(pmap(jax::vmap(
                                [](const Array& x) {
                                    return x / lax::psum(x, {"i", "j"});
                                },
                                {.axis_name = "j"}),
                            {.axis_name = "i"})(ramp({2, 3})));
     }},
    {"vmap around",
     [] {
         return values(jax::vmap(pmap(share, {.axis_name = "i"}))(ramp({2, 4})));
     }},
    {"jit around", [] { return values(jax::jit([](const Array& x) { return pmap(share, {.axis_name = "i"})(x) * 2 + x; })(ramp({4}))); }},
    {"grad around",
     [] {
         const auto f = pmap([](const Array& x) { return jnp::sin(x) * lax::psum(x, "i"); }, {.axis_name = "i"});
         return values(jax::grad([&](const Array& x) { return jnp::sum(f(x)); })(ramp({4})));
     }},
    {"grad inside",
     [] {
         const auto f = [](const Array& x) { return jnp::sin(x) * lax::psum(x, "i"); };
         return values(pmap(jax::grad(f), {.axis_name = "i"})(ramp({4})));
     }},
    {"jvp",
     [] {
         const auto f = pmap([](const Array& x) { return jnp::sin(x) * lax::psum(x, "i"); }, {.axis_name = "i"});
         const auto [y, dy] = jax::jvp(f, std::tuple(ramp({4})), std::tuple(ramp({4}) + 1));
         return values(y, dy);
     }},
    {"checkpoint",
     [] {
         const auto f =
             pmap(jax::checkpoint([](const Array& x) { return jnp::sin(jnp::sin(x)) * lax::pmean(x, "i"); }), {.axis_name = "i"});
         return values(jax::grad([&](const Array& x) { return jnp::sum(f(x)); })(ramp({4, 2})));
     }},
    {"filtered",
     [] {
         const auto r = filter_pmap([](const Array& x, int n) { return std::pair{x * n, n}; }, {.out_axes = {0, none}})(ramp({4, 2}), 3);
         return values(r.first) + std::to_string(r.second);
     }},
    {"filtered by name",
     [] {
         return values(filter_pmap(add, {.in_axes = Axis::dict({{"y", none}}), .arg_names = {"x", "y"}})(ramp({4, 2}), ramp({2})));
     }},
    {"filtered model",
     [] {
         return values(filter_pmap(Scaled{ramp({2}), 3})(ramp({4, 2})));
     }},
    {"filtered size",
     [] {
         return values(filter_pmap([](const Array& x) { return x + lax::axis_index("i"); },
                                   {.axis_name = "i", .in_axes = none, .axis_size = 4})(ramp({2})));
     }},
    {"filtered axes",
     [] {
         return values(filter_pmap(
             [](const Array& x, const Array& y) {
                 return std::tuple{x, x * y, lax::psum(x, "i"), jnp::sum(y)};
             },
             {.axis_name = "i", .in_axes = {0, none}, .out_axes = {1, 0, none, none}})(ramp({4, 2}), ramp({2})));
     }},
    // ---- Jaxprs
    {"jaxpr",
     [] {
         return jaxpr(pmap(
             [](const Array& a, const Array& b) {
                 return std::pair{jnp::sin(a) * b, lax::psum(a, "i")};
             },
             {.axis_name = "i", .in_axes = {0, none}, .donate_argnums = {0}}))(ramp({4, 2}), ramp({}));
     }},
    {"jaxpr without a name",
     [] {
         return jaxpr(pmap([](const Array& x) { return jnp::sin(x); }))(ramp({4, 2}));
     }},
    {"jaxpr of axes",
     [] {
         return jaxpr(pmap([](const Array& x) { return std::pair{jnp::sin(x), x}; }, {.in_axes = 1, .out_axes = {1, 0}}))(ramp({2, 4, 3}));
     }},
    {"jaxpr of axes from the end",
     [] {
         return jaxpr(pmap([](const Array& x) { return x * 1.0; }, {.in_axes = -2, .out_axes = -1}))(ramp({4, 5}));
     }},
    {"jaxpr of a constant",
     [] {
         const Array c = ramp({4, 2});
         return jaxpr(pmap([&](const Array& x) { return x + jnp::arange(2.0) + c[0]; }))(ramp({4, 2}));
     }},
    {"jaxpr filtered",
     [] {
         return jaxpr(filter_pmap(
             [](const Array& x, const Array& y) {
                 return std::tuple{x, x * y, lax::psum(x, "i"), jnp::sum(y)};
             },
             {.donate = "all", .axis_name = "i", .in_axes = {0, none}, .out_axes = {1, 0, none, none}}))(ramp({4, 2}), ramp({2}));
     }},
    {"jaxpr under vmap",
     [] {
         return jaxpr(jax::vmap(pmap([](const Array& x) { return lax::psum(jnp::sin(x), "i"); }, {.axis_name = "i"})))(ramp({2, 4}));
     }},
    // ---- Donation
    {"donated",
     [] {
         return gone(pmap(plus_one, {.donate_argnums = {0}}), on_devices(ramp({8, 2})));
     }},
    {"donated over four",
     [] {
         return gone(pmap(plus_one, {.donate_argnums = {0}}), on_devices(ramp({4, 2})));
     }},
    {"donated from one device",
     [] {
         return gone(pmap(plus_one, {.donate_argnums = {0}}), ramp({8, 2}));
     }},
    {"donated to another place",
     [] {
         return gone(pmap(plus_one, {.out_axes = 1, .donate_argnums = {0}}), on_devices(ramp({8, 2})));
     }},
    {"donated and not usable",
     [] {
         return gone(pmap([](const Array& x) { return jnp::sum(x); }, {.donate_argnums = {0}}), on_devices(ramp({8, 2})));
     }},
    {"donated and not read",
     [] {
         const Array x = on_devices(ramp({8, 2}));
         pmap([](const Array&, const Array& b) { return b * 2.0; }, {.donate_argnums = {0}})(x, ramp({8, 2}));
         return yes(x.is_deleted());
     }},
    {"donated by name",
     [] {
         const Array x = on_devices(ramp({8, 2}));
         pmap([](const Array&, const Array& y) { return y + 1; }, {.donate_argnums = {1}})(ramp({8, 2}), jax::kw("y", x));
         return yes(x.is_deleted());
     }},
    {"donated behind a static one",
     [] {
         const Array x = on_devices(ramp({8, 2}));
         pmap([](int n, const Array& y) { return y * n; }, {.static_broadcasted_argnums = {0}, .donate_argnums = {1}})(2, x);
         return yes(x.is_deleted());
     }},
    {"read after donation",
     [] {
         const Array x = on_devices(ramp({8, 2}));
         pmap(plus_one, {.donate_argnums = {0}})(x);
         return refused([&] { (void)(x + 1); });
     }},
    {"filter all",
     [] {
         return gone(filter_pmap(plus_one, {.donate = "all"}), on_devices(ramp({8, 2})));
     }},
    {"filter none",
     [] {
         return gone(filter_pmap(plus_one, {.donate = "none"}), on_devices(ramp({8, 2})));
     }},
    {"filter warn",
     [] {
         return gone(filter_pmap([](const Array& x) { return jnp::sum(x); }, {.donate = "warn"}), on_devices(ramp({8, 2})));
     }},
    {"where it lies",
     [] {
         return jax::sharding_of(pmap(plus_one, {.axis_name = "i", .out_axes = 1})(ramp({4, 2})));
     }},
    // ---- Refusals
    {"static and donated", [] { return refused([] { pmap(add, {.static_broadcasted_argnums = {1}, .donate_argnums = {1}}); }); }},
    {"both static and donated",
     [] { return refused([] {
              pmap(add, {.static_broadcasted_argnums = {0, 1}, .donate_argnums = {1, 0}});
          }); }},
    {"nothing mapped", [] { return refused([] {
                                pmap(same, {.in_axes = none})(ramp({8, 2}));
                            }); }},
    {"no arguments", [] { return refused([] { pmap([] { return Array(1.0); })(); }); }},
    {"a number mapped", [] { return refused([] { pmap(same)(1.0); }); }},
    {"a scalar mapped", [] { return refused([] { pmap(same)(jnp::zeros({})); }); }},
    {"static beyond", [] { return refused([] { pmap(same, {.static_broadcasted_argnums = {1}})(ramp({8})); }); }},
    {"nine", [] { return refused([] {
                      pmap(same)(ramp({9, 2}));
                  }); }},
    {"nine named", [] { return refused([] { pmap(share, {.axis_name = "i"})(ramp({9})); }); }},
    {"nine traced", [] { return refused([] {
                             jaxpr(pmap(same))(ramp({9, 2}));
                         }); }},
    {"sixteen", [] { return refused([] {
                         pmap(same)(ramp({16, 2}));
                     }); }},
    {"sizes differ", [] { return refused([] {
                              pmap(add)(ramp({4, 2}), ramp({3, 2}));
                          }); }},
    {"sizes differ traced",
     [] {
         return refused([] {
             jaxpr(pmap([](const Map& p, const Array& y) { return p.at("a") + y; }, {.axis_name = "i"}))(
                 Map{{"a", ramp({4, 2})}, {"b", ramp({5})}}, ramp({3, 2}));
         });
     }},
    {"twice the size", [] { return refused([] {
                                pmap(add)(ramp({4, 2}), ramp({8, 2}));
                            }); }},
    {"wrong axis_size", [] { return refused([] {
                                 pmap(same, {.axis_size = 3})(ramp({4, 2}));
                             }); }},
    {"axis beyond", [] { return refused([] {
                             pmap(same, {.in_axes = 2})(ramp({4, 2}));
                         }); }},
    {"axis beyond a later one", [] { return refused([] {
                                         pmap(add, {.axis_name = "i", .in_axes = {0, 1}})(ramp({4, 2}), ramp({4}));
                                     }); }},
    {"axis beyond traced",
     [] { return refused([] {
              jaxpr(pmap(add, {.axis_name = "i", .in_axes = {0, 1}}))(ramp({4, 2}), ramp({4}));
          }); }},
    {"result's axis beyond", [] { return refused([] {
                                      pmap(plus_one, {.out_axes = 3})(ramp({4, 2}));
                                  }); }},
    {"axes of one argument", [] { return refused([] {
                                      pmap(add, {.in_axes = {0}})(ramp({4, 2}), ramp({4, 2}));
                                  }); }},
    {"axes and names", [] { return refused([] {
                                pmap(add, {.in_axes = {0, 0}})(ramp({4, 2}), jax::kw("y", ramp({4, 2})));
                            }); }},
    {"axes of another dict",
     [] {
         return refused([] {
             pmap([](const Map& m) { return m.at("a"); }, {.in_axes = {Axis::dict({{"b", 0}})}})(Map{{"a", ramp({4, 2})}});
         });
     }},
    {"lies along another axis", [] { return refused([] {
                                         pmap(same, {.in_axes = 1})(on_devices(ramp({8, 8})));
                                     }); }},
    {"lies over other devices", [] { return refused([] {
                                         pmap(same, {.in_axes = 1})(on_devices(ramp({4, 8})));
                                     }); }},
    {"no axis", [] { return refused([] { pmap([](const Array& x) { return lax::psum(x, "j"); }, {.axis_name = "i"})(ramp({4})); }); }},
    {"empty", [] { return refused([] {
                       pmap(same)(ramp({0, 2}));
                   }); }},
    {"filter foo", [] { return refused([] { filter_pmap(same, {.donate = "foo"}); }); }},
    {"filter keywords", [] { return refused([] {
                                 filter_pmap(same)(jax::kw("x", ramp({8, 2})));
                             }); }},
    {"filter nothing mapped", [] { return refused([] { filter_pmap(same, {.in_axes = none})(ramp({2})); }); }},
    {"filter strange name",
     [] {
         return refused([] { filter_pmap(add, {.in_axes = Axis::dict({{"z", none}}), .arg_names = {"x", "y"}})(ramp({4, 2}), ramp({2})); });
     }},
    {"filter axis beyond", [] { return refused([] {
                                    filter_pmap(same, {.out_axes = 5})(ramp({4, 2}));
                                }); }},
    {"filter sizes", [] { return refused([] {
                              filter_pmap(add)(ramp({4, 2}), ramp({3, 1}));
                          }); }},
};

}  // namespace

int main() {
    jax::set_virtual_devices(8);
    for (const auto& [name, run] : kCases) {
        std::string text;
        try {
            text = run();
        } catch (const std::exception& e) {
            text = std::string("failed: ") + e.what();
        }
        std::cout << name << "\n" << text << "\n==\n";
    }
}
