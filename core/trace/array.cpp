// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <complex>
#include <cstring>
#include <ostream>

#include "base/error.h"
#include "ir/types/element.h"
#include "trace/functions.h"
#include "trace/refusals.h"

namespace jaxscope::jax {

static_assert(static_cast<int>(dtype::float32) == static_cast<int>(::jaxscope::DType::F32));
static_assert(static_cast<int>(dtype::key_unsafe_rbg) == static_cast<int>(::jaxscope::DType::KeyUnsafeRbg));

namespace detail {

/// What stands in results until they have arrays: it lives as long as the process, so it isn't counted.
static const Node g_place;
Array place_of_array() { return Array::adopt(&g_place); }

void retain(const Node* n) noexcept {
    if (n && n != &g_place) n->refs.fetch_add(1, std::memory_order_relaxed);
}
void release(const Node* n) noexcept {
    if (!n || n == &g_place) return;
    if (n->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete n;
}

Array concrete(ArrayPtr array, const Where& where) {
    auto* n = new Node;
    n->aval = array->aval;
    n->where = where;
    n->array = std::move(array);
    return Array::adopt(n);
}

std::string long_aval(AvalRef aval) {
    std::string dims;
    for (const std::int64_t d : aval->shape) dims += (dims.empty() ? "" : ",") + std::to_string(d);
    return std::string(info(aval->dtype).name) + (aval->space == MemorySpace::Host ? "<host>[" : "[") + dims + "]";
}

const ArrayPtr& elements(const Node& n) {
    if (n.is_tracer()) {
        if (!Trace::find(n.trace) && !Trace::waiting_for(n)) leaked(n);
        concretization_error(n, "array", n.where);
    }
    if (!n.array) refuse_deleted(n);
    return n.array;
}

void give_away(const Node& n, const Where& where) {
    auto& node = const_cast<Node&>(n);
    node.array.reset();
    node.shards.reset();
    node.where = where;
}

void refuse_deleted(const Node& n) {
    AvalRef aval = n.aval;
    // JAX deletes the words of a key, and names those.
    if (aval->dtype == DType::KeyFry) {
        ::jaxscope::Dims words = aval->shape;
        words.push_back(2);
        aval = AvalRef(DType::U32, words);
    }
    Error e(ErrorCode::BadUsage, "Array has been deleted with shape=" + long_aval(aval) + ".");
    if (!n.is_tracer() && n.where.line > 0)
        e.advise(fmt::format("its memory was given away by what stands on line {}:{}: pass a copy there, or use what that call gave back",
                             n.where.file, n.where.line));
    throw e;
}

void refuse_gone_buffer(const Node& n, const char* text, const Where& where) {
    Error e(ErrorCode::BadUsage, text);
    e.at({where.file, where.line, 0});
    if (n.where.line > 0)
        e.advise(fmt::format("its memory was given away by what stands on line {}:{}: use what that call gave back", n.where.file,
                             n.where.line));
    throw e;
}

namespace {
/// Why there is no value: the arguments that it depends on, or what made it.
std::string where_from(Trace& t, const Node& n) {
    std::vector<std::string> names;
    for (const std::size_t i : t.inputs_of(n.value)) {
        const Sym name = t.name_of_input(i);
        names.push_back(name.str().empty() ? fmt::format("at flattened index {}", i) : name.str());
    }
    if (names.empty())
        return fmt::format(" This value became a tracer due to an operation on line {}:{} ({})", n.where.file, n.where.line,
                           n.where.function);
    std::string list = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) list += (i + 1 < names.size() ? ", " : " and ") + names[i];
    const std::string made =
        n.where.line > 0 ? fmt::format(" It was computed on line {}:{} ({}).", n.where.file, n.where.line, n.where.function) : "";
    return fmt::format(" This concrete value was not available because it depends on the value{0} of the argument{0} {1}.{2}",
                       names.size() > 1 ? "s" : "", list, made);
}
}  // namespace

void concretization_error(const Node& n, const char* function, const Where& where) {
    Trace* t = Trace::find(n.trace);
    if (!t) t = Trace::waiting_for(n);
    const bool boolean = std::strcmp(function, "bool") == 0;
    std::string text =
        boolean ? "Attempted boolean conversion of traced array with shape " + long_aval(n.aval) + "."
                : "Abstract tracer value encountered where concrete value is expected: traced array with shape " + long_aval(n.aval) +
                      (std::strcmp(function, "item") == 0 ? std::string("\nThis occurred in the item() method of jax.Array")
                                                          : fmt::format("\nThe problem arose with the `{}` function.", function)) +
                      (std::strcmp(function, "float") == 0 || std::strcmp(function, "int") == 0
                           ? fmt::format(" If trying to convert the data type of a value, try using `x.astype({0})` or `jnp.array(x, {0})` "
                                         "instead.",
                                         function)
                           : "");
    if (t) {
        text += fmt::format("\nThe error occurred while tracing the function {} for {}.", t->function(), t->what());
        text += where_from(*t, n);
    }
    Error e(ErrorCode::BadUsage, text);
    e.at({where.file, where.line, 0});
    if (t && std::strcmp(t->what(), "checkpoint / remat") == 0)
        e.advise("Consider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`.");
    else
        e.advise("make the argument that it depends on static (static_argnums), or use jax::lax::cond, jnp::where");
    throw e;
}

namespace {

const Node& node_of(const Array& a) {
    if (!a.node()) refuse_none();
    return *a.node();
}
/// The same where the user asks: nobody else knows the line.
const Node& node_of(const Array& a, const Where& where) {
    if (!a.node()) at_place(users_line(where), [] { refuse_none(); });
    return *a.node();
}

}  // namespace
void refuse_none() {
    throw Error(ErrorCode::BadUsage, "expected an array, found an Array without a value")
        .advise("Array() is Python's None: give it a value first, or ask has_value()");
}

}  // namespace detail

using detail::node_of;

std::string Shape::str() const {
    std::string out;
    for (std::size_t i = 0; i < size(); ++i) out += (i ? ", " : "") + std::to_string(sizes_[i]);
    return "(" + out + (size() == 1 ? ",)" : ")");
}

namespace {
/// Numbers of 64 bits as what JAX makes of them without x64.
template <class From, class To>
Bytes halved(const void* data, std::size_t count, const Where& where) {
    Bytes out(count * sizeof(To));
    for (std::size_t i = 0; i < count; ++i) {
        From wide;
        std::memcpy(&wide, static_cast<const std::byte*>(data) + i * sizeof wide, sizeof wide);
        const auto narrow = static_cast<To>(wide);
        if (std::is_integral_v<From> && static_cast<From>(narrow) != wide)
            detail::refuse_at(where, ErrorCode::BadUsage,
                              fmt::format("Python int {} too large to convert to {}", wide, std::is_signed_v<From> ? "int32" : "uint32"),
                              "numbers of JAX have 32 bits: give it as a float");
        std::memcpy(out.data() + i * sizeof narrow, &narrow, sizeof narrow);
    }
    return out;
}
}  // namespace
Array Array::numbers(const void* data, std::size_t count, jax::dtype type, const Shape& shape, const Where& where) {
    using D = ::jaxscope::DType;
    const auto given = static_cast<D>(type);
    const D kept = given == D::F64 ? D::F32 : given == D::S64 ? D::S32 : given == D::U64 ? D::U32 : given;
    auto a = std::make_shared<ArrayConst>();
    a->aval = AvalRef(kept, shape.vector());
    if (a->aval->size() != static_cast<std::int64_t>(count))
        detail::refuse_at(where, ErrorCode::BadInput, fmt::format("cannot reshape array of size {} into shape {}", count, shape.str()),
                          "give as many numbers as the shape has places");
    const auto* bytes = static_cast<const std::byte*>(data);
    if (given == D::F64)
        a->data = halved<double, float>(data, count, where);
    else if (given == D::S64)
        a->data = halved<std::int64_t, std::int32_t>(data, count, where);
    else if (given == D::U64)
        a->data = halved<std::uint64_t, std::uint32_t>(data, count, where);
    else
        a->data.assign(bytes, bytes + count * static_cast<std::size_t>(byte_size(kept)));
    return detail::concrete(std::move(a), where);
}
/// While a function is traced a number is a literal, as Python's numbers are.
static Array number_array(const Operand& v) {
    const LiteralRef literal = detail::literal_of(v);
    if (detail::Trace* t = detail::Trace::current()) return t->wrap(literal, v.where);
    Array out = detail::concrete(detail::array_of(literal));
    const_cast<detail::Node*>(out.node())->value = literal;
    return out;
}
Array Array::scalar(bool v) { return number_array(Operand(v, "", 0, "")); }
Array Array::scalar(std::int64_t v) { return number_array(Operand(v, "", 0, "")); }
Array Array::scalar(double v) { return number_array(Operand(v, "", 0, "")); }
Array Array::complex_scalar(float real, float imag) { return number_array(Operand(std::complex<float>(real, imag), "", 0, "")); }

Shape Array::shape(Where where) const { return Shape(node_of(*this, where).aval->shape); }
std::int64_t Array::shape(std::int64_t axis, Where where) const {
    const auto& dims = node_of(*this, where).aval->shape;
    const auto n = static_cast<std::int64_t>(dims.size());
    if (axis < -n || axis >= n) {
        const Where& users = detail::users_line(where);
        detail::refuse_at(users, ErrorCode::BadUsage, fmt::format("axis {} is out of bounds for array of dimension {}", axis, n),
                          "axes count from 0, or from -1 at the end; x.ndim() says how many there are");
    }
    return dims[static_cast<std::size_t>(axis < 0 ? axis + n : axis)];
}
dtype Array::dtype(Where where) const { return static_cast<jax::dtype>(node_of(*this, where).aval->dtype); }
bool Array::weak_type(Where where) const { return node_of(*this, where).aval->weak_type; }
int Array::ndim(Where where) const { return node_of(*this, where).aval->rank(); }
std::int64_t Array::size(Where where) const { return node_of(*this, where).aval->size(); }
std::int64_t Array::nbytes(Where where) const { return node_of(*this, where).aval->bytes(); }
bool Array::is_tracer() const noexcept { return node_ && node_->is_tracer(); }
bool Array::is_deleted(Where where) const {
    const detail::Node& n = node_of(*this, where);
    if (n.is_tracer()) detail::concretization_error(n, "is_deleted", where);
    return n.deleted();
}
void Array::delete_buffer(Where where) {
    if (node_of(*this).is_tracer()) detail::concretization_error(*node_, "delete", where);
    detail::give_away(*node_, where);
}
const void* Array::unsafe_buffer_pointer(Where where) const {
    if (node_of(*this).deleted())
        detail::refuse_gone_buffer(*node_, "INVALID_ARGUMENT: UnsafeBufferPointer( called on deleted or donated buffer", where);
    return detail::at_place(where, [&] { return detail::elements(node_of(*this)); })->data.data();
}
const Array& Array::block_until_ready(Where where) const {
    if (node_of(*this).deleted())
        detail::refuse_gone_buffer(*node_, "INVALID_ARGUMENT: BlockHostUntilReady() called on deleted or donated buffer", where);
    return *this;
}
std::string Array::aval(Where where) const { return (weak_type() ? "~" : "") + detail::long_aval(node_of(*this, where).aval); }

Array::operator bool() const {
    if (is_tracer()) {
        const ArrayPtr known = detail::known_elements(*node_);
        if (!known) detail::concretization_error(*node_, "bool", node_->where);
        return static_cast<bool>(detail::concrete(known));
    }
    if (node_of(*this).deleted()) detail::refuse_deleted(*node_);
    // An operator has no place of its own: the nearest one is where the array was made.
    const Where& made = node_of(*this).where;
    if (size() != 1)
        detail::refuse_at(made, ErrorCode::BadUsage,
                          size() == 0
                              ? "The truth value of an empty array is ambiguous. Use jnp::any(x) or jnp::all(x)"
                              : "The truth value of an array with more than one element is ambiguous. Use jnp::any(x) or jnp::all(x)",
                          "the array was made there: jnp::any(x) is true where one element is, jnp::all(x) where all are");
    if (is_key(static_cast<DType>(dtype())))
        detail::refuse_at(made, ErrorCode::TypeMismatch, "key array cannot be converted to boolean.",
                          "random::key_data gives the words of a key");
    return number(Where("", 0, "")) != 0;
}
double Array::number_of_operator(const char* function) const {
    if (is_tracer()) {
        const ArrayPtr known = detail::known_elements(*node_);
        if (!known) detail::concretization_error(*node_, function, node_->where);
        return detail::concrete(known).number_of_operator(function);
    }
    const Where& made = node_of(*this).where;  // as for the other operators
    if (!node_of(*this).deleted() && ndim() > 0)
        detail::refuse_at(made, ErrorCode::TypeMismatch,
                          fmt::format("Only scalar arrays can be converted to Python scalars; got arr.ndim={}", ndim()),
                          "the array was made there: take one element first, x[{0}], or to_vector() for all");
    return number(made);
}
double Array::number(Where where) const {
    if (is_tracer()) {
        const ArrayPtr known = detail::known_elements(*node_);
        if (!known) detail::concretization_error(*node_, "item", where);
        return detail::concrete(known).number(where);
    }
    detail::at_place(where, [&] { return detail::elements(node_of(*this)); });
    if (size() != 1)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          "can only convert an array of size 1 to a scalar, found one of shape " + shape().str(),
                          "take one element first, x[{0}], or to_vector() for all");
    return to_vector(where).front();
}
std::vector<double> Array::to_vector(Where where) const {
    if (is_tracer()) detail::concretization_error(*node_, "array", where);
    const ArrayPtr a = detail::at_place(where, [&] { return detail::elements(node_of(*this)); });
    const auto type = a->aval->dtype;
    if (is_key(type))
        detail::refuse_at(where, ErrorCode::TypeMismatch, fmt::format("Cannot interpret '{}' as a data type of numbers", info(type).name),
                          "random::key_data gives the words of a key");
    const std::int64_t width = byte_size(type);
    std::vector<double> out;
    for (std::int64_t i = 0; i < a->aval->size(); ++i) {
        const Element e = load_element(type, a->data.data() + i * width);
        out.push_back(is_inexact(type) ? e.number.real() : static_cast<double>(e.integer));
    }
    return out;
}

std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.str(); }
std::ostream& operator<<(std::ostream& out, dtype type) { return out << info(static_cast<DType>(type)).name; }
std::ostream& operator<<(std::ostream& out, const Array& a) { return out << (a.has_value() ? a.str(Where("", 0, "")) : "None"); }

}  // namespace jaxscope::jax
