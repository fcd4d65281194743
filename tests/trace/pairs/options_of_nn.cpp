// jax.nn with masks, factors, slopes; jax.random with bounds, parts and probabilities; jax.numpy.linalg and fft beyond one axis.
#include <jaxscope/fft.h>

#include "pairs.h"

namespace jr = jax::random;

namespace pairs {

namespace {

void activations_with_options() {
    PAIR("nn.logsumexp(x, axis=1, keepdims=True)", nn::logsumexp(x, {.axis = 1, .keepdims = true}));
    PAIR("nn.logsumexp(x, keepdims=True)", nn::logsumexp(x, {.keepdims = true}));
    PAIR("nn.logsumexp(x, axis=1, b=y)", nn::logsumexp(x, {.axis = 1, .b = y}));
    PAIR("nn.logsumexp(x, b=v, keepdims=True)", nn::logsumexp(x, {.keepdims = true, .b = v}));
    PAIR("nn.logsumexp(x, where=b)", nn::logsumexp(x, {.where = b}));
    PAIR("nn.logsumexp(x, axis=0, b=2., where=b)", nn::logsumexp(x, {.axis = 0, .b = 2., .where = b}));
    PAIR("nn.logsumexp(n)", nn::logsumexp(n));
    PAIR("nn.logsumexp(lax.complex(x, y), axis=0)", nn::logsumexp(lax::complex(x, y), {.axis = 0}));
    PAIR("jax.grad(lambda q: nn.logsumexp(q, b=v))(v)", jax::grad([&](Array q) { return nn::logsumexp(q, {.b = v}); })(v));
    PAIR("nn.softmax(x, where=b)", nn::softmax(x, -1, b));
    PAIR("nn.softmax(x, axis=(0, 1))", nn::softmax(x, {0, 1}));
    PAIR("nn.log_softmax(x, where=b)", nn::log_softmax(x, -1, b));
    PAIR("nn.log_softmax(x, axis=(0, 1))", nn::log_softmax(x, {0, 1}));
    PAIR("nn.softmax(n.astype(jnp.int8))", nn::softmax(n.astype(jnp::int8)));
    PAIR("jax.grad(lambda q: nn.softmax(q, where=b[0])[1])(v)", jax::grad([&](Array q) { return nn::softmax(q, -1, b[0])[1]; })(v));
    PAIR("nn.one_hot(i, 5, axis=0)", nn::one_hot(i, 5, {.axis = 0}));
    PAIR("nn.one_hot(i, 5, axis=-2, dtype=jnp.int8)", nn::one_hot(i, 5, {.dtype = jnp::int8, .axis = -2}));
    PAIR("nn.celu(x, .5)", nn::celu(x, .5));
    PAIR("nn.celu(x, v[1])", nn::celu(x, v[1]));
    PAIR("nn.leaky_relu(x, .2)", nn::leaky_relu(x, .2));
    PAIR("nn.leaky_relu(n, .2)", nn::leaky_relu(n, .2));
    PAIR("nn.leaky_relu(n)", nn::leaky_relu(n));
    PAIR("nn.leaky_relu(x, v[0])", nn::leaky_relu(x, v[0]));
    PAIR("jax.grad(lambda q: nn.leaky_relu(q, .2).sum())(v)", jax::grad([](Array q) { return nn::leaky_relu(q, .2).sum(); })(v));
    PAIR("nn.identity(x)", nn::identity(x));
}
void choices() {
    PAIR("jr.randint(k, (3, 4), n, 20)", jr::randint(k, {3, 4}, n, 20));
    PAIR("jr.randint(k, (3, 4), n, n + 5)", jr::randint(k, {3, 4}, n, n + 5));
    PAIR("jr.randint(k, (4,), 0, n[3])", jr::randint(k, 4, 0, n[3]));
    PAIR("jr.permutation(k, x)", jr::permutation(k, x));
    PAIR("jr.permutation(k, x, axis=1)", jr::permutation(k, x, 1));
    PAIR("jr.permutation(k, x, independent=True)", jr::permutation(k, x, 0, true));
    PAIR("jr.permutation(k, x, axis=1, independent=True)", jr::permutation(k, x, 1, true));
    PAIR("jr.choice(k, 4, (3,), p=v)", jr::choice(k, 4, {3}, v));
    PAIR("jr.choice(k, 4, (3,), replace=False, p=v)", jr::choice(k, 4, {3}, false, v));
    PAIR("jr.choice(k, x, (2,), p=v[:3])", jr::choice(k, x, {2}, v[{slice(3)}]));
    PAIR("jr.choice(k, x, (2, 2), p=v, axis=1)", jr::choice(k, x, {2, 2}, {.p = v, .axis = 1}));
    PAIR("jr.choice(k, x, (2,), replace=False)", jr::choice(k, x, {2}, false));
    PAIR("jr.choice(k, x, (2,), axis=1)", jr::choice(k, x, {2}, {.axis = 1}));
    PAIR("jr.choice(k, v, (3,), False, v)", jr::choice(k, v, {3}, false, v));
    PAIR("jr.rademacher(k, (3,), jnp.float32)", jr::rademacher(k, 3, jnp::float32));
    PAIR("jr.ball(k, 3, 2., (4,))", jr::ball(k, 3, 2., 4));
    PAIR("jr.ball(k, 3)", jr::ball(k, 3));
    PAIR("jr.generalized_normal(k, 3, (4,))", jr::generalized_normal(k, 3, 4));
    PAIR("jr.f(k, 3., 4., (5,))", jr::f(k, 3., 4., 5));
    PAIR("jr.wald(k, v)", jr::wald(k, v));
    PAIR("jr.triangular(k, 0., v, 3.)", jr::triangular(k, 0., v, 3.));
    PAIR("jr.double_sided_maxwell(k, 0., v)", jr::double_sided_maxwell(k, 0., v));
}
void matrices() {
    PAIR("jnp.linalg.pinv(x)", jnp::linalg::pinv(x));
    PAIR("jnp.linalg.pinv(w)", jnp::linalg::pinv(w));
    PAIR("jnp.linalg.pinv(x.T)", jnp::linalg::pinv(x.T()));
    PAIR("jax.grad(lambda q: jnp.linalg.pinv(jnp.outer(q, q) + jnp.eye(4)).sum())(v)",
         jax::grad([](Array q) { return jnp::linalg::pinv(jnp::outer(q, q) + jnp::eye(4)).sum(); })(v));
    PAIR("jnp.linalg.matrix_rank(x)", jnp::linalg::matrix_rank(x));
    PAIR("jnp.linalg.matrix_rank(x, 1.)", jnp::linalg::matrix_rank(x, 1.));
    PAIR("jnp.linalg.matrix_rank(v)", jnp::linalg::matrix_rank(v));
    PAIR("jnp.linalg.cond(x[:, :3] + 3 * jnp.eye(3))", jnp::linalg::cond(x[{all, slice(3)}] + 3 * jnp::eye(3)));
    PAIR("jnp.linalg.cond(x[:, :3] + 3 * jnp.eye(3), -2)", jnp::linalg::cond(x[{all, slice(3)}] + 3 * jnp::eye(3), -2));
    PAIR("jnp.linalg.cond(x[:, :3] + 3 * jnp.eye(3), 1)", jnp::linalg::cond(x[{all, slice(3)}] + 3 * jnp::eye(3), 1));
    PAIR("jnp.linalg.multi_dot([x, w, w.T])", [&] {
        Array turned = w.T();
        return jnp::linalg::multi_dot({x, w, turned});
    }());
    PAIR("jnp.linalg.multi_dot([v, w, w.T, v])", [&] {
        Array turned = w.T();
        return jnp::linalg::multi_dot({v, w, turned, v});
    }());
    PAIR("jnp.linalg.lstsq(x.T, v)", [&] {
        const auto s = jnp::linalg::lstsq(x.T(), v);
        return std::tuple{s.x, s.resid, s.rank, s.s};
    }());
    PAIR("jnp.linalg.lstsq(w + jnp.eye(4, 5), w, 1e-3)[0]", jnp::linalg::lstsq(w + jnp::eye(4, 5), w, 1e-3).x);
    PAIR("jnp.linalg.vector_norm(x)", jnp::linalg::vector_norm(x));
    PAIR("jnp.linalg.vector_norm(x, ord=3, axis=1)", jnp::linalg::vector_norm(x, {.ord = 3, .axis = 1}));
    PAIR("jnp.linalg.vector_norm(x, ord=jnp.inf, keepdims=True)", jnp::linalg::vector_norm(x, {.ord = jnp::inf, .keepdims = true}));
    PAIR("jnp.linalg.vector_norm(x, ord=0)", jnp::linalg::vector_norm(x, {.ord = 0}));
    PAIR("jnp.linalg.matrix_norm(x)", jnp::linalg::matrix_norm(x));
    PAIR("jnp.linalg.outer(v, n)", jnp::linalg::outer(v, n));
    PAIR("jnp.linalg.trace(x)", jnp::linalg::trace(x));
    PAIR("jnp.linalg.diagonal(x, offset=1)", jnp::linalg::diagonal(x, 1));
}
void spectra() {
    PAIR("jnp.fft.fft(x, norm='ortho')", jnp::fft::fft(x, {.norm = "ortho"}));
    PAIR("jnp.fft.ifft(x, norm='forward')", jnp::fft::ifft(x, {.norm = "forward"}));
    PAIR("jnp.fft.irfft(x, norm='forward')", jnp::fft::irfft(x, {.norm = "forward"}));
    PAIR("jnp.fft.ifft(x, norm='backward', axis=0)", jnp::fft::ifft(x, {.axis = 0, .norm = "backward"}));
    PAIR("jnp.fft.rfft(x, 6, axis=0)", jnp::fft::rfft(x, {.n = 6, .axis = 0}));
    PAIR("jnp.fft.irfft(lax.complex(x, y), 4, axis=0)", jnp::fft::irfft(lax::complex(x, y), {.n = 4, .axis = 0}));
    PAIR("jnp.fft.fft2(x)", jnp::fft::fft2(x));
    PAIR("jnp.fft.fft2(x, s=(2, 6))", jnp::fft::fft2(x, {.s = {2, 6}}));
    PAIR("jnp.fft.ifft2(x, axes=(1, 0))", jnp::fft::ifft2(x, {.axes = {1, 0}}));
    PAIR("jnp.fft.rfft2(x)", jnp::fft::rfft2(x));
    PAIR("jnp.fft.irfft2(lax.complex(x, y))", jnp::fft::irfft2(lax::complex(x, y)));
    PAIR("jnp.fft.fftn(x)", jnp::fft::fftn(x));
    PAIR("jnp.fft.ifftn(w.reshape(2, 2, 5), axes=(0, 2))", jnp::fft::ifftn(w.reshape({2, 2, 5}), {.axes = {0, 2}}));
    PAIR("jnp.fft.rfftn(w.reshape(2, 2, 5), s=(4, 4))", jnp::fft::rfftn(w.reshape({2, 2, 5}), {.s = {4, 4}}));
    PAIR("jnp.fft.irfftn(w.reshape(2, 2, 5), norm='ortho')", jnp::fft::irfftn(w.reshape({2, 2, 5}), {.norm = "ortho"}));
}

void gamma_functions() {
    namespace special = jax::scipy::special;
    PAIR("jsp.special.gamma(x)", special::gamma(x));
    PAIR("jsp.special.gammasgn(x)", special::gammasgn(x));
    PAIR("jsp.special.factorial(n)", special::factorial(n));
    PAIR("jsp.special.betaln(v, v + 9)", special::betaln(v, v + 9));
    PAIR("jsp.special.beta(v, y)", special::beta(v, y));
    PAIR("jsp.special.betainc(v, 2., .3)", special::betainc(v, 2., .3));
    PAIR("jsp.special.gammainc(v, 2.)", special::gammainc(v, 2.));
    PAIR("jsp.special.gammaincc(v, 2)", special::gammaincc(v, 2));
    PAIR("jsp.special.polygamma(1, v)", special::polygamma(1, v));
    PAIR("jsp.special.multigammaln(v + 3, 2)", special::multigammaln(v + 3, 2));
    PAIR("jsp.special.entr(x)", special::entr(x));
    PAIR("jax.grad(lambda q: jsp.special.entr(q).sum())(v)", jax::grad([](Array q) { return special::entr(q).sum(); })(v));
    PAIR("jsp.special.rel_entr(x, y)", special::rel_entr(x, y));
    PAIR("jsp.special.kl_div(v, n)", special::kl_div(v, n));
    PAIR("jsp.special.i0(x)", special::i0(x));
    PAIR("jsp.special.i0e(x)", special::i0e(x));
    PAIR("jsp.special.i1(x)", special::i1(x));
    PAIR("jsp.special.i1e(n)", special::i1e(n));
    PAIR("jsp.special.softmax(x, axis=0)", special::softmax(x, 0));
    PAIR("jsp.stats.norm.sf(v)", jax::scipy::stats::norm::sf(v));
    PAIR("jsp.stats.norm.sf(v, .5, 2.)", jax::scipy::stats::norm::sf(v, .5, 2.));
    PAIR("lax.igamma(v, v + 1)", lax::igamma(v, v + 1));
    PAIR("lax.igammac(v, v + 1)", lax::igammac(v, v + 1));
    PAIR("lax.betainc(v, v, v / 2)", lax::betainc(v, v, v / 2));
    PAIR("lax.zeta(v + 2, v)", lax::zeta(v + 2, v));
}

}  // namespace

void options_of_nn() {
    gamma_functions();
    activations_with_options();
    choices();
    matrices();
    spectra();
}

}  // namespace pairs
