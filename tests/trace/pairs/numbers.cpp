// Parts and kinds of numbers, what is no number left out, windows, orders by several keys.
#include "pairs.h"

namespace pairs {

void numbers() {
    PAIR("jnp.angle(x)", jnp::angle(x));
    PAIR("jnp.angle(lax.complex(x, y))", jnp::angle(lax::complex(x, y)));
    PAIR("jnp.angle(n, deg=True)", jnp::angle(n, true));
    PAIR("jnp.conjugate(lax.complex(x, y))", jnp::conjugate(lax::complex(x, y)));
    PAIR("jnp.isreal(x)", jnp::isreal(x));
    PAIR("jnp.isreal(lax.complex(x, y * 0))", jnp::isreal(lax::complex(x, y * 0)));
    PAIR("jnp.iscomplex(lax.complex(x, y))", jnp::iscomplex(lax::complex(x, y)));
    PAIR("jnp.isposinf(1 / (x * 0))", jnp::isposinf(1 / (x * 0)));
    PAIR("jnp.isneginf(jnp.log(x * 0))", jnp::isneginf(jnp::log(x * 0)));
    PAIR("jnp.isposinf(n)", jnp::isposinf(n));
    PAIR("jnp.fabs(x)", jnp::fabs(x));
    PAIR("jnp.fabs(n)", jnp::fabs(n));
    PAIR("jnp.bitwise_invert(n)", jnp::bitwise_invert(n));
    PAIR("jnp.bitwise_left_shift(n, 2)", jnp::bitwise_left_shift(n, 2));
    PAIR("jnp.bitwise_right_shift(n, 1)", jnp::bitwise_right_shift(n, 1));
    PAIR("jnp.bitwise_count(n)", jnp::bitwise_count(n));
    PAIR("jnp.bitwise_count(n.astype(jnp.uint8))", jnp::bitwise_count(n.astype(jnp::uint8)));
    PAIR("jnp.modf(x)", jnp::modf(x));
    PAIR("jnp.modf(n)", jnp::modf(n));
    PAIR("jax.grad(lambda q: jnp.modf(q)[0].sum())(v)", jax::grad([](Array q) { return jnp::modf(q).first.sum(); })(v));
    PAIR("jnp.nanargmax(jnp.log(x))", jnp::nanargmax(jnp::log(x)));
    PAIR("jnp.nanargmin(jnp.log(x), axis=1)", jnp::nanargmin(jnp::log(x), 1));
    PAIR("jnp.nanargmax(jnp.log(x), axis=0, keepdims=True)", jnp::nanargmax(jnp::log(x), 0, true));
    PAIR("jnp.nanargmin(x * jnp.nan, keepdims=True)", jnp::nanargmin(x * jnp::nan, {}, true));
    PAIR("jnp.nanargmax(n)", jnp::nanargmax(n));
    PAIR("jnp.nancumsum(jnp.sqrt(x))", jnp::nancumsum(jnp::sqrt(x)));
    PAIR("jnp.nancumprod(jnp.sqrt(x), axis=1)", jnp::nancumprod(jnp::sqrt(x), 1));
    PAIR("jnp.nancumsum(n)", jnp::nancumsum(n));
    PAIR("jnp.bartlett(5)", jnp::bartlett(5));
    PAIR("jnp.hanning(6)", jnp::hanning(6));
    PAIR("jnp.hamming(5)", jnp::hamming(5));
    PAIR("jnp.blackman(5)", jnp::blackman(5));
    PAIR("jnp.hamming(1)", jnp::hamming(1));
    PAIR("jnp.lexsort((v, -v))", jnp::lexsort({v, -v}));
    PAIR("jnp.lexsort((b.astype(jnp.int32), x))", jnp::lexsort({b.astype(jnp::int32), x}));
    PAIR("jnp.lexsort((x, y), axis=0)", jnp::lexsort({x, y}, 0));
    PAIR("lax.reduce_precision(x, 5, 3)", lax::reduce_precision(x, 5, 3));
    PAIR("jax.grad(lambda q: lax.reduce_precision(q * q, 8, 7).sum())(v)",
         jax::grad([](Array q) { return lax::reduce_precision(q * q, 8, 7).sum(); })(v));
}

}  // namespace pairs
