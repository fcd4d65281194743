// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `io/arrays`: numbers in files. Comes in: bytes of archives, numbers as text. Goes out: arrays, and bytes again. Never here:
// jaxprs, JSON, or a size that was believed before it was checked.
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/types/attr.h"

namespace jaxscope {

/// One array of an archive as NumPy wrote it.
struct NpzArray {
    std::string name;  ///< without ".npy"
    ArrayPtr array;
};

/// Arrays of NumPy's archives (`numpy.savez`, `savez_compressed`: zip, stored or deflated, zip64) and of single `.npy` files.
/// dtypes: what NumPy writes for bool, integers, floats and complex numbers, little and big endian, C and Fortran order;
/// ml_dtypes' kinds come as raw bytes (`|V2`) or integers of their width and take the dtype that `as` names.
/// Throws  Error{NotFound} without the file, Error{BadInput} that names the member, Error{LimitExceeded}.
class NpzReader {
public:
    explicit NpzReader(const std::string& path);
    ~NpzReader();
    NpzReader(const NpzReader&) = delete;
    NpzReader& operator=(const NpzReader&) = delete;
    std::vector<std::string> names() const;  ///< in the order of the archive, without ".npy"
    bool has(const std::string& name) const;
    /// The array of that name. `as`: the aval it must have (keys as their words, raw bytes as that dtype); throws when it hasn't.
    ArrayPtr read(const std::string& name) const;
    ArrayPtr read(const std::string& name, AvalRef as) const;

private:
    struct Archive;
    std::unique_ptr<Archive> archive_;
};

/// Writes a stored (not deflated) archive that `numpy.load` reads; ml_dtypes' kinds as raw bytes, keys as uint32 words.
/// The file is written whole or not at all (AtomicFile).
void write_npz(const std::string& path, const std::vector<NpzArray>& arrays);
/// The same, into a file that is put in place together with others.
void write_npz(std::ostream& out, const std::vector<NpzArray>& arrays);
/// The header of a `.npy` file: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
struct NpyHeader {
    std::string descr;
    bool fortran = false;
    Dims shape;
    std::size_t data = 0;  ///< where the elements begin
};
std::string npy_descr(DType d);  ///< how files call a type
/// The bytes of one `.npy` member.
std::string npy_bytes(const ArrayConst& array);
/// Of bytes that more may follow. Throws Error{BadInput}, as all that read here.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& name);
ArrayPtr parse_npy(std::string_view bytes, const std::string& name);
ArrayPtr parse_npy(std::string_view bytes, const std::string& name, AvalRef as);

/// The archive next to a capture: `train.jaxscope` (or `train.jaxscope.zst`) has its arrays in `train.npz`.
std::string archive_of(const std::string& capture);

/// Fills the arrays that name a member of the archive at `path`. Without the file, or without the member, they stay unknown:
/// captures travel without their archives.
void read_archive_arrays(const std::string& path, const std::vector<std::shared_ptr<ArrayConst>>& arrays);

}  // namespace jaxscope
