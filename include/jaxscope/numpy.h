// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy: functions of arrays by the names that NumPy and JAX give them. They emit the equations that jax.numpy emits.
#include <array>
#include <utility>

#include <jaxscope/positions.h>

namespace jaxscope::jax {

/// How many parts, or where they are cut.
class Sections {
public:
    template <class T>
    requires std::is_integral_v<T> Sections(T n) : Sections(std::initializer_list<std::int64_t>()) {  // NOLINT
        count = static_cast<std::int64_t>(n), cut = false;
    }
    Sections(std::initializer_list<std::int64_t> list);
    Sections(std::vector<std::int64_t> list);  // NOLINT(google-explicit-constructor)
    Sections(const Sections&);
    ~Sections();
    std::int64_t count = 0;
    std::vector<std::int64_t> positions;
    bool cut = false;
};

namespace detail {
/// What result_type is asked about: a type, an array, a number.
struct TypeSource {
    dtype type;
    bool weak = false;
    TypeSource(dtype t) : type(t) {}  // NOLINT(google-explicit-constructor)
    TypeSource(const Array& a);       // NOLINT(google-explicit-constructor)
    template <Number T>
    TypeSource(T v) : TypeSource(Array(v)) {}  // NOLINT(google-explicit-constructor)
};
dtype result_type(std::initializer_list<TypeSource> of);
struct Progression {
    double start = 0, stop = 0, step = 1;
    bool has_step = false, real = false;
};
Array arange_of(const Progression& range, const AsType& type, const Where& where);
std::vector<Array> unpacked(const Operand& x, std::size_t count);
template <class... T>
inline constexpr bool SomeReal = (std::is_floating_point_v<T> || ...);
}  // namespace detail

namespace numpy {

inline constexpr dtype bool_ = dtype::bool_, int8 = dtype::int8, int16 = dtype::int16, int32 = dtype::int32, uint8 = dtype::uint8,
                       uint16 = dtype::uint16, uint32 = dtype::uint32, bfloat16 = dtype::bfloat16, float16 = dtype::float16,
                       float32 = dtype::float32, complex64 = dtype::complex64;
/// What a type of numbers can hold.
struct FloatInfo {
    int bits;
    double max, min, eps, tiny, smallest_normal;
};
struct IntInfo {
    int bits;
    std::int64_t max, min;
};
FloatInfo finfo(dtype type);  ///< Throws Error{BadUsage} for types without fractions, iinfo for those with
IntInfo iinfo(dtype type);
/// What these are promoted to together.
template <class... T>
dtype result_type(const T&... of) {
    return detail::result_type({detail::TypeSource(of)...});
}
dtype promote_types(dtype a, dtype b);
inline constexpr double pi = 3.141592653589793, e = 2.718281828459045, euler_gamma = 0.5772156649015329;
inline constexpr None newaxis{};
inline constexpr double inf = __builtin_huge_val();
inline const double nan = __builtin_nan("");

// ---- Element by element
Array abs(const Operand& x);
Array absolute(const Operand& x);
Array negative(const Operand& x);
Array positive(const Operand& x);
Array sign(const Operand& x);
Array floor(const Operand& x);
Array ceil(const Operand& x);
Array round(const Operand& x, std::int64_t decimals = 0);
Array around(const Operand& x, std::int64_t decimals = 0);
Array rint(const Operand& x);
Array trunc(const Operand& x);
Array fix(const Operand& x);
Array exp(const Operand& x);
Array exp2(const Operand& x);
Array expm1(const Operand& x);
Array log(const Operand& x);
Array log1p(const Operand& x);
Array log2(const Operand& x);
Array log10(const Operand& x);
Array sin(const Operand& x);
Array cos(const Operand& x);
Array tan(const Operand& x);
Array arcsin(const Operand& x);
Array arccos(const Operand& x);
Array arctan(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
Array tanh(const Operand& x);
Array arcsinh(const Operand& x);
Array arccosh(const Operand& x);
Array arctanh(const Operand& x);
Array sqrt(const Operand& x);
Array cbrt(const Operand& x);
Array square(const Operand& x);
Array reciprocal(const Operand& x);
Array isnan(const Operand& x);
Array isinf(const Operand& x);
Array isfinite(const Operand& x);
Array logical_not(const Operand& x);
Array invert(const Operand& x);
Array deg2rad(const Operand& x);
Array rad2deg(const Operand& x);
Array degrees(const Operand& x);
Array radians(const Operand& x);
Array signbit(const Operand& x);
Array ravel(const Operand& x);
Array flip(const Operand& x, const Axes& axis = {});
Array fliplr(const Operand& x);
Array flipud(const Operand& x);
Array nan_to_num(const Operand& x);
Array real(const Operand& x);
Array imag(const Operand& x);
Array conj(const Operand& x);
Array add(const Operand& x, const Operand& y);
Array subtract(const Operand& x, const Operand& y);
Array multiply(const Operand& x, const Operand& y);
Array divide(const Operand& x, const Operand& y);
Array true_divide(const Operand& x, const Operand& y);
Array floor_divide(const Operand& x, const Operand& y);
Array remainder(const Operand& x, const Operand& y);
Array mod(const Operand& x, const Operand& y);
Array fmod(const Operand& x, const Operand& y);
Array power(const Operand& x, const Operand& y);
Array pow(const Operand& x, const Operand& y);
Array maximum(const Operand& x, const Operand& y);
Array minimum(const Operand& x, const Operand& y);
Array fmax(const Operand& x, const Operand& y);
Array fmin(const Operand& x, const Operand& y);
Array arctan2(const Operand& x, const Operand& y);
Array equal(const Operand& x, const Operand& y);
Array not_equal(const Operand& x, const Operand& y);
Array less(const Operand& x, const Operand& y);
Array less_equal(const Operand& x, const Operand& y);
Array greater(const Operand& x, const Operand& y);
Array greater_equal(const Operand& x, const Operand& y);
Array logical_and(const Operand& x, const Operand& y);
Array logical_or(const Operand& x, const Operand& y);
Array logical_xor(const Operand& x, const Operand& y);
Array bitwise_and(const Operand& x, const Operand& y);
Array bitwise_or(const Operand& x, const Operand& y);
Array bitwise_xor(const Operand& x, const Operand& y);
Array left_shift(const Operand& x, const Operand& y);
Array right_shift(const Operand& x, const Operand& y);
Array copysign(const Operand& x, const Operand& y);
Array nextafter(const Operand& x, const Operand& y);
Array heaviside(const Operand& x, const Operand& y);
Array hypot(const Operand& x, const Operand& y);
Array float_power(const Operand& x, const Operand& y);
Array kron(const Operand& x, const Operand& y);
Array cross(const Operand& x, const Operand& y);
Array outer(const Operand& x, const Operand& y);
/// |x - y| <= atol + rtol |y|; left out, 1e-5 and 1e-8.
Array isclose(const Operand& x, const Operand& y);
Array isclose(const Operand& x, const Operand& y, const Operand& rtol);
Array isclose(const Operand& x, const Operand& y, const Operand& rtol, const Operand& atol);
Array allclose(const Operand& x, const Operand& y);
Array allclose(const Operand& x, const Operand& y, const Operand& rtol);
Array allclose(const Operand& x, const Operand& y, const Operand& rtol, const Operand& atol);
Array array_equal(const Operand& x, const Operand& y);
Array array_equiv(const Operand& x, const Operand& y);  ///< equal where both are broadcast
Array where(const Operand& condition, const Operand& x, const Operand& y);
Array clip(const Operand& x, const Operand& low, const Operand& high);
Array clip(const Operand& x, const Operand& low, None = {});
Array clip(const Operand& x, None, const Operand& high);
Array logaddexp(const Operand& x, const Operand& y);
Array logaddexp2(const Operand& x, const Operand& y);
Array sinc(const Operand& x);  ///< sin(pi x) / (pi x)
Array gcd(const Operand& x, const Operand& y);
Array lcm(const Operand& x, const Operand& y);
Array conjugate(const Operand& x);
Array angle(const Operand& z, bool deg = false);
Array isreal(const Operand& x);
Array iscomplex(const Operand& x);
bool isrealobj(const Array& x, Where where = {});     ///< by its type
bool iscomplexobj(const Array& x, Where where = {});  ///< the same
Array sort_complex(const Operand& x);
Array isposinf(const Operand& x);
Array isneginf(const Operand& x);
Array fabs(const Operand& x);
Array bitwise_invert(const Operand& x);
Array bitwise_left_shift(const Operand& x, const Operand& y);
Array bitwise_right_shift(const Operand& x, const Operand& y);
Array bitwise_count(const Operand& x);  ///< uint8: how many bits are set
/// What is behind the point, and what stands before it.
std::pair<Array, Array> modf(const Operand& x);

struct Diagonal {
    std::int64_t offset = 0, axis1 = 0, axis2 = 1;
};
Array diagonal(const Operand& x, const Diagonal& which = {});
Array diag(const Operand& x, std::int64_t k = 0);  ///< of a vector the matrix, of a matrix its diagonal
Array trace(const Operand& x, const Diagonal& which = {});
Array diagflat(const Operand& x, std::int64_t k = 0);         ///< the matrix that has the elements on its diagonal
Array fill_diagonal(const Operand& x, const Operand& value);  ///< a copy, as with inplace=False

// ---- Shapes
Array reshape(const Operand& x, const Shape& shape);
Array transpose(const Operand& x);
Array transpose(const Operand& x, const Shape& axes);
Array swapaxes(const Operand& x, std::int64_t a, std::int64_t b);
Array moveaxis(const Operand& x, const Shape& from, const Shape& to);
Array rollaxis(const Operand& x, std::int64_t axis, std::int64_t start = 0);
Array expand_dims(const Operand& x, const Shape& axes);
Array squeeze(const Operand& x, const Axes& axis = {});
Array broadcast_to(const Operand& x, const Shape& shape);
Array concatenate(const Arrays& parts, std::int64_t axis = 0, Where where = {});
Array stack(const Arrays& parts, std::int64_t axis = 0, Where where = {});
// Arrays that aren't in a list.
template <class T, class... More>
requires std::is_base_of_v<Array, T> Array concatenate(const T& x, const More&...) {
    static_assert(std::is_same_v<T, Arrays>, "concatenate takes a list of arrays: concatenate({x, y})");
    return x;
}
template <class T, class... More>
requires std::is_base_of_v<Array, T> Array stack(const T& x, const More&...) {
    static_assert(std::is_same_v<T, Arrays>, "stack takes a list of arrays: stack({x, y})");
    return x;
}
template <class T, class... More>
requires std::is_base_of_v<Array, T> Array vstack(const T& x, const More&...) {
    static_assert(std::is_same_v<T, Arrays>, "vstack takes a list of arrays: vstack({x, y})");
    return x;
}
template <class T, class... More>
requires std::is_base_of_v<Array, T> Array hstack(const T& x, const More&...) {
    static_assert(std::is_same_v<T, Arrays>, "hstack takes a list of arrays: hstack({x, y})");
    return x;
}
Array append(const Operand& x, const Operand& values, const Axes& axis = {});
Array column_stack(const Arrays& parts, Where where = {});
/// Each array along an axis of its own. `indexing`: "xy" swaps the first two, "ij" doesn't.
Arrays meshgrid(const Arrays& axes, const char* indexing = "xy", Where where = {});
Arrays meshgrid(const Operand& x, const Operand& y, const char* indexing = "xy");
Arrays broadcast_arrays(const Arrays& arrays, Where where = {});
Arrays broadcast_arrays(const Operand& x, const Operand& y);
/// What all of them broadcast to.
Shape broadcast_shapes(const std::vector<Shape>& shapes, Where where = {});
/// Of each element's choices that whose condition is the first to hold.
Array select(const Arrays& conditions, const Arrays& choices, const Operand& otherwise = 0);
/// What stands for the elements where a condition holds: a number, an array of one, or a function of one element.
struct Piece {
    template <detail::Number T>
    Piece(T v) : constant(v) {}             // NOLINT(google-explicit-constructor)
    Piece(const Array& v) : constant(v) {}  // NOLINT(google-explicit-constructor)
    template <class F>
    requires std::is_invocable_r_v<Array, const F&, const Array&> && std::is_class_v<F> Piece(
        const F& f)  // NOLINT(google-explicit-constructor)
        : function(&f), call([](const void* made, const Array& x) -> Array { return (*static_cast<const F*>(made))(x); }) {}
    Array constant;
    const void* function = nullptr;
    Array (*call)(const void* function, const Array& x) = nullptr;
};
/// `piecewise(x, {x < 0, x >= 1}, {-1, [](Array e) { return 2 * e; }, 0.5})`: where several conditions hold, the last of them counts; what
/// none holds for is 0, or what one more piece gives.
Array piecewise(const Operand& x, const Arrays& condlist, const std::vector<Piece>& funclist);
/// Of each element that choice whose number `a` has. `mode`, of numbers that are none: "raise" (they have to be known), "wrap", "clip".
Array choose(const Operand& a, const Arrays& choices, const char* mode = "raise");
Array vstack(const Arrays& parts, Where where = {});
Array hstack(const Arrays& parts, Where where = {});
/// Into equal parts, or at these positions: `split(x, {1, 3})` gives x[:1], x[1:3], x[3:].
Arrays split(const Operand& x, const Sections& sections, std::int64_t axis = 0);
/// Parts may differ by one.
Arrays array_split(const Operand& x, const Sections& sections, std::int64_t axis = 0);
/// Python's unpacking: `auto [a, b] = jnp::unpack<2>(x)`, each without the first dimension, which has that size.
template <std::size_t N>
auto unpack(const Operand& x) {
    const Arrays parts = detail::unpacked(x, N);
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::array<Array, N>{parts[I]...}; }
    (std::make_index_sequence<N>());
}
Array atleast_1d(const Operand& x);
Array atleast_2d(const Operand& x);
Array atleast_3d(const Operand& x);
Array dstack(const Arrays& parts, Where where = {});
Array concat(const Arrays& parts, std::int64_t axis = 0, Where where = {});
Array permute_dims(const Operand& x, const Shape& axes);
Array matrix_transpose(const Operand& x);
/// `k` quarter turns from the first axis towards the second.
Array rot90(const Operand& x, std::int64_t k = 1, std::pair<std::int64_t, std::int64_t> axes = {0, 1});
Arrays unstack(const Operand& x, std::int64_t axis = 0);
Arrays hsplit(const Operand& x, const Sections& sections);
Arrays vsplit(const Operand& x, const Sections& sections);
Arrays dsplit(const Operand& x, const Sections& sections);
Array resize(const Operand& x, const Shape& new_shape);
Array delete_(const Operand& x, std::int64_t index, const Axes& axis = {});  ///< jnp.delete, which is a word of C++
struct Deletion {
    Axes axis = {};
    /// Of whole numbers that are each there once: these need not be known, others and masks have to be.
    Flag assume_unique_indices = false;
};
Array delete_(const Operand& x, const Array& positions, const Deletion& how);
Array delete_(const Operand& x, const Index& range, const Axes& axis = {});  ///< `delete_(x, slice(1, 3))`
/// `values` before these positions. Without an axis of the elements in a row.
Array insert(const Operand& x, const Operand& positions, const Operand& values, const Axes& axis = {});
/// Without the zeros at the ends, of numbers that are known: "f" in front, "b" behind.
Array trim_zeros(const Operand& x, const char* trim = "fb", const Axes& axis = {});
Array packbits(const Operand& x, const Axes& axis = {}, const char* bitorder = "big");
/// A number that may be left out.
class Count {
public:
    Count() = default;
    template <class T>
    requires std::is_integral_v<T> Count(T n) : n_(static_cast<std::int64_t>(n)), given_(true) {}  // NOLINT(google-explicit-constructor)
    template <detail::Optional T>
    Count(const T& n) : n_(n.has_value() ? *n : 0), given_(n.has_value()) {}  // NOLINT(google-explicit-constructor)
    explicit operator bool() const { return given_; }
    std::int64_t operator*() const { return n_; }

private:
    std::int64_t n_ = 0;
    bool given_ = false;
};
struct Unpacking {
    Axes axis = {};  ///< none: of the bytes in a row
    /// So many bits, where it isn't negative; else all but so many at the end.
    Count count = {};
    const char* bitorder = "big";
};
Array unpackbits(const Operand& x, const Unpacking& how = {});
Array tile(const Operand& x, const Shape& reps);
Array repeat(const Operand& x, std::int64_t repeats);  ///< of the elements in a row
Array repeat(const Operand& x, std::int64_t repeats, std::int64_t axis);
struct Repeating {
    Axes axis = {};  ///< none: of the elements in a row
    /// Of the result; -1: as many as `repeats` ask for, which have to be known.
    std::int64_t total_repeat_length = -1;
};
/// Each part as often as its number says.
Array repeat(const Operand& x, const Array& repeats, const Repeating& how = {});
Array repeat(const Operand& x, const Array& repeats, std::int64_t axis);
Array roll(const Operand& x, std::int64_t shift);
Array roll(const Operand& x, const Shape& shift, const Shape& axis);
Array pad(const Operand& x, std::int64_t width);
/// Before and behind each dimension.
Array pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const Operand& value = 0);
/// "edge", "wrap", "reflect", "symmetric", "linear_ramp" (to zero), "maximum", "minimum", "mean", "median", "empty", "constant" (zero).
struct PadMode {
    template <std::size_t N>
    PadMode(const char (&text)[N]) : name(text) {}  // NOLINT(google-explicit-constructor): no number is one
    const char* name;
};
struct PadOptions {
    const char* reflect_type = "even";  ///< or "odd": turned round at the edge
    std::int64_t stat_length = -1;      ///< of how many elements at each edge; -1: of all
};
Array pad(const Operand& x, std::int64_t width, const PadMode& mode, const PadOptions& how = {});
Array pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const PadMode& mode,
          const PadOptions& how = {});
Array tril(const Operand& x, std::int64_t k = 0);
Array triu(const Operand& x, std::int64_t k = 0);
/// Points of a grid: `mgrid[{slice(0, 3), slice(0, 2)}]` has them all for each axis, `ogrid` those of each axis along it.
struct Mgrid {
    Array operator[](std::initializer_list<Index> ranges) const;
};
struct Ogrid {
    Arrays operator[](std::initializer_list<Index> ranges) const;
};
inline constexpr Mgrid mgrid{};
inline constexpr Ogrid ogrid{};
struct TakeOptions {
    /// What is outside. "fill": NaN, the least or the largest number of the type; "clip": the last element; "wrap": counted from the start
    /// again.
    const char* mode = "fill";
};
/// Without an axis of the flattened array.
Array take(const Operand& x, const Operand& indices, const Axes& axis = {}, const TakeOptions& options = {});
inline Array take(const Operand& x, const Operand& indices, const TakeOptions& options) { return take(x, indices, Axes(), options); }
Array astype(const Operand& x, dtype type);

// ---- New arrays
Array zeros(const Shape& shape, dtype type = float32, Where where = {});
Array ones(const Shape& shape, dtype type = float32, Where where = {});
Array full(const Shape& shape, const Operand& value, AsType type = {});
Array empty(const Shape& shape, dtype type = float32, Where where = {});
Array copy(const Operand& x);  ///< in memory of its own
Array zeros_like(const Operand& x, AsType type = {});
Array ones_like(const Operand& x, AsType type = {});
Array full_like(const Operand& x, const Operand& value, AsType type = {});
Array empty_like(const Operand& x, AsType type = {});
/// The same tree with zeros, ones for leaves.
template <class T>
requires detail::TreeOfArrays<T> T zeros_like(const T& tree, Where where = {}) {
    return tree_map([&](const Array& a) { return zeros_like(Operand(a, where.file, where.line, where.function)); }, tree);
}
template <class T>
requires detail::TreeOfArrays<T> T ones_like(const T& tree, Where where = {}) {
    return tree_map([&](const Array& a) { return ones_like(Operand(a, where.file, where.line, where.function)); }, tree);
}
/// `arange(stop)`, `arange(start, stop)`, `arange(start, stop, step)`; of whole numbers int32, else float32, or the type that comes last.
template <detail::Number T>
Array arange(T stop, AsType type = {}, Where where = {}) {
    return detail::arange_of({.stop = static_cast<double>(stop), .real = detail::SomeReal<T>}, type, where);
}
template <detail::Number A, detail::Number B>
Array arange(A start, B stop, AsType type = {}, Where where = {}) {
    return detail::arange_of({static_cast<double>(start), static_cast<double>(stop), 1, false, detail::SomeReal<A, B>}, type, where);
}
template <detail::Number A, detail::Number B, detail::Number C>
Array arange(A start, B stop, C step, AsType type = {}, Where where = {}) {
    const bool real = detail::SomeReal<A, B, C>;
    return detail::arange_of({static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step), true, real}, type, where);
}
struct Spacing {
    Flag endpoint = true;  ///< is `stop` the last number?
    AsType dtype = {};
    std::int64_t axis = 0;  ///< of the result, where bounds are arrays
};
Array linspace(const Operand& start, const Operand& stop, std::int64_t num = 50, const Spacing& how = {});
struct Logarithmic {
    Flag endpoint = true;
    double base = 10;
    AsType dtype = {};
    std::int64_t axis = 0;
};
Array logspace(const Operand& start, const Operand& stop, std::int64_t num = 50, const Logarithmic& how = {});
Array geomspace(const Operand& start, const Operand& stop, std::int64_t num = 50, const Spacing& how = {});
/// Windows of `n` numbers.
Array bartlett(std::int64_t n, Where where = {});
Array hanning(std::int64_t n, Where where = {});
Array hamming(std::int64_t n, Where where = {});
Array blackman(std::int64_t n, Where where = {});
Array vander(const Operand& x, std::int64_t n = -1, bool increasing = false);
/// Slopes along each axis, or along those given; `spacing`: one number for all, or one for each.
Arrays gradient(const Operand& f);
Arrays gradient(const Operand& f, const std::vector<Operand>& spacing, const Axes& axis = {});
Array ediff1d(const Operand& x);
std::pair<Array, Array> divmod(const Operand& x, const Operand& y);
Array eye(std::int64_t n, dtype type = float32, Where where = {});
Array eye(std::int64_t n, std::int64_t m, std::int64_t k = 0, dtype type = float32, Where where = {});
Array tri(std::int64_t n, dtype type = float32, Where where = {});  ///< ones on and below the diagonal
Array identity(std::int64_t n, dtype type = float32, Where where = {});
Array asarray(const Operand& x);
Array asarray(const Operand& x, dtype type);
Array array(const Operand& x);
Array array(const Operand& x, dtype type);
/// Numbers in a row.
template <detail::NumberRange R>
Array array(const R& numbers) {
    return Array(numbers, Shape(numbers.size()));
}
template <detail::NumberRange R>
Array array(const R& numbers, dtype type) {
    return astype(array(numbers), type);
}
template <detail::NumberRange R>
Array asarray(const R& numbers) {
    return array(numbers);
}
template <detail::NumberRange R>
Array asarray(const R& numbers, dtype type) {
    return array(numbers, type);
}
/// `array({{1., 2.}, {3., x}})`: numbers and arrays of one shape.
class Nested {
public:
    template <detail::Number T>
    Nested(T v) : value(static_cast<double>(v)), real(std::is_floating_point_v<T>), boolean(std::is_same_v<T, bool>) {}  // NOLINT
    Nested(Array a);  // NOLINT(google-explicit-constructor)
    Nested(std::initializer_list<Nested> list);
    Nested(const Nested& other);
    Nested& operator=(const Nested& other);
    ~Nested();
    double value = 0;
    bool real = false, boolean = false;
    std::vector<Nested> items;
    bool is_list = false;
    Array array;  ///< None of a number and of a list
};
Array array(std::initializer_list<Nested> list, Where where = {});
Array array(std::initializer_list<Nested> list, dtype type, Where where = {});

/// An array of a file that NumPy wrote (`.npy`); 64-bit types become 32-bit ones as everywhere. Throws Error where it can't be read.
Array load(const std::string& path, Where where = {});
/// Writes `.npy`, whole or not at all; like numpy.save it adds the ending where that is missing.
void save(const std::string& path, const Array& a, Where where = {});

namespace linalg {
Array norm(const Operand& x, const Reduction& over = {});
}

}  // namespace numpy
/// jax.ops: what stands in the rows of `data` with the same number, put together. Numbers beyond the segments are dropped.
namespace ops {
Array segment_sum(const Operand& data, const Operand& segment_ids, std::int64_t num_segments);
Array segment_prod(const Operand& data, const Operand& segment_ids, std::int64_t num_segments);
Array segment_max(const Operand& data, const Operand& segment_ids, std::int64_t num_segments);  ///< of an empty one: the least number
Array segment_min(const Operand& data, const Operand& segment_ids, std::int64_t num_segments);
}  // namespace ops

}  // namespace jaxscope::jax
