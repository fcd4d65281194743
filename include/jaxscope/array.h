// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of the C++ front end: one handle for values in memory and for what stands for them while a function is traced. In: numbers,
// spans, operations of numpy.h and lax.h. Out: shapes, types, values, text. Never here: how an operation is recorded or run (core/trace).
#include <iosfwd>

#include <jaxscope/elements.h>

namespace jaxscope::jax {

namespace detail {
class Node;
// Of null they do nothing, so that programs needn't ask at each of their arrays' ends.
void retain(const Node* node) noexcept;
void release(const Node* node) noexcept;
}  // namespace detail

/// The first of several sizes or axes that aren't in braces, with the line that they stand in.
struct Size {
    template <class T>
    requires std::is_integral_v<T> Size(T size, Where w = {}) : n(static_cast<std::int64_t>(size)), where(w) {}  // NOLINT
    std::int64_t n;
    Where where;
};
class Index;
class IndexUpdate;
class Axes;
struct Operand;
struct Position;

/// An array, or what stands for one while a function is traced. Copying copies the handle (8 bytes), never the elements.
/// A default-made Array is no array (Python's None): it has no leaf in a tree.
class Array {
public:
    Array() noexcept = default;
    Array(const Array& o) noexcept : node_(o.node_) { detail::retain(node_); }
    Array(Array&& o) noexcept : node_(o.node_) { o.node_ = nullptr; }
    Array& operator=(const Array& o) & noexcept {
        Array copy(o);
        return *this = static_cast<Array&&>(copy);
    }
    Array& operator=(Array&& o) & noexcept {
        const detail::Node* old = node_;
        node_ = o.node_;
        o.node_ = old;
        return *this;
    }
    /// constexpr, so that constants that hold none need no code before main.
    constexpr ~Array() {
        if (!__builtin_is_constant_evaluated()) detail::release(node_);
    }
    /// A number: a weakly typed scalar, as Python's (a bool is not weak).
    template <detail::Number T>
    Array(T value) : Array(scalar(value)) {}  // NOLINT(google-explicit-constructor)
    template <detail::Complex T>
    Array(const T& value)  // NOLINT(google-explicit-constructor)
        : Array(complex_scalar(static_cast<float>(value.real()), static_cast<float>(value.imag()))) {}
    /// None: said here in one sentence.
    template <class T>
    requires(detail::TextLike<T> || detail::NumberRange<T>) Array(const T&) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "this is no array and no number; jnp::array(v) makes an array of numbers in a row");
    }
    /// Elements in row-major order: a span, a vector, a std::array, or `Array({1.f, 2.f, 3.f, 4.f}, {2, 2})`. Numbers of 64 bits become
    /// 32-bit ones, as everywhere without x64. Throws Error{BadInput} when their number isn't that of the shape, Error{BadUsage} for
    /// integers that 32 bits don't hold.
    template <detail::NumberRange R>
    Array(const R& elements, const Shape& shape, Where where = {})
        : Array(numbers(elements.data(), elements.size(), detail::dtype_of<std::remove_cvref_t<decltype(*elements.data())>>(), shape,
                        where)) {}
    template <detail::Number T>
    Array(std::initializer_list<T> elements, const Shape& shape, Where where = {})
        : Array(numbers(elements.begin(), elements.size(), detail::dtype_of<T>(), shape, where)) {}
    /// Complex elements, as std::complex<float> has them (complex64).
    template <class C>
    requires(sizeof(C) == 2 * sizeof(float) && std::is_same_v<typename C::value_type, float>)
        Array(const std::vector<C>& elements, const Shape& shape, Where where = {})
        : Array(numbers(elements.data(), elements.size(), dtype::complex64, shape, where)) {}

    bool has_value() const noexcept { return node_ != nullptr; }
    Shape shape(Where where = {}) const;
    std::int64_t shape(std::int64_t axis, Where where = {}) const;
    jax::dtype dtype(Where where = {}) const;
    bool weak_type(Where where = {}) const;
    int ndim(Where where = {}) const;
    std::int64_t size(Where where = {}) const;
    std::int64_t nbytes(Where where = {}) const;
    bool is_tracer() const noexcept;
    /// Was its memory given away (donation, `delete_buffer`)? Shape and type stay readable.
    bool is_deleted(Where where = {}) const;
    void delete_buffer(Where where = {});
    const void* unsafe_buffer_pointer(Where where = {}) const;

    /// The only element. Throws JAX's concretization error for a tracer.
    template <detail::Number T>
    T item(Where where = {}) const {
        return static_cast<T>(number(where));
    }
    double item(Where where = {}) const { return number(where); }
    explicit operator bool() const;  ///< of one element; throws for a tracer
    /// Python's `float(x)` and `int(x)`, of an array without dimensions.
    template <detail::Number T>
    explicit operator T() const {
        return static_cast<T>(number_of_operator(std::is_integral_v<T> ? "int" : "float"));
    }
    /// All elements, row-major.
    std::vector<double> to_vector(Where where = {}) const;
    std::string str(Where where = {}) const;   ///< as NumPy prints it: `[1. 2.]`
    std::string repr(Where where = {}) const;  ///< `Array([1., 2.], dtype=float32)`
    std::string aval(Where where = {}) const;  ///< `float32[2]`

    Array operator[](const Position& i) const&;
    Array operator[](const Position& i) &&;
    Array operator[](std::initializer_list<Index> indices) const&;
    Array operator[](std::initializer_list<Index> indices) &&;
    template <class T>
    requires(std::is_floating_point_v<T> || detail::NoArray<T>) Array operator[](const T&) const {
        static_assert(std::is_integral_v<T>, "an index is an integer, a slice or an Array of integers: x[jnp::array({0, 2})]");
        return *this;
    }
    /// `x.at({1, all}).set(y)`: a copy with other elements there.
    IndexUpdate at(std::initializer_list<Index> indices, Where where = {}) const;
    IndexUpdate at(const Position& i, Where where = {}) const;
    /// `for (Array row : x)`: along the first dimension.
    class Rows;
    Rows begin(Where where = {}) const;
    Rows end(Where where = {}) const;
    /// Another array, which the name is given to, as Python's `x += y` on arrays that don't change.
    Array& operator+=(const Operand& y) &;
    Array& operator-=(const Operand& y) &;
    Array& operator*=(const Operand& y) &;
    Array& operator/=(const Operand& y) &;
    Array& operator%=(const Operand& y) &;
    Array& operator&=(const Operand& y) &;
    Array& operator|=(const Operand& y) &;
    Array& operator^=(const Operand& y) &;
    const Array& block_until_ready(Where where = {}) const;  ///< what isn't traced has been computed; throws where it was deleted
    // Of an array without a name, as in `f(x).sum()`, the operations belong to the expression that is evaluated.
    Array astype(jax::dtype type, Where where = {}) const&;
    Array astype(jax::dtype type, Where where = {}) &&;
    Array copy(Where where = {}) const&;  ///< in memory of its own
    Array copy(Where where = {}) &&;
    Array reshape(const Shape& shape, Where where = {}) const&;
    Array reshape(const Shape& shape, Where where = {}) &&;
    template <class T>
    requires((detail::NoArray<T> || std::is_base_of_v<Array, T>)&&!std::is_convertible_v<const T&, Shape>) Array reshape(const T&)
    const {
        static_assert(std::is_integral_v<T>, "reshape takes sizes: x.reshape({2, 3}), or x.reshape(2, 3)");
        return *this;
    }
    /// `x.reshape(2, 3)`
    template <class... N>
    requires(sizeof...(N) > 0 && (std::is_integral_v<N> && ...)) Array reshape(const Size& first, N... rest)
    const& { return reshape({first.n, static_cast<std::int64_t>(rest)...}, first.where); }
    template <class... N>
    requires(sizeof...(N) > 0 && (std::is_integral_v<N> && ...)) Array reshape(const Size& first, N... rest) && {
        return static_cast<Array&&>(*this).reshape({first.n, static_cast<std::int64_t>(rest)...}, first.where);
    }
    Array T(Where where = {}) const&;
    Array T(Where where = {}) &&;
    Array sum(Where where = {}) const&;
    Array sum(Where where = {}) &&;
    Array mean(Where where = {}) const&;
    Array mean(Where where = {}) &&;
    Array max(Where where = {}) const&;
    Array max(Where where = {}) &&;
    Array min(Where where = {}) const&;
    Array min(Where where = {}) &&;
    Array sum(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array mean(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array max(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array min(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array ravel(Where where = {}) const;
    Array dot(const Operand& other) const;
    Array prod(Where where = {}) const;
    Array prod(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array any(Where where = {}) const;
    Array any(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array all(Where where = {}) const;
    Array all(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array argmax(Where where = {}) const;
    Array argmax(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array argmin(Where where = {}) const;
    Array argmin(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array std(Where where = {}) const;
    Array std(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array var(Where where = {}) const;
    Array var(const Axes& axis, Flag keepdims = false, Where where = {}) const;
    Array cumsum(Where where = {}) const;
    Array cumsum(const Axes& axis, Where where = {}) const;
    Array cumprod(Where where = {}) const;
    Array cumprod(const Axes& axis, Where where = {}) const;
    Array squeeze(Where where = {}) const;
    Array squeeze(const Axes& axis, Where where = {}) const;
    Array sort(std::int64_t axis = -1, Where where = {}) const;
    Array argsort(std::int64_t axis = -1, Where where = {}) const;
    Array transpose(Where where = {}) const;
    Array transpose(const Shape& axes, Where where = {}) const;
    template <class... N>
    requires(sizeof...(N) > 0 && (std::is_integral_v<N> && ...)) Array transpose(const Size& first, N... rest)
    const { return transpose({first.n, static_cast<std::int64_t>(rest)...}, first.where); }
    Array swapaxes(std::int64_t a, std::int64_t b, Where where = {}) const;
    Array flatten(Where where = {}) const;
    Array mT(Where where = {}) const;
    Array round(std::int64_t decimals = 0, Where where = {}) const;
    Array conj(Where where = {}) const;
    Array real(Where where = {}) const;
    Array imag(Where where = {}) const;
    Array repeat(std::int64_t repeats, Where where = {}) const;
    Array repeat(std::int64_t repeats, std::int64_t axis, Where where = {}) const;
    Array take(const Operand& indices) const;
    Array take(const Operand& indices, const Axes& axis) const;

    const detail::Node* node() const noexcept { return node_; }
    /// Takes over one count of `node`.
    static Array adopt(const detail::Node* node) noexcept {
        Array a;
        a.node_ = node;
        return a;
    }
    static Array of(const detail::Node* node) noexcept {
        detail::retain(node);
        return adopt(node);
    }

private:
    static Array numbers(const void* data, std::size_t count, jax::dtype type, const Shape& shape, const Where& where);
    static Array scalar(bool value);
    static Array scalar(std::int64_t value);
    static Array scalar(double value);
    static Array complex_scalar(float real, float imag);
    template <detail::Number T>
    static Array scalar(T value) {
        if constexpr (std::is_floating_point_v<T>)
            return scalar(static_cast<double>(value));
        else
            return scalar(static_cast<std::int64_t>(value));
    }
    double number(Where where) const;
    double number_of_operator(const char* function) const;
    const detail::Node* node_ = nullptr;
};
/// All are cut before the first is looked at, as JAX does.
class Array::Rows {
public:
    Rows(const Rows&);
    ~Rows();
    const Array& operator*() const { return rows_[at_]; }
    Rows& operator++() {
        ++at_;
        return *this;
    }
    friend bool operator!=(const Rows& a, const Rows& b) { return a.at_ != b.at_; }
    friend bool operator==(const Rows& a, const Rows& b) { return a.at_ == b.at_; }

private:
    friend class Array;
    Rows(std::vector<Array> rows, std::size_t at);
    std::vector<Array> rows_;
    std::size_t at_;
};
namespace detail {
/// Behind what is in the list: here, so that programs needn't compile how a list grows.
void append(std::vector<Array>& list, const Array& a);
}  // namespace detail
std::ostream& operator<<(std::ostream& out, const Array& a);
std::ostream& operator<<(std::ostream& out, const Shape& s);  ///< `(2, 3)`
std::ostream& operator<<(std::ostream& out, dtype type);      ///< `float32`

/// What functions of arrays take: an array or a number, with the line that it was given in. Trivial to copy; refers to the array.
struct Operand {
    enum class Kind : unsigned char { array, boolean, integer, real, complex };
    Kind kind;
    bool temporary = false;  ///< an array without a name: what made it was evaluated for this call
    union {
        const detail::Node* node;
        bool boolean;
        std::int64_t integer;
        double real;
        float parts[2];  ///< of a complex number
    };
    Where where;
    Operand(const Array& a, const char* file = __builtin_FILE(), int line = __builtin_LINE(),  // NOLINT(google-explicit-constructor)
            const char* function = __builtin_FUNCTION())
        : kind(Kind::array), node(a.node()), where(file, line, function) {}
    Operand(Array&& a, const char* file = __builtin_FILE(), int line = __builtin_LINE(),  // NOLINT(google-explicit-constructor)
            const char* function = __builtin_FUNCTION())
        : kind(Kind::array), temporary(true), node(a.node()), where(file, line, function) {}
    template <detail::Number T>
    Operand(T v, const char* file = __builtin_FILE(), int line = __builtin_LINE(),  // NOLINT(google-explicit-constructor)
            const char* function = __builtin_FUNCTION())
        : kind(std::is_same_v<T, bool>       ? Kind::boolean
               : std::is_floating_point_v<T> ? Kind::real
                                             : Kind::integer),
          where(file, line, function) {
        if constexpr (std::is_same_v<T, bool>)
            boolean = v;
        else if constexpr (std::is_floating_point_v<T>)
            real = static_cast<double>(v);
        else
            integer = static_cast<std::int64_t>(v);
    }
    template <detail::Complex T>
    Operand(const T& v, const char* file = __builtin_FILE(), int line = __builtin_LINE(),  // NOLINT(google-explicit-constructor)
            const char* function = __builtin_FUNCTION())
        : kind(Kind::complex), parts{static_cast<float>(v.real()), static_cast<float>(v.imag())}, where(file, line, function) {}
    /// None: said here in one sentence, in place of all that can't be converted.
    template <class T>
    requires(detail::NoArray<T> && !std::is_base_of_v<Array, T>) Operand(const T&) : kind(Kind::boolean) {  // NOLINT
        static_assert(std::is_same_v<T, Array>, "this is no array and no number; jnp::array(v) makes an array of numbers in a row");
    }
};

Array operator+(const Operand& x, const Operand& y);
Array operator-(const Operand& x, const Operand& y);
Array operator*(const Operand& x, const Operand& y);
Array operator/(const Operand& x, const Operand& y);
Array operator%(const Operand& x, const Operand& y);
Array operator==(const Operand& x, const Operand& y);  ///< element by element, as all comparisons
Array operator!=(const Operand& x, const Operand& y);
Array operator<(const Operand& x, const Operand& y);
Array operator<=(const Operand& x, const Operand& y);
Array operator>(const Operand& x, const Operand& y);
Array operator>=(const Operand& x, const Operand& y);
Array operator&(const Operand& x, const Operand& y);
Array operator|(const Operand& x, const Operand& y);
Array operator^(const Operand& x, const Operand& y);
Array operator-(const Operand& x);
Array operator~(const Operand& x);

namespace detail {
template <class T>
concept Foreign =
    !Number<std::remove_cvref_t<T>> && !Complex<std::remove_cvref_t<T>> && !std::is_base_of_v<Array, std::remove_cvref_t<T>> &&
    !std::is_same_v<std::remove_cvref_t<T>, Operand> && !std::is_base_of_v<std::ios_base, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_operand = false;
/// Is it something with leaves of its own, not an array or a number alone?
template <class T>
concept TreeOfArrays = NoArray<T> || !std::is_convertible_v<const T&, Operand>;
}  // namespace detail
// Written out, not by a macro: compilers would show its text before the user's line.
template <detail::Foreign T>
Array operator+(const Array&, const T&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator+(const T&, const Array&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator-(const Array&, const T&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator-(const T&, const Array&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator*(const Array&, const T&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator*(const T&, const Array&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator/(const Array&, const T&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}
template <detail::Foreign T>
Array operator/(const T&, const Array&) {
    static_assert(detail::is_operand<T>, "operand is no array and no number");
    return Array();
}

/// What is promised of indices. `mode`: what becomes of those that lie outside: "fill" or "drop" (nothing is written, `fill_value` is
/// read), "clip" (the last place counts), "promise_in_bounds"; null: JAX's choice, dropped where one writes and clipped where one reads.
struct Writing {
    Flag indices_are_sorted = false, unique_indices = false;
    const char* mode = nullptr;
};
struct Reading {
    Flag indices_are_sorted = false, unique_indices = false;
    const char* mode = nullptr;
    Array fill_value = {};  ///< one number; none: NaN, the least integer, the largest one without a sign
};
/// What `Array::at` gives: the places that its functions write to, or read.
class IndexUpdate {
public:
    Array set(const Operand& values, const Writing& how = {}) const;
    Array add(const Operand& values, const Writing& how = {}) const;
    Array subtract(const Operand& values, const Writing& how = {}) const;
    Array multiply(const Operand& values, const Writing& how = {}) const;
    Array mul(const Operand& values, const Writing& how = {}) const;
    Array divide(const Operand& values, const Writing& how = {}) const;
    Array power(const Operand& values, const Writing& how = {}) const;
    Array min(const Operand& values, const Writing& how = {}) const;
    Array max(const Operand& values, const Writing& how = {}) const;
    Array get(const Reading& how = {}, Where where = {}) const;
    /// A function of one element. Throws Error{BadUsage} where its result is no number of the array's type.
    template <class F>
    Array apply(const F& f, const Writing& how = {}) const {
        return applied(
            &f, [](const void* function, const Array& x) -> Array { return (*static_cast<const F*>(function))(x); }, how);
    }

private:
    friend class Array;
    IndexUpdate(const Array& x, std::vector<Index> indices, Where where);
    Array applied(const void* f, Array (*call)(const void* f, const Array& x), const Writing& how) const;
    Array x_;
    std::vector<Index> indices_;
    Where where_;
};

/// Python's slice: `slice(1, 5)`, `slice(none, none, -1)`; `all` is `:`.
struct None {};
inline constexpr None none{};
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
class Index {
public:
    enum class Kind : unsigned char { number, truth, range, new_axis, dots, array };
    template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Index(T i, Where w = {})
        : kind(Kind::number), where(w), start(static_cast<std::int64_t>(i)) {}                     // NOLINT
    Index(None, Where w = {}) : kind(Kind::new_axis), where(w) {}                                  // NOLINT
    Index(Ellipsis, Where w = {}) : kind(Kind::dots), where(w) {}                                  // NOLINT
    Index(Array a, Where w = {}) : kind(Kind::array), where(w), array(static_cast<Array&&>(a)) {}  // NOLINT
    /// A truth value: a new axis of one element or none, as a mask without dimensions.
    template <class T>
    requires std::is_same_v<T, bool> Index(T i, Where w = {}) : kind(Kind::truth), where(w), start(i) {}  // NOLINT
    static constexpr Index whole() { return Index(Where("", 0, "")); }
    Kind kind;
    Where where;  ///< none for `all`, which stands nowhere
    std::int64_t start = 0, stop = 0, step = 1;
    bool has_start = false, has_stop = false;
    Array array;

private:
    friend class SliceBound;
    constexpr explicit Index(const Where& w) : kind(Kind::range), where(w) {}
    friend Index slice(const class SliceBound& start, const class SliceBound& stop, std::int64_t step, Where where);
};
class SliceBound {
public:
    template <class T>
    requires std::is_integral_v<T> SliceBound(T v) : value(static_cast<std::int64_t>(v)), given(true) {}  // NOLINT
    SliceBound(None) {}                                                                                   // NOLINT
    std::int64_t value = 0;
    bool given = false;
};
inline Index slice(const SliceBound& start, const SliceBound& stop, std::int64_t step = 1, Where where = {}) {
    Index i(where);
    i.start = start.value, i.has_start = start.given;
    i.stop = stop.value, i.has_stop = stop.given;
    i.step = step;
    return i;
}
inline Index slice(const SliceBound& stop, Where where = {}) { return slice(none, stop, 1, where); }
/// `:`
inline constexpr Index all = Index::whole();

/// One index without braces: `x[0]`, `x[i]`, `x[jax::slice(2)]`.
struct Position {
    template <class T>
    requires std::is_integral_v<T> || std::is_base_of_v<Array, T> Position(const T& i, Where w = {}) : at(i, w) {}  // NOLINT
    template <class T>
    requires std::is_same_v<T, Index> || std::is_same_v<T, None> || std::is_same_v<T, Ellipsis> Position(const T& i)  // NOLINT
        : at(i) {}
    Index at;
};

}  // namespace jaxscope::jax
