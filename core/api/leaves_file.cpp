// SPDX-License-Identifier: Apache-2.0
// Equinox's files of leaves: arrays one after the other, each as NumPy's save writes it.
#include <fmt/core.h>

#include <jaxscope/filter_trees.h>

#include <filesystem>

#include "api/file_bytes.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "io/arrays/npz.h"
#include "trace/node.h"

namespace jaxscope::jax::detail {

namespace {

std::string with_suffix(const std::string& path) { return std::filesystem::path(path).has_extension() ? path : path + ".eqx"; }

/// Takes the first array off `bytes`.
ArrayPtr take_array(std::string_view& bytes, const std::string& path, std::size_t number, const Array& like) {
    const auto refuse = [&](const std::string& text) { throw Error(ErrorCode::BadInput, path + ": " + text); };
    if (bytes.empty()) refuse(fmt::format("expected {} arrays and more as NumPy saves them, found {}", number + 1, number));
    const NpyHeader h = parse_npy_header(bytes, path);
    const AvalRef aval = like.node()->aval;
    ::jaxscope::Dims shape = aval->shape;
    if (is_key(aval->dtype)) shape.push_back(byte_size(aval->dtype) / 4);  // a key is its words
    if (h.shape != shape)
        refuse(fmt::format("Deserialised leaf {} has changed shape from {} in `like` to {} on disk.", number, Shape(shape).str(),
                           Shape(h.shape).str()));
    if (h.descr != npy_descr(aval->dtype))
        refuse(fmt::format("Deserialised leaf {} has changed dtype from {} in `like` to '{}' on disk.", number, info(aval->dtype).name,
                           h.descr));
    const std::size_t size = h.data + static_cast<std::size_t>(aval->bytes());
    if (bytes.size() < size) refuse("ends within an array");
    ArrayPtr out = parse_npy(bytes.substr(0, size), path, aval);
    bytes.remove_prefix(size);
    return out;
}

}  // namespace

void write_leaves(const std::string& path, const std::vector<Array>& leaves) {
    AtomicFile file(with_suffix(path));
    for (const Array& leaf : leaves) file.stream() << npy_bytes(*elements(*leaf.node()));
    file.commit();
}
std::vector<Array> read_leaves(const std::string& given, const std::vector<Array>& like) {
    const std::string path = with_suffix(given);
    const std::string bytes = file_bytes(path, "a file of arrays");
    std::string_view rest = bytes;
    std::vector<Array> out;
    for (const Array& leaf : like) out.push_back(concrete(take_array(rest, path, out.size(), leaf)));
    return out;
}

}  // namespace jaxscope::jax::detail
