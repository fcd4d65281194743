// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/npz.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/limits.h"
#include "io/arrays/zip_archive.h"

namespace jaxscope {

namespace {

class NpyHeaderParser {
public:
    NpyHeaderParser(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}
    NpyHeader parse() {
        constexpr std::string_view kMagic = "\x93NUMPY";
        if (!bytes_.starts_with(kMagic) || bytes_.size() < 12) fail("no npy header");
        const bool short_length = bytes_[6] == 1;
        std::uint32_t length = 0;
        std::memcpy(&length, bytes_.data() + 8, short_length ? 2 : 4);
        const std::size_t begin = short_length ? 10 : 12;
        if (length > bytes_.size() - begin) fail("a truncated header");
        text_ = bytes_.substr(begin, length);
        NpyHeader h;
        h.data = begin + length;
        h.descr = quoted(after("'descr':"));
        h.fortran = after("'fortran_order':").starts_with("True");
        h.shape = shape(after("'shape':"));
        return h;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ErrorCode::BadInput, "expected an array of NumPy in '" + printable(name_, 60) + "', found " + what);
    }
    std::string_view after(std::string_view key) const {
        const std::size_t at = text_.find(key);
        if (at == std::string_view::npos) fail("a header without " + std::string(key));
        std::string_view rest = text_.substr(at + key.size());
        while (rest.starts_with(' ')) rest.remove_prefix(1);
        return rest;
    }
    std::string quoted(std::string_view s) const {
        if (!s.starts_with('\'')) fail("a structured dtype");
        const std::size_t end = s.find('\'', 1);
        if (end == std::string_view::npos) fail("a damaged header");
        return std::string(s.substr(1, end - 1));
    }
    Dims shape(std::string_view s) const {
        if (!s.starts_with('(')) fail("a damaged header");
        Dims dims;
        s.remove_prefix(1);
        while (true) {
            while (s.starts_with(' ') || s.starts_with(',')) s.remove_prefix(1);
            if (s.starts_with(')')) return dims;
            std::int64_t d = 0;
            const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), d);
            if (ec != std::errc() || d < 0 || dims.size() == kMaxRank.value) fail("a damaged shape");
            s.remove_prefix(static_cast<std::size_t>(end - s.data()));
            dims.push_back(d);
        }
    }
    std::string_view bytes_, text_;
    const std::string& name_;
};

std::optional<DType> numpy_dtype(std::string_view kind) {
    static constexpr std::pair<std::string_view, DType> kKinds[] = {
        {"b1", DType::Bool}, {"i1", DType::S8},  {"i2", DType::S16}, {"i4", DType::S32},   {"i8", DType::S64},
        {"u1", DType::U8},   {"u2", DType::U16}, {"u4", DType::U32}, {"u8", DType::U64},   {"f2", DType::F16},
        {"f4", DType::F32},  {"f8", DType::F64}, {"c8", DType::C64}, {"c16", DType::C128},
    };
    for (const auto& [name, dtype] : kKinds)
        if (name == kind) return dtype;
    return std::nullopt;
}
}  // namespace
std::string npy_descr(DType d) {
    for (const char* kind : {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"})
        if (numpy_dtype(kind) == d) return (byte_size(d) == 1 ? "|" : "<") + std::string(kind);
    if (is_key(d)) return "<u4";
    return (byte_size(d) == 1 ? "|V" : "<V") + std::to_string(byte_size(d));
}
namespace {

void swap_bytes(Bytes& data, std::size_t width) {
    for (std::size_t i = 0; i + width <= data.size(); i += width) std::reverse(data.begin() + i, data.begin() + i + width);
}

/// Fortran order to row-major.
Bytes transposed(const Bytes& data, const Dims& shape, std::size_t width) {
    Bytes out(data.size());
    std::vector<std::size_t> index(shape.size(), 0), stride(shape.size(), width);
    for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
    for (std::size_t to = 0; to < out.size(); to += width) {
        std::size_t from = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) from += index[d] * stride[d];
        std::memcpy(out.data() + to, data.data() + from, width);
        for (std::size_t d = shape.size(); d-- > 0;) {
            if (++index[d] < static_cast<std::size_t>(shape[d])) break;
            index[d] = 0;
        }
    }
    return out;
}

/// NumPy's files know none of ml_dtypes' kinds: those come as raw bytes or as integers of their width, float8_e5m2 as "f1", which NumPy
/// itself can't read back.
bool stored_as(std::string_view kind, DType d) {
    const std::string width = std::to_string(byte_size(d));
    if (kind == "f1") return d == DType::F8E5M2;
    return !is_key(d) &&
           (kind == "V" + width || (npy_descr(d).find('V') != std::string::npos && (kind == "u" + width || kind == "i" + width)));
}

[[noreturn]] void wrong_array(const std::string& name, const std::string& expected, const std::string& found) {
    throw Error(ErrorCode::BadInput, "expected " + expected + " in '" + printable(name, 60) + "', found " + found);
}

/// What `as` looks like in a file of NumPy: keys are their words.
Aval stored_aval(AvalRef as) {
    Aval a;
    a.dtype = as->dtype;
    a.shape = as->shape;
    if (is_key(a.dtype)) {
        a.shape.push_back(byte_size(a.dtype) / 4);
        a.dtype = DType::U32;
    }
    return a;
}

std::shared_ptr<ArrayConst> parse_npy_as(std::string_view bytes, const std::string& name, const AvalRef* as) {
    const NpyHeader h = parse_npy_header(bytes, name);
    const bool big_endian = h.descr.starts_with('>');
    const std::string_view kind = std::string_view(h.descr).substr(h.descr.find_first_of("<>|=") == 0 ? 1 : 0);
    Aval found;
    found.shape = h.shape;
    if (const auto d = numpy_dtype(kind)) {
        found.dtype = *d;
    } else if (!as || !stored_as(kind, (*as)->dtype)) {
        wrong_array(name, "a dtype of JAX", "'" + printable(h.descr, 20) + "'");
    }
    if (as && stored_as(kind, (*as)->dtype)) found.dtype = (*as)->dtype;
    const Aval wanted = as ? stored_aval(*as) : found;
    if (found.dtype != wanted.dtype || found.shape != wanted.shape) wrong_array(name, to_text(wanted), to_text(found));
    const auto size = static_cast<std::size_t>(found.bytes());
    if (bytes.size() - h.data != size)
        wrong_array(name, std::to_string(size) + " bytes of elements", std::to_string(bytes.size() - h.data));
    auto out = std::make_shared<ArrayConst>();
    out->aval = as ? *as : AvalRef(found);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data()) + h.data;
    out->data.assign(data, data + size);
    const auto width = static_cast<std::size_t>(byte_size(found.dtype));
    if (big_endian) swap_bytes(out->data, is_complex(found.dtype) ? width / 2 : width);
    if (h.fortran && h.shape.size() > 1) out->data = transposed(out->data, h.shape, width);
    return out;
}

std::string npy_header(const Aval& stored) {
    std::string dict = "{'descr': '" + npy_descr(stored.dtype) + "', 'fortran_order': False, 'shape': (";
    for (std::size_t i = 0; i < stored.shape.size(); ++i) dict += (i ? ", " : "") + std::to_string(stored.shape[i]);
    dict += stored.shape.size() == 1 ? ",), }" : "), }";
    while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
    dict += '\n';
    std::string out("\x93NUMPY\x01\x00", 8);
    const auto length = static_cast<std::uint16_t>(dict.size());
    out.append(reinterpret_cast<const char*>(&length), 2);
    return out + dict;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, const std::string& name) { return NpyHeaderParser(bytes, name).parse(); }
ArrayPtr parse_npy(std::string_view bytes, const std::string& name) { return parse_npy_as(bytes, name, nullptr); }
ArrayPtr parse_npy(std::string_view bytes, const std::string& name, AvalRef as) { return parse_npy_as(bytes, name, &as); }
std::string npy_bytes(const ArrayConst& array) {
    std::string out = npy_header(stored_aval(array.aval));
    return out.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
}

struct NpzReader::Archive {
    explicit Archive(const std::string& file) : path(file), zip(file) {
        for (const ZipReader::Member& m : zip.members())
            if (m.name.ends_with(".npy")) by_name.emplace(m.name.substr(0, m.name.size() - 4), &m);
    }
    const ZipReader::Member& member(const std::string& name) const {
        const auto found = by_name.find(name);
        if (found == by_name.end())
            throw Error(ErrorCode::NotFound, "expected an array '" + printable(name, 60) + "' in the archive, found none");
        return *found->second;
    }
    /// Errors name the archive.
    template <class F>
    ArrayPtr placed(F read) const {
        try {
            return read();
        } catch (Error& e) {
            e.at({path});
            throw;
        }
    }
    std::string path;
    ZipReader zip;
    std::unordered_map<std::string, const ZipReader::Member*> by_name;
};

NpzReader::NpzReader(const std::string& path) : archive_(std::make_unique<Archive>(path)) {}
NpzReader::~NpzReader() = default;
std::vector<std::string> NpzReader::names() const {
    std::vector<std::string> out;
    for (const ZipReader::Member& m : archive_->zip.members())
        if (m.name.ends_with(".npy")) out.push_back(m.name.substr(0, m.name.size() - 4));
    return out;
}
bool NpzReader::has(const std::string& name) const { return archive_->by_name.contains(name); }
ArrayPtr NpzReader::read(const std::string& name) const {
    return archive_->placed([&] { return parse_npy(archive_->zip.read(archive_->member(name), kMaxFileBytes.value), name); });
}
ArrayPtr NpzReader::read(const std::string& name, AvalRef as) const {
    constexpr std::int64_t kHeaderRoom = 1 << 17;
    const auto limit = static_cast<std::uint64_t>(checked_add(as->bytes(), kHeaderRoom));
    return archive_->placed([&] { return parse_npy_as(archive_->zip.read(archive_->member(name), limit), name, &as); });
}

void write_npz(std::ostream& out, const std::vector<NpzArray>& arrays) {
    ZipWriter zip(out);
    for (const NpzArray& a : arrays) {
        JAXSCOPE_ASSERT(a.array->known());
        zip.add(a.name + ".npy", npy_header(stored_aval(a.array->aval)), reinterpret_cast<const char*>(a.array->data.data()),
                a.array->data.size());
    }
    zip.finish();
}

void write_npz(const std::string& path, const std::vector<NpzArray>& arrays) {
    AtomicFile file(path);
    write_npz(file.stream(), arrays);
    file.commit();
}

std::string archive_of(const std::string& capture) {
    std::string stem = capture;
    for (const char* ending : {".zst", ".jaxscope"})
        if (std::string_view(stem).ends_with(ending)) stem.erase(stem.size() - std::string_view(ending).size());
    return stem + ".npz";
}

void read_archive_arrays(const std::string& path, const std::vector<std::shared_ptr<ArrayConst>>& arrays) {
    const bool wanted = std::any_of(arrays.begin(), arrays.end(), [](const auto& a) { return !a->npz.empty() && !a->known(); });
    if (!wanted || !std::ifstream(path)) return;
    const NpzReader archive(path);
    for (const auto& a : arrays)
        if (!a->npz.empty() && !a->known() && archive.has(a->npz.str())) a->data = archive.read(a->npz.str(), a->aval)->data;
}

}  // namespace jaxscope
