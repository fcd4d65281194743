// SPDX-License-Identifier: Apache-2.0
// Equinox's tree_equal, and its files: arrays one after the other, each as NumPy's save writes it.
#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <jaxscope/filter_trees.h>
#include <jaxscope/numpy.h>

#include "base/error.h"
#include "ir/types/literal_array.h"
#include "trace/node.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

static_assert(std::endian::native == std::endian::little, "files have the least byte first");

namespace {

using D = ::jaxscope::DType;

std::string with_suffix(const std::string& path) { return std::filesystem::path(path).has_extension() ? path : path + ".eqx"; }
[[noreturn]] void refuse_file(const std::string& path, const std::string& text) {
    throw Error(ErrorCode::BadInput, fmt::format("{}: {}", path, text));
}
/// NumPy's name of a type. What NumPy hasn't got is bytes to it, as jnp.save leaves it.
std::string name_of(D type) {
    const auto bytes = byte_size(type);
    if (type == D::Bool) return "|b1";
    const char kind = type == D::BF16                ? 'V'
                      : is_complex(type)             ? 'c'
                      : is_inexact(type)             ? 'f'
                      : is_unsigned_int(type)        ? 'u'
                      : ::jaxscope::is_integer(type) ? 'i'
                                                     : 'V';
    return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}
std::string shape_text(const ::jaxscope::Dims& shape) {
    std::string out;
    for (const std::int64_t n : shape) out += fmt::format("{}{}", out.empty() ? "" : ", ", n);
    return shape.size() == 1 ? "(" + out + ",)" : "(" + out + ")";
}
/// What stands before an array's bytes: a dict in Python's words, filled up to a multiple of 64 bytes.
std::string header_of(AvalRef a) {
    std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", name_of(a->dtype), shape_text(a->shape));
    const std::size_t before = 10;
    dict += std::string(63 - (before + dict.size()) % 64, ' ') + '\n';
    std::string out = "\x93NUMPY";
    out += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
    return out + dict;
}
/// Between the name of an entry and what ends it.
std::string entry(const std::string& dict, const std::string& name, const char* end) {
    const std::size_t at = dict.find("'" + name + "': ");
    if (at == std::string::npos) return {};
    const std::size_t from = at + name.size() + 4;
    return dict.substr(from, dict.find(end, from) - from);
}
ArrayPtr read_array(std::ifstream& in, const std::string& path, std::size_t number, const Array& like) {
    char magic[8], length[4] = {};
    if (!in.read(magic, 8) || std::memcmp(magic, "\x93NUMPY", 6) != 0)
        refuse_file(path, fmt::format("expected {} arrays and more as NumPy saves them, found {}", number + 1, number));
    in.read(length, magic[6] == 1 ? 2 : 4);
    std::uint32_t size = 0;
    for (std::size_t i = 4; i-- > 0;) size = size << 8 | static_cast<unsigned char>(length[i]);
    if (size > 65536) refuse_file(path, "expected a header as NumPy saves it, found one of more than 64 KiB");
    std::string dict(size, ' ');
    in.read(dict.data(), size);
    auto a = std::make_shared<ArrayConst>();
    a->aval = AvalRef(static_cast<D>(like.dtype()), like.shape().vector());
    if (entry(dict, "fortran_order", ",") == "True") refuse_file(path, "expected arrays row by row, found one column by column");
    const std::string shape = entry(dict, "shape", ")") + ")", type = entry(dict, "descr", ",");
    if (shape != shape_text(a->aval->shape))
        refuse_file(path, fmt::format("Deserialised leaf {} has changed shape from {} in `like` to {} on disk.", number,
                                      shape_text(a->aval->shape), shape));
    if (type != "'" + name_of(a->aval->dtype) + "'")
        refuse_file(path, fmt::format("Deserialised leaf {} has changed dtype from {} in `like` to {} on disk.", number,
                                      info(a->aval->dtype).name, type));
    a->data.resize(static_cast<std::size_t>(a->aval->bytes()));
    if (!in.read(reinterpret_cast<char*>(a->data.data()), a->aval->bytes())) refuse_file(path, "ends within an array");
    return a;
}

}  // namespace

Array trees_equal(const std::vector<Array>& a, const std::vector<Array>& b, const TreeEquality& how, const Where& where) {
    const InUsersLine line(where);
    if (a.size() != b.size()) return false;
    Array out = true;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k].has_value() != b[k].has_value()) return false;
        if (!a[k].has_value()) continue;
        if (a[k].shape() != b[k].shape() || a[k].dtype() != b[k].dtype()) return false;
        const bool near = is_inexact(a[k]) && (how.rtol != 0 || how.atol != 0);
        const Array same = near ? numpy::allclose(a[k], b[k], how.rtol, how.atol) : numpy::all(a[k] == b[k]);
        out = out & same;
    }
    return out;
}
void write_leaves(const std::string& given, const std::vector<Array>& leaves) {
    const std::string path = with_suffix(given);
    std::ofstream out(path, std::ios::binary);
    for (const Array& leaf : leaves) {
        const void* bytes = leaf.unsafe_buffer_pointer();
        const std::string header = header_of(leaf.node()->aval);
        out.write(header.data(), static_cast<std::streamsize>(header.size()));
        out.write(static_cast<const char*>(bytes), leaf.node()->aval->bytes());
    }
    if (!out.flush()) throw Error(ErrorCode::NotFound, fmt::format("{}: can't be written: {}", path, std::strerror(errno)));
}
std::vector<Array> read_leaves(const std::string& given, const std::vector<Array>& like) {
    const std::string path = with_suffix(given);
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error(ErrorCode::NotFound, fmt::format("{}: can't be read: {}", path, std::strerror(errno)));
    std::vector<Array> out;
    for (const Array& leaf : like) out.push_back(concrete(read_array(in, path, out.size(), leaf)));
    return out;
}

}  // namespace jaxscope::jax::detail
