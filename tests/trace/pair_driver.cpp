// The pairs of the first milestone, and the driver.
#include "pairs/pairs.h"

namespace {

using namespace pairs;

void elementwise() {
#define UNARY(name) PAIR("jnp." #name "(x)", jnp::name(x))
    UNARY(abs);
    UNARY(negative);
    UNARY(positive);
    UNARY(sign);
    UNARY(floor);
    UNARY(ceil);
    UNARY(round);
    UNARY(rint);
    UNARY(trunc);
    UNARY(exp);
    UNARY(exp2);
    UNARY(expm1);
    UNARY(log);
    UNARY(log1p);
    UNARY(log2);
    UNARY(log10);
    UNARY(sin);
    UNARY(cos);
    UNARY(tan);
    UNARY(arcsin);
    UNARY(arccos);
    UNARY(arctan);
    UNARY(sinh);
    UNARY(cosh);
    UNARY(tanh);
    UNARY(arcsinh);
    UNARY(arccosh);
    UNARY(arctanh);
    UNARY(sqrt);
    UNARY(cbrt);
    UNARY(square);
    UNARY(reciprocal);
    UNARY(isnan);
    UNARY(isinf);
    UNARY(isfinite);
    UNARY(logical_not);
    UNARY(deg2rad);
    UNARY(rad2deg);
    UNARY(signbit);
    UNARY(ravel);
    UNARY(flip);
    UNARY(fliplr);
    UNARY(flipud);
    UNARY(nan_to_num);
    UNARY(real);
    UNARY(imag);
    UNARY(conj);
#undef UNARY
#define INTEGER(name) PAIR("jnp." #name "(n)", jnp::name(n))
    INTEGER(abs);
    INTEGER(floor);
    INTEGER(sin);
    INTEGER(sqrt);
    INTEGER(square);
    INTEGER(mean);
    INTEGER(sum);
    INTEGER(max);
    INTEGER(any);
#undef INTEGER
#define BINARY(name) PAIR("jnp." #name "(x, y)", jnp::name(x, y))
    BINARY(add);
    BINARY(subtract);
    BINARY(multiply);
    BINARY(divide);
    BINARY(true_divide);
    BINARY(floor_divide);
    BINARY(remainder);
    BINARY(mod);
    BINARY(fmod);
    BINARY(power);
    BINARY(maximum);
    BINARY(minimum);
    BINARY(fmax);
    BINARY(fmin);
    BINARY(arctan2);
    BINARY(equal);
    BINARY(not_equal);
    BINARY(less);
    BINARY(less_equal);
    BINARY(greater);
    BINARY(greater_equal);
    BINARY(logical_and);
    BINARY(logical_or);
    BINARY(logical_xor);
    BINARY(copysign);
    BINARY(nextafter);
    BINARY(heaviside);
    BINARY(isclose);
    BINARY(array_equal);
    BINARY(outer);
    BINARY(vdot);
#undef BINARY
    PAIR("x + 1", x + 1);
    PAIR("1 - x", 1 - x);
    PAIR("x * 2", x * 2);
    PAIR("x / 2", x / 2);
    PAIR("1 / x", 1 / x);
    PAIR("-x", -x);
    PAIR("x > 0", x > 0);
    PAIR("x // 2", jnp::floor_divide(x, 2));
    PAIR("x % 2", x % 2);
    PAIR("x + v", x + v);
    PAIR("v * x", v * x);
    PAIR("n + 1", n + 1);
    PAIR("n / 2", n / 2);
    PAIR("n * 2.", n * 2.);
    PAIR("n // 2", jnp::floor_divide(n, 2));
    PAIR("n % 2", n % 2);
    PAIR("n + v", n + v);
    PAIR("~b", ~b);
    PAIR("b & b", b & b);
    PAIR("b | b", b | b);
    PAIR("b ^ b", b ^ b);
    PAIR("b + b", b + b);
    PAIR("b * x", b * x);
    PAIR("n << 1", jnp::left_shift(n, 1));
    PAIR("n >> 1", jnp::right_shift(n, 1));
    PAIR("n & 6", n & 6);
    PAIR("x ** 2", jnp::power(x, 2));
    PAIR("x ** 3", jnp::power(x, 3));
    PAIR("x ** 0.5", jnp::power(x, 0.5));
    PAIR("2. ** x", jnp::power(2., x));
    PAIR("n ** 2", jnp::power(n, 2));
    PAIR("jnp.power(0.9, n)", jnp::power(0.9, n));
    PAIR("jnp.maximum(x, 0)", jnp::maximum(x, 0));
    PAIR("jnp.maximum(n, 1.5)", jnp::maximum(n, 1.5));
    PAIR("jnp.where(b, x, y)", jnp::where(b, x, y));
    PAIR("jnp.where(b, x, 0.)", jnp::where(b, x, 0.));
    PAIR("jnp.where(b, 1., x)", jnp::where(b, 1., x));
    PAIR("jnp.where(x > 0, x, v)", jnp::where(x > 0, x, v));
    PAIR("jnp.clip(x, 0., 1.)", jnp::clip(x, 0., 1.));
    PAIR("jnp.clip(x, 0, 1)", jnp::clip(x, 0, 1));
    PAIR("x.astype('bfloat16')", x.astype(jnp::bfloat16));
    PAIR("x.astype(int)", x.astype(jnp::int32));
    PAIR("jnp.sin(x.astype('bfloat16')) * 2.", jnp::sin(x.astype(jnp::bfloat16)) * 2.);
    PAIR("x.astype('bfloat16') + x.astype('float16')", [&] {
        Array l = x.astype(jnp::bfloat16), r = x.astype(jnp::float16);
        return l + r;
    }());
}

void along_axes() {
#define REDUCTION(name)                                          \
    PAIR("jnp." #name "(x)", jnp::name(x));                      \
    PAIR("jnp." #name "(x, axis=0)", jnp::name(x, {.axis = 0})); \
    PAIR("jnp." #name "(x, axis=-1, keepdims=True)", jnp::name(x, {.axis = -1, .keepdims = true}))
    REDUCTION(sum);
    REDUCTION(prod);
    REDUCTION(max);
    REDUCTION(min);
    REDUCTION(mean);
    REDUCTION(var);
    REDUCTION(std);
    REDUCTION(any);
    REDUCTION(all);
    REDUCTION(ptp);
#undef REDUCTION
    PAIR("jnp.linalg.norm(x)", jnp::linalg::norm(x));
    PAIR("jnp.linalg.norm(x, axis=1)", jnp::linalg::norm(x, {.axis = 1}));
    PAIR("b.sum()", b.sum());
    PAIR("jnp.sum(x, axis=(0, 1))", jnp::sum(x, {.axis = {0, 1}}));
    PAIR("jnp.argmax(x)", jnp::argmax(x));
    PAIR("jnp.argmax(x, axis=1)", jnp::argmax(x, 1));
    PAIR("jnp.argmin(x, axis=0)", jnp::argmin(x, 0));
    PAIR("jnp.cumsum(x)", jnp::cumsum(x));
    PAIR("jnp.cumsum(x, axis=1)", jnp::cumsum(x, 1));
    PAIR("jnp.cumprod(x, axis=0)", jnp::cumprod(x, 0));
    PAIR("jnp.sort(x)", jnp::sort(x));
    PAIR("jnp.sort(x, axis=0)", jnp::sort(x, 0));
    PAIR("jnp.argsort(x)", jnp::argsort(x));
    PAIR("jnp.diff(x)", jnp::diff(x));
    PAIR("jnp.count_nonzero(x)", jnp::count_nonzero(x));
}

void shapes() {
    PAIR("jnp.reshape(x, (4, 3))", jnp::reshape(x, {4, 3}));
    PAIR("x.reshape(-1)", x.reshape(-1));
    PAIR("jnp.transpose(x)", jnp::transpose(x));
    PAIR("x.T", x.T());
    PAIR("jnp.swapaxes(x, 0, 1)", jnp::swapaxes(x, 0, 1));
    PAIR("jnp.moveaxis(x, 0, 1)", jnp::moveaxis(x, 0, 1));
    PAIR("jnp.expand_dims(x, 0)", jnp::expand_dims(x, 0));
    PAIR("jnp.squeeze(x[None])", jnp::squeeze(x[{none}]));
    PAIR("jnp.broadcast_to(v, (3, 4))", jnp::broadcast_to(v, {3, 4}));
    PAIR("jnp.broadcast_to(x[:, :1], (3, 4))", jnp::broadcast_to(x[{all, slice(1)}], {3, 4}));
    PAIR("jnp.concatenate([x, y])", jnp::concatenate({x, y}));
    PAIR("jnp.concatenate([x, y], axis=1)", jnp::concatenate({x, y}, 1));
    PAIR("jnp.stack([x, y])", jnp::stack({x, y}));
    PAIR("jnp.stack([x, y], axis=1)", jnp::stack({x, y}, 1));
    PAIR("jnp.vstack([x, y])", jnp::vstack({x, y}));
    PAIR("jnp.hstack([x, y])", jnp::hstack({x, y}));
    PAIR("jnp.tile(x, (2, 1))", jnp::tile(x, {2, 1}));
    PAIR("jnp.repeat(x, 2, axis=0)", jnp::repeat(x, 2, 0));
    PAIR("jnp.roll(x, 1, axis=0)", jnp::roll(x, 1, 0));
    PAIR("jnp.roll(x, 1)", jnp::roll(x, 1));
    PAIR("jnp.tril(x)", jnp::tril(x));
    PAIR("jnp.triu(x)", jnp::triu(x));
    PAIR("jnp.triu(x, 1)", jnp::triu(x, 1));
    PAIR("jnp.zeros((2, 3))", jnp::zeros({2, 3}));
    PAIR("jnp.ones((2,), int)", jnp::ones(2, jnp::int32));
    PAIR("jnp.full((2,), 3.)", jnp::full(2, 3.));
    PAIR("jnp.zeros_like(x)", jnp::zeros_like(x));
    PAIR("jnp.ones_like(n)", jnp::ones_like(n));
    PAIR("jnp.full_like(x, 2)", jnp::full_like(x, 2));
    PAIR("jnp.arange(5)", jnp::arange(5));
    PAIR("jnp.arange(1, 5)", jnp::arange(1, 5));
    PAIR("jnp.arange(1, 8, 2)", jnp::arange(1, 8, 2));
    PAIR("jnp.linspace(0., 1., 5)", jnp::linspace(0., 1., 5));
    PAIR("jnp.eye(3)", jnp::eye(3));
    PAIR("jnp.asarray(2.)", jnp::asarray(2.));
    PAIR("jnp.array(2.)", jnp::array(2.));
    PAIR("jnp.array([1., 2.]) * v[:2]", jnp::array({1., 2.}) * v[{slice(2)}]);
    PAIR("x[0]", x[0]);
    PAIR("x[-1]", x[-1]);
    PAIR("x[:, 0]", x[{all, 0}]);
    PAIR("x[1:]", x[{slice(1, none)}]);
    PAIR("x[:, 1:3]", x[{all, slice(1, 3)}]);
    PAIR("x[::2]", x[{slice(none, none, 2)}]);
    PAIR("x[::-1]", x[{slice(none, none, -1)}]);
    PAIR("x[None]", x[{none}]);
    PAIR("x[:, None]", x[{all, none}]);
    PAIR("x[..., 0]", x[{ellipsis, 0}]);
    PAIR("x[0, 1]", x[{0, 1}]);
    PAIR("x[0:1, None, 2]", x[{slice(0, 1), none, 2}]);
    PAIR("x[i]", x[{i}]);
    PAIR("x[:, i]", x[{all, i}]);
    PAIR("jnp.take(x, i, axis=0)", jnp::take(x, i, 0));
    PAIR("jnp.take(x, i, axis=1)", jnp::take(x, i, 1));
}

void products_and_nn() {
    PAIR("x @ w", jnp::matmul(x, w));
    PAIR("jnp.dot(x, v)", jnp::dot(x, v));
    PAIR("jnp.matmul(x, v)", jnp::matmul(x, v));
    PAIR("jnp.inner(x, v)", jnp::inner(x, v));
    PAIR("jnp.matmul(x[None], w)", jnp::matmul(x[{none}], w));
    PAIR("lax.dot(x, w)", lax::dot(x, w));
    PAIR("nn.sigmoid(x)", nn::sigmoid(x));
    PAIR("nn.silu(x)", nn::silu(x));
    PAIR("nn.soft_sign(x)", nn::soft_sign(x));
    PAIR("nn.leaky_relu(x)", nn::leaky_relu(x));
    PAIR("nn.gelu(x)", nn::gelu(x));
    PAIR("nn.gelu(x, approximate=False)", nn::gelu(x, false));
    PAIR("nn.softmax(x)", nn::softmax(x));
    PAIR("nn.softmax(x, axis=0)", nn::softmax(x, 0));
    PAIR("nn.log_softmax(x)", nn::log_softmax(x));
    PAIR("nn.logsumexp(x)", nn::logsumexp(x));
    PAIR("nn.logsumexp(x, axis=1)", nn::logsumexp(x, {.axis = 1}));
    PAIR("nn.one_hot(i, 5)", nn::one_hot(i, 5));
    PAIR("lax.rsqrt(y)", lax::rsqrt(y));
    PAIR("lax.erf(x)", lax::erf(x));
    PAIR("lax.integer_pow(x, 3)", lax::integer_pow(x, 3));
    PAIR("lax.stop_gradient(x)", lax::stop_gradient(x));
    PAIR("lax.clamp(0., x, 1.)", lax::clamp(0., x, 1.));
    PAIR("lax.cumsum(x)", lax::cumsum(x));
    PAIR("lax.top_k(x, 2)", lax::top_k(x, 2));
    PAIR("jr.split(k)", jax::random::split(k));
    PAIR("jr.fold_in(k, 3)", jax::random::fold_in(k, 3));
    PAIR("jr.bits(k, (3,))", jax::random::bits(k, 3));
    PAIR("jr.uniform(k, (3,))", jax::random::uniform(k, 3));
    PAIR("jr.uniform(k, (3,), minval=-1., maxval=2.)", jax::random::uniform(k, 3, -1., 2.));
    PAIR("jr.normal(k, (3, 2))", jax::random::normal(k, {3, 2}));
    PAIR("jr.normal(k)", jax::random::normal(k));
    PAIR("jr.bernoulli(k, .5, (3,))", jax::random::bernoulli(k, .5, 3));
    PAIR("jr.split(k, 4)[1]", jax::random::split(k, 4)[1]);
}

Array block(const Array& x, const Array& v) { return jnp::sin(x * v).sum(); }

void transformations() {
    PAIR("jax.grad(lambda x, v: jnp.sin(x * v).sum())(x, v)", jax::grad(block)(x, v));
    PAIR("jax.grad(lambda x, v: jnp.sin(x * v).sum(), argnums=(0, 1))(x, v)", jax::grad<0, 1>(block)(x, v));
    PAIR("jax.value_and_grad(lambda x, v: jnp.sin(x * v).sum(), argnums=1)(x, v)", jax::value_and_grad<1>(block)(x, v));
    PAIR("jax.grad(lambda v: jnp.tanh(x @ w).sum() * v.sum())(v)", jax::grad([&](Array u) {
             Array t = jnp::tanh(jnp::matmul(x, w)).sum();
             return t * u.sum();
         })(v));
    PAIR("jax.grad(lambda v: jax.grad(lambda u: (u ** 3).sum())(v).sum())(v)",
         jax::grad([](Array u) { return jax::grad([](Array t) { return jnp::power(t, 3).sum(); })(u).sum(); })(v));
    PAIR("jax.grad(jax.checkpoint(lambda x, v: jnp.sin(x * v).sum()))(x, v)", jax::grad(jax::checkpoint(block))(x, v));
    PAIR("jax.checkpoint(lambda x: jnp.sin(x) * 2.)(x)", jax::checkpoint([](Array t) { return jnp::sin(t) * 2.; })(x));
    PAIR("jax.jvp(jnp.sin, (x,), (y,))", jax::jvp([](Array t) { return jnp::sin(t); }, std::tuple(x), std::tuple(y)));
    PAIR("jax.vmap(lambda r: r @ w)(x)", jax::vmap([&](Array r) { return jnp::matmul(r, w); })(x));
    PAIR("jax.vmap(lambda r, s: r * s, in_axes=(0, None))(x, v)",
         jax::vmap([](Array r, Array s) { return r * s; }, {.in_axes = {0, none}})(x, v));
    PAIR("jax.vmap(jax.grad(lambda r: (r ** 2).sum()), out_axes=1)(x)",
         jax::vmap(jax::grad([](Array r) { return jnp::power(r, 2).sum(); }), {.out_axes = 1})(x));
    PAIR("jax.jit(lambda t: jnp.sin(t) + 1)(x)", jax::jit([](Array t) { return jnp::sin(t) + 1; }, {.name = "<lambda>"})(x));
    PAIR("jax.grad(jax.jit(lambda t: jnp.sin(t).sum()))(x)",
         jax::grad(jax::jit([](Array t) { return jnp::sin(t).sum(); }, {.name = "<lambda>"}))(x));
}

void loops() {
    PAIR("lax.scan(lambda c, y: (c + y, c * y), x[0], x)", lax::scan([](Array c, Array e) { return std::pair{c + e, c * e}; }, x[0], x));
    PAIR("lax.scan(lambda c, y: (jnp.tanh(c * v + y), c), x[0], x, reverse=True)", lax::scan(
                                                                                       [&](Array c, Array e) {
                                                                                           return std::pair{jnp::tanh(c * v + e), c};
                                                                                       },
                                                                                       x[0], x, {.reverse = true}));
    PAIR("lax.while_loop(lambda c: c.sum() < 10, lambda c: c + 1, x)",
         lax::while_loop([](Array c) { return c.sum() < 10; }, [](Array c) { return c + 1; }, x));
    PAIR("lax.while_loop(lambda c: c.sum() < 10, lambda c: c + v * v, x)",
         lax::while_loop([](Array c) { return c.sum() < 10; }, [&](Array c) { return c + v * v; }, x));
    PAIR("lax.fori_loop(0, 3, lambda i, c: c * 2, x)", lax::fori_loop(
                                                           0, 3, [](Array, Array c) { return c * 2; }, x));
    PAIR("lax.map(lambda r: r * 2, x)", lax::map([](Array r) { return r * 2; }, x));
    PAIR("lax.cond(x.sum() > 0, lambda z: z + 1, lambda z: z * 2, x)",
         lax::cond(
             x.sum() > 0, [](Array z) { return z + 1; }, [](Array z) { return z * 2; }, x));
    PAIR("lax.cond(x.sum() > 0, lambda z: z + v, lambda z: z * y, x)",
         lax::cond(
             x.sum() > 0, [&](Array z) { return z + v; }, [&](Array z) { return z * y; }, x));
    PAIR("lax.switch(i[0], [lambda z: z + 1, lambda z: z * 2, lambda z: z], x)",
         lax::switch_(i[0], std::tuple([](Array z) { return z + 1; }, [](Array z) { return z * 2; }, [](Array z) { return z; }), x));
    PAIR("jax.grad(lambda v: lax.scan(lambda c, y: (jnp.sin(c * y), None), v, x)[0].sum())(v)", jax::grad([&](Array u) {
             return lax::scan([](Array c, Array e) { return std::pair(jnp::sin(c * e), lax::Nothing{}); }, u, x).first.sum();
         })(v));
    PAIR("jax.grad(lambda v: lax.cond(v.sum() > 0, jnp.sin, jnp.cos, v).sum())(v)", jax::grad([&](Array u) {
             return lax::cond(
                        u.sum() > 0, [](Array z) { return jnp::sin(z); }, [](Array z) { return jnp::cos(z); }, u)
                 .sum();
         })(v));
    PAIR("jax.vmap(lambda r: lax.scan(lambda c, _: (c * r.sum(), None), r, None, length=2)[0])(x)", jax::vmap([](Array r) {
             return lax::scan([&](Array c, lax::Nothing) { return std::pair(c * r.sum(), lax::Nothing{}); }, r, lax::Nothing{},
                              {.length = 2})
                 .first;
         })(x));
}

}  // namespace

int main(int argc, char** argv) {
    using namespace pairs;
    if (argc > 1) return std::strcmp(argv[1], "trees") == 0 ? trees() : errors(), 0;
    elementwise();
    along_axes();
    shapes();
    products_and_nn();
    transformations();
    loops();
    autodiff();
    exact_products();
    custom_rules();
    activations();
    lax_functions();
    mapping();
    named_axes();
    more_functions();
    further_functions();
    numbers();
    positions();
    options_of_nn();
    composed_functions();
    options();
    arrangements();
    pieces();
    linear_algebra();
    sorted_arrays();
    more_random();
    loops_that_close_over();
    indexing();
    methods();
    weak_types();
}
