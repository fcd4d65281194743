// Differentiation: vjp, jvp, linearize, linear_transpose, Jacobians, options of grad, closure_convert.
#include "pairs.h"

namespace pairs {

namespace {
Array wave(const Array& x) { return jnp::sin(x); }
Array loss(const Array& x, const Array& v) { return jnp::sin(x * v).sum(); }
struct Layer {
    Array w, b;
};
class Net {
public:
    Net(Array w, Array b, Array last, int times) : first_{std::move(w), std::move(b)}, last_(std::move(last)), times_{times} {}
    Array operator()(const Array& x) const { return jnp::sin(x * first_.w + first_.b).sum() * last_ * times_.value; }
    Layer first_;
    Array last_;
    jax::Static<int> times_;
    JAXSCOPE_PYTREE(Net, first_, last_, times_)
};
Array affine_loss(const Layer& l, const Array& x) { return jnp::sin(x * l.w + l.b).sum() * l.w.sum(); }
std::tuple<Array, Array> both(const Array& v, const Array& n) {
    Array s = jnp::sin(v), t = n.sum();
    return {s * t, n};
}
/// The examples of the checkpoint seed.
void seeds_checkpoints() {
    PAIR("jax.value_and_grad(jax.checkpoint(lambda t: jnp.sin(jnp.sin(jnp.sin(t)))))(2.)",
         jax::value_and_grad(jax::checkpoint([](Array t) { return jnp::sin(jnp::sin(jnp::sin(t))); }))(2.));
    PAIR("jax.grad(lambda a: jnp.sin(jax.checkpoint(lambda t: jnp.sin(jax.checkpoint(lambda u: jnp.sin(u))(t)))(a)).sum())(v)",
         jax::grad([](Array a) {
             const auto inner = jax::checkpoint([](Array u) { return jnp::sin(u); });
             return jnp::sin(jax::checkpoint([=](Array t) { return jnp::sin(inner(t)); })(a)).sum();
         })(v));
}

}  // namespace

void autodiff() {
    seeds_checkpoints();
    PAIR("jax.vjp(jnp.sin, x)[1](y)", [&] {
        auto [out, f_vjp] = jax::vjp(wave, x);
        return f_vjp(y);
    }());
    PAIR("(lambda yf: (yf[0], yf[1](x), yf[1](y)))(jax.vjp(jnp.sin, x))", [&] {
        auto [out, f_vjp] = jax::vjp(wave, x);
        auto first = f_vjp(x), second = f_vjp(y);
        return std::tuple(out, first, second);
    }());
    PAIR("jax.vjp(lambda x, v: jnp.sin(x * v).sum(), x, v)[1](2.)", [&] {
        auto [out, f_vjp] = jax::vjp(loss, x, v);
        return f_vjp(2.);
    }());
    PAIR("jax.vjp(lambda x: (jnp.sin(x), x * 2), x, has_aux=True)[1](y)", [&] {
        auto [out, f_vjp, aux] = jax::vjp<jax::has_aux>([](Array t) { return std::pair{jnp::sin(t), t * 2}; }, x);
        return f_vjp(y);
    }());
    PAIR("jax.linearize(jnp.sin, x)[1](y)", [&] {
        auto [out, f_jvp] = jax::linearize(wave, x);
        return f_jvp(y);
    }());
    PAIR("jax.linearize(lambda x, v: (x * v, v), x, v)[1](y, v)", [&] {
        auto [out, f_jvp] = jax::linearize([](Array t, Array u) { return std::pair{t * u, u}; }, x, v);
        return f_jvp(y, v);
    }());
    PAIR("jax.linear_transpose(lambda t: 2 * t * y, x)(x)", jax::linear_transpose([&](Array t) { return 2 * t * y; }, x)(x));
    PAIR("jax.jvp(lambda t: (jnp.sin(t), t * 2), (x,), (y,), has_aux=True)", jax::jvp<jax::has_aux>(
                                                                                 [](Array t) {
                                                                                     return std::pair{jnp::sin(t), t * 2};
                                                                                 },
                                                                                 std::tuple(x), std::tuple(y)));
    PAIR("jax.jvp(lambda x, v: jnp.sin(x * v).sum(), (x, v), (y, v))", jax::jvp(loss, std::tuple(x, v), std::tuple(y, v)));
    PAIR("jax.jacfwd(jnp.sin)(v)", jax::jacfwd(wave)(v));
    PAIR("jax.jacrev(jnp.sin)(v)", jax::jacrev(wave)(v));
    PAIR("jax.jacrev(lambda v, n: (jnp.sin(v) * n.sum(), n), argnums=(0, 1))(v, y[0])", jax::jacrev<0, 1>(both)(v, y[0]));
    PAIR("jax.jacfwd(lambda v, n: (jnp.sin(v) * n.sum(), n), argnums=(0, 1))(v, y[0])", jax::jacfwd<0, 1>(both)(v, y[0]));
    PAIR("jax.jacfwd(lambda v, n: (jnp.sin(v) * n.sum(), n), argnums=(1, 0))(v, y[0])", jax::jacfwd<1, 0>(both)(v, y[0]));
    PAIR("jax.jacrev(lambda v: (jnp.sin(v), v.sum()), has_aux=True)(v)", jax::jacrev(
                                                                             [](Array t) {
                                                                                 return std::pair{jnp::sin(t), t.sum()};
                                                                             },
                                                                             jax::with_aux)(v));
    PAIR("jax.jacfwd(lambda v: (jnp.sin(v), v.sum()), has_aux=True)(v)", jax::jacfwd(
                                                                             [](Array t) {
                                                                                 return std::pair{jnp::sin(t), t.sum()};
                                                                             },
                                                                             jax::with_aux)(v));
    PAIR("jax.jacrev(lambda v, u: (jnp.sin(u) * v, v.sum()), argnums=1, has_aux=True)(v, y[0])",
         jax::jacrev<jax::has_aux, 1>([](Array t, Array u) {
             return std::pair{jnp::sin(u) * t, t.sum()};
         })(v, y[0]));
    PAIR("jax.hessian(lambda v: (jnp.sin(v).sum(), v * 2), has_aux=True)(v)", jax::hessian<jax::has_aux>([](Array t) {
             return std::pair{jnp::sin(t).sum(), t * 2};
         })(v));
    PAIR("jax.grad(lambda v, u: ((v * u).sum(), v * 2), argnums=1, has_aux=True)(v, y[0])",
         jax::grad<jax::has_aux, 1>([](Array t, Array u) {
             return std::pair{(t * u).sum(), t * 2};
         })(v, y[0]));
    PAIR("jax.hessian(lambda v: jnp.sin(v).sum())(v)", jax::hessian([](Array t) { return jnp::sin(t).sum(); })(v));
    PAIR("jax.hessian(lambda v, u: (v * jnp.sin(u)).sum(), argnums=(0, 1))(v, y[0])",
         jax::hessian<0, 1>([](Array t, Array u) { return (t * jnp::sin(u)).sum(); })(v, y[0]));
    PAIR(
        "(lambda h: (h[0][0], h[0][1], h[1][0], h[1][1]))("
        "jax.hessian(lambda l: jnp.sin(y[0] * l[0] + l[1]).sum() * l[0].sum())((v, v * 2)))",
        [&] {
            const auto h = jax::hessian([&](const Layer& l) { return affine_loss(l, y[0]); })(Layer{.w = v, .b = v * 2});
            return std::tuple(h[&Layer::w].w, h[&Layer::w].b, h[&Layer::b].w, h[&Layer::b].b);
        }());
    PAIR("jax.jacfwd(lambda t: ((t * 2, jnp.sin(t)), t.sum()))(v)", [&] {
        return jax::jacfwd([&](Array t) {
            Array twice = t * 2, wave = jnp::sin(t);
            return std::tuple(Layer{.w = twice, .b = wave}, t.sum());
        })(v);
    }());
    PAIR(
        "(lambda h: (h[0][0][0][0], h[0][0][1], h[1][0][0], h[1][1]))("
        "jax.hessian(lambda t: jnp.sin(x * t[0][0] + t[0][1]).sum() * t[1] * 3)(((v, v * 3), v[0])))",
        [&] {
            Array thrice = v * 3, last = v[0];
            const auto h = jax::hessian([&](const Net& n) { return n(x); })(Net(v, thrice, last, 3));
            const auto& first = h[&Net::first_];
            return std::tuple(first[&Layer::w].first_.w, first[&Layer::w].last_, h[&Net::last_].first_.w, h[&Net::last_].last_);
        }());
    PAIR("jax.jacrev(jax.jit(jnp.sin))(v)", jax::jacrev(jax::jit(wave, {.name = "sin"}))(v));
    PAIR("jax.grad(lambda x, v: (jnp.sin(x * v).sum(), x), argnums=(1, 0), has_aux=True)(x, v)", jax::grad<1, 0>([](Array t, Array u) {
             return std::pair{jnp::sin(t * u).sum(), t};
         })(x, v));
    PAIR("jax.grad(lambda t: (t ** 2).sum(), holomorphic=True)(x.astype('complex64'))",
         jax::grad([](Array t) { return jnp::power(t, 2).sum(); }, {.holomorphic = true})(x.astype(jnp::complex64)));
    PAIR("jax.vmap(lambda r: jax.vjp(jnp.sin, r)[1](v)[0])(x)", jax::vmap([&](Array r) {
             auto [out, f_vjp] = jax::vjp(wave, r);
             return std::get<0>(f_vjp(v));
         })(x));
    PAIR("jax.jit(lambda t: jax.vjp(jnp.sin, t)[1](t))(x)", jax::jit(
                                                                [](Array t) {
                                                                    auto [out, f_vjp] = jax::vjp(wave, t);
                                                                    return f_vjp(t);
                                                                },
                                                                {.name = "<lambda>"})(x));
    PAIR("jax.grad(lambda v: jax.closure_convert(lambda t: t * v, x)[0](x, v * 2).sum())(v)", jax::grad([&](Array u) {
             auto [g, consts] = jax::closure_convert([&](Array t) { return t * u; }, x);
             return g(x, jax::Arrays{u * 2}).sum();
         })(v));
    PAIR("jax.jit(lambda t: jnp.sin(t) * v, inline=True)(x) + 1.",
         jax::jit([&](Array t) { return jnp::sin(t) * v; }, {.inline_ = true})(x) + 1.);
    PAIR("jax.grad(lambda t: jax.jit(lambda u: jnp.sin(u) * u, inline=True)(t).sum())(x)",
         jax::grad([](Array t) { return jax::jit([](Array u) { return jnp::sin(u) * u; }, {.inline_ = true})(t).sum(); })(x));
    PAIR("jax.vmap(jax.jit(lambda u: (jnp.sin(u), u), inline=True))(x)",
         jax::vmap(jax::jit([](Array u) { return std::pair(jnp::sin(u), u); }, {.inline_ = true}))(x));
    PAIR("jax.grad(jax.checkpoint(lambda t, flag, k: jnp.sin(t) * k if flag else t, static_argnums=(1, 2)))(2., True, 3)",
         jax::grad(jax::checkpoint([](Array t, bool flag, int times) { return flag ? jnp::sin(t) * times : t; },
                                   {.static_argnums = {1, 2}}))(2., true, 3));
    PAIR("jax.jit(lambda t, k, u: t * k + u, static_argnums=1)(2., 3, 4.)",
         jax::jit([](Array t, int times, Array u) { return t * times + u; }, {.static_argnums = {1}, .name = "<lambda>"})(2., 3, 4.));
    PAIR("lax.stop_gradient(x) * x", lax::stop_gradient(x) * x);
    PAIR("jax.grad(lambda v: (lax.stop_gradient(v) * v).sum())(v)",
         jax::grad([](Array t) { return (lax::stop_gradient(t) * t).sum(); })(v));
}

}  // namespace pairs
