// custom_jvp and custom_vjp in every nesting.
#include "pairs.h"

namespace pairs {

namespace {

const auto cj = jax::custom_jvp([](Array t) { return jnp::sin(t); }, {.name = "cj"})
                    .defjvp(
                        [](auto p, auto d) {
                            auto [t] = p;
                            auto [dt] = d;
                            Array y = jnp::sin(t), g = 2. * jnp::cos(t) * dt;
                            return std::pair(y, g);
                        },
                        {.name = "cj_jvp"});
const auto cv = jax::custom_vjp([](Array t, Array u) { return jnp::sin(t) * u; }, {.name = "cv"})
                    .defvjp(
                        [](Array t, Array u) {
                            Array y = jnp::sin(t) * u, c = jnp::cos(t);
                            return std::pair(y, std::tuple(c, t, u));
                        },
                        [](auto res, Array g) {
                            auto [c, t, u] = res;
                            Array a = c * g * u, b = jnp::sin(t) * g;
                            return std::tuple(a, b);
                        },
                        {.name = "cv_fwd", .bwd_name = "cv_bwd"});
const auto cvn = jax::custom_vjp([](Array t, Array u) { return jnp::sin(t) * u; }, {.name = "cvn"})
                     .defvjp(
                         [](Array t, Array u) {
                             Array y = jnp::sin(t) * u;
                             return std::pair(y, u);
                         },
                         [](Array u, Array g) { return std::tuple(g * u, none); }, {.name = "cvn_fwd", .bwd_name = "cvn_bwd"});
/// Its backward rule is wrong, which nobody sees before it is asked.
const auto cvw = jax::custom_vjp([](Array t) { return jnp::sin(t); }, {.name = "cvw"})
                     .defvjp(
                         [](Array t) {
                             Array y = jnp::sin(t);
                             return std::pair(y, t);
                         },
                         [](Array t, Array) { return std::tuple(t[{slice(2)}]); }, {.name = "cvw_fwd", .bwd_name = "cvw_bwd"});
const auto cvk = jax::custom_vjp<0>([](auto f, Array t) { return f(t); }, {.name = "cvk"})
                     .defvjp(
                         [](auto f, Array t) {
                             Array y = f(t);
                             return std::pair(y, t);
                         },
                         [](auto f, Array t, Array g) { return std::tuple(f(t) * g); }, {.name = "cvk_fwd", .bwd_name = "cvk_bwd"});
Array again(const Array& t);
const auto crec = jax::custom_jvp([](Array t) { return jnp::sin(t); }, {.name = "crec"})
                      .defjvp(
                          [](auto p, auto d) {
                              auto [t] = p;
                              auto [dt] = d;
                              Array y = again(t);
                              return std::pair(y, again(t) * dt);
                          },
                          {.name = "crec_jvp"});
Array again(const Array& t) { return crec(t); }
const auto cjs =
    jax::custom_jvp([](Array t, Array u) { return t * u; }, {.name = "cjs"})
        .defjvps([](Array dt, Array, Array, Array u) { return dt * u * 3.; }, [](Array du, Array, Array t, Array) { return du * t * 5.; });

using Two = std::pair<Array, Array>;
const auto fj = jax::filter_custom_jvp([](Array t, Array u) { return jnp::sin(t) * u; }).def_jvp([](auto p, auto d) {
    const auto& [t, u] = p;
    const auto& [dt, du] = d;
    Array y = jnp::sin(t) * u;
    if (!du.has_value()) return Two(y, 2. * dt * u);
    if (!dt.has_value()) return Two(y, 3. * du);
    return Two(y, dt * u + du);
});
const auto fj2 = jax::filter_custom_jvp([](Array t, Array u) {
                     return Two{jnp::sin(t), u * 2.};
                 }).def_jvp([](auto p, auto d) {
    const auto& [t, u] = p;
    const auto& [dt, du] = d;
    const Two y{jnp::sin(t), u * 2.};
    return std::pair(y, Two{dt.has_value() ? 5. * dt : Array(), du});
});
const auto fv = jax::filter_custom_vjp([](Two t) { return jnp::sin(t.first) * t.second; })
                    .def_fwd([](const Two& perturbed, Two t) {
                        Array y = jnp::sin(t.first) * t.second;
                        return std::pair(y, perturbed.first ? jnp::cos(t.first) : Array());
                    })
                    .def_bwd([](Array c, Array g, const Two& perturbed, const Two&) {
                        const Array first = c.has_value() ? c * g : Array();
                        return Two{first, perturbed.second ? 3. * g : Array()};
                    });
const auto fv2 = jax::filter_custom_vjp([](Two t) {
                     return Two{jnp::sin(t.first), t.second * 2.};
                 }).def_fwd([](bool, Two t) {
                       return std::pair(Two{jnp::sin(t.first), t.second * 2.}, lax::Nothing{});
                   }).def_bwd([](lax::Nothing, Two g, bool, const Two&) {
    return Two{g.first.has_value() ? 5. * g.first : Array(), g.second.has_value() ? 7. * g.second : Array()};
});
void rules_of_equinox() {
    PAIR("jax.linearize(cvw, v)[0]", jax::linearize(cvw, v).first);
    PAIR("jax.vjp(cvw, v)[0]", jax::vjp(cvw, v).first);
    PAIR("fj(v, v)", fj(v, v));
    PAIR("jax.grad(lambda a: fj(a, v).sum())(v)", jax::grad([=](Array a) { return fj(a, v).sum(); })(v));
    PAIR("jax.grad(lambda a: fj(v, a).sum())(v)", jax::grad([=](Array a) { return fj(v, a).sum(); })(v));
    PAIR("jax.grad(lambda a: fj(a, a).sum())(v)", jax::grad([](Array a) { return fj(a, a).sum(); })(v));
    PAIR("jax.jvp(lambda a: fj(a, v), (v,), (v,))", jax::jvp([=](Array a) { return fj(a, v); }, std::tuple(v), std::tuple(v)));
    PAIR("jax.jvp(lambda a: fj2(v, a), (v,), (v,))", jax::jvp([=](Array a) { return fj2(v, a); }, std::tuple(v), std::tuple(v)));
    PAIR("jax.grad(lambda a: fj2(a, v)[0].sum())(v)", jax::grad([=](Array a) { return fj2(a, v).first.sum(); })(v));
    PAIR("jax.vmap(jax.grad(lambda a, b: fj(a, b).sum()), in_axes=(0, None))(x, v)",
         jax::vmap(jax::grad([](Array a, Array c) { return fj(a, c).sum(); }), {.in_axes = {0, none}})(x, v));
    PAIR("jax.grad(lambda a: jax.vmap(lambda r: fj(r, a))(x).sum())(v)",
         jax::grad([=](Array a) { return jax::vmap([=](Array r) { return fj(r, a); })(x).sum(); })(v));
    PAIR("jax.grad(jax.checkpoint(lambda a: fj(a, v).sum()))(v)", jax::grad(jax::checkpoint([=](Array a) { return fj(a, v).sum(); }))(v));
    PAIR("jax.grad(lambda a: jax.grad(lambda c: fj(c, a).sum())(v).sum())(v)",
         jax::grad([=](Array a) { return jax::grad([=](Array c) { return fj(c, a).sum(); })(v).sum(); })(v));
    PAIR("jax.grad(lambda a: lax.scan(lambda c, e: (fj(c, e), None), a, x)[0].sum())(v)", jax::grad([=](Array a) {
             return lax::scan([](Array c, Array e) { return std::pair(fj(c, e), lax::Nothing{}); }, a, x).first.sum();
         })(v));
    PAIR("fv((v, v))", fv(Two(v, v)));
    PAIR("jax.grad(lambda a: fv((a, v)).sum())(v)", jax::grad([=](Array a) { return fv(Two(a, v)).sum(); })(v));
    PAIR("jax.grad(lambda a: fv((v, a)).sum())(v)", jax::grad([=](Array a) { return fv(Two(v, a)).sum(); })(v));
    PAIR("jax.grad(lambda a: fv((a, a)).sum())(v)", jax::grad([](Array a) { return fv(Two(a, a)).sum(); })(v));
    PAIR("jax.grad(jax.checkpoint(lambda a: fv((v, a)).sum()))(v)",
         jax::grad(jax::checkpoint([=](Array a) { return fv(Two(v, a)).sum(); }))(v));
    PAIR("jax.vmap(jax.grad(lambda a, b: fv((b, a)).sum()), in_axes=(0, None))(x, v)",
         jax::vmap(jax::grad([](Array a, Array c) { return fv(Two(c, a)).sum(); }), {.in_axes = {0, none}})(x, v));
    PAIR("jax.grad(lambda a: fv2((a, a))[0].sum())(v)", jax::grad([](Array a) { return fv2(Two(a, a)).first.sum(); })(v));
    PAIR("jax.grad(lambda a: fv2((a, a))[1].sum())(v)", jax::grad([](Array a) { return fv2(Two(a, a)).second.sum(); })(v));
    PAIR("jax.grad(lambda a: sum(fv2((a, a))).sum())(v)", jax::grad([](Array a) {
             const Two both = fv2(Two(a, a));
             return (0 + both.first + both.second).sum();
         })(v));
    PAIR("jax.grad(lambda a: jax.jit(lambda c: fv2((c, v))[0])(a).sum())(v)",
         jax::grad([=](Array a) { return jax::jit([=](Array c) { return fv2(Two(c, v)).first; }, {.name = "<lambda>"})(a).sum(); })(v));
}

}  // namespace

void custom_rules() {
    rules_of_equinox();
    PAIR("cj(x)", cj(x));
    PAIR("jax.grad(lambda t: cj(t).sum())(x)", jax::grad([](Array t) { return cj(t).sum(); })(x));
    PAIR("jax.jvp(cj, (x,), (y,))", jax::jvp(cj, std::tuple(x), std::tuple(y)));
    PAIR("jax.vmap(cj)(x)", jax::vmap(cj)(x));
    PAIR("jax.jit(lambda t: cj(t))(x)", jax::jit([](Array t) { return cj(t); }, {.name = "<lambda>"})(x));
    PAIR("jax.grad(lambda t: jax.grad(lambda s: cj(s).sum())(t).sum())(x)",
         jax::grad([](Array t) { return jax::grad([](Array s) { return cj(s).sum(); })(t).sum(); })(x));
    PAIR("jax.grad(lambda t: jax.vmap(cj)(t).sum())(x)", jax::grad([](Array t) { return jax::vmap(cj)(t).sum(); })(x));
    PAIR("jax.vmap(jax.grad(lambda t: cj(t).sum()))(x)", jax::vmap(jax::grad([](Array t) { return cj(t).sum(); }))(x));
    PAIR("jax.grad(jax.checkpoint(lambda t: cj(t).sum()))(x)", jax::grad(jax::checkpoint([](Array t) { return cj(t).sum(); }))(x));
    PAIR("jax.grad(jax.jit(lambda t: cj(t).sum()))(x)", jax::grad(jax::jit([](Array t) { return cj(t).sum(); }, {.name = "<lambda>"}))(x));
    PAIR("jax.grad(lambda v: lax.scan(lambda c, e: (cj(c * e), None), v, x)[0].sum())(v)", jax::grad([&](Array u) {
             return lax::scan([](Array c, Array e) { return std::pair(cj(c * e), lax::Nothing{}); }, u, x).first.sum();
         })(v));
    PAIR("crec(x)", crec(x));
    PAIR("jax.grad(lambda t: crec(t).sum())(x)", jax::grad([](Array t) { return crec(t).sum(); })(x));
    PAIR("jax.grad(lambda t: jax.grad(lambda s: crec(s).sum())(t).sum())(x)",
         jax::grad([](Array t) { return jax::grad([](Array s) { return crec(s).sum(); })(t).sum(); })(x));
    PAIR("cjs(x, y)", cjs(x, y));
    PAIR("jax.grad(lambda t: cjs(t, y).sum())(x)", jax::grad([&](Array t) { return cjs(t, y).sum(); })(x));
    PAIR("jax.jvp(cjs, (x, y), (y, x))", jax::jvp(cjs, std::tuple(x, y), std::tuple(y, x)));
    PAIR("cv(x, y)", cv(x, y));
    PAIR("jax.grad(lambda t: cv(t, y).sum())(x)", jax::grad([&](Array t) { return cv(t, y).sum(); })(x));
    PAIR("jax.grad(lambda t, u: cv(t, u).sum(), argnums=(0, 1))(x, y)",
         jax::grad<0, 1>([](Array t, Array u) { return cv(t, u).sum(); })(x, y));
    PAIR("jax.vmap(cv)(x, y)", jax::vmap(cv)(x, y));
    PAIR("jax.grad(lambda t: jax.vmap(cv, in_axes=(0, None))(t, v).sum())(x)", jax::grad([&](Array t) {
             return jax::vmap(cv, {.in_axes = {0, none}})(t, v).sum();
         })(x));
    PAIR("jax.grad(lambda v: jax.vmap(cv, in_axes=(0, None))(x, v).sum())(v)", jax::grad([&](Array u) {
             return jax::vmap(cv, {.in_axes = {0, none}})(x, u).sum();
         })(v));
    PAIR("jax.grad(jax.checkpoint(lambda t: cv(t, y).sum()))(x)", jax::grad(jax::checkpoint([&](Array t) { return cv(t, y).sum(); }))(x));
    PAIR("jax.grad(jax.jit(lambda t: cv(t, t).sum()))(x)",
         jax::grad(jax::jit([](Array t) { return cv(t, t).sum(); }, {.name = "<lambda>"}))(x));
    PAIR("jax.grad(lambda v: lax.scan(lambda c, e: (cv(c, e), None), v, x)[0].sum())(v)", jax::grad([&](Array u) {
             return lax::scan([](Array c, Array e) { return std::pair(cv(c, e), lax::Nothing{}); }, u, x).first.sum();
         })(v));
    PAIR("jax.grad(lambda t: jax.grad(lambda s: cv(s, y).sum())(t).sum())(x)",
         jax::grad([&](Array t) { return jax::grad([&](Array s) { return cv(s, y).sum(); })(t).sum(); })(x));
    PAIR("jax.grad(lambda t, u: cvn(t, u).sum(), argnums=(0, 1))(x, y)",
         jax::grad<0, 1>([](Array t, Array u) { return cvn(t, u).sum(); })(x, y));
    PAIR("jax.grad(lambda t: cvk(jnp.sin, t).sum())(x)",
         jax::grad([](Array t) { return cvk([](Array s) { return jnp::sin(s); }, t).sum(); })(x));
    PAIR("jax.vjp(cv, x, y)[1](x)", [&] {
        auto [out, f_vjp] = jax::vjp(cv, x, y);
        return f_vjp(x);
    }());
}

}  // namespace pairs
