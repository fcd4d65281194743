// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[...] and x.at[...]: what a list of indices chooses. In: indices as the user wrote them, the shape. Out: one slice, one dynamic slice,
// or the numbers of a gather (a scatter writes where a gather reads). Never here: what is done there (indexing, index_update).
#include <optional>

#include <jaxscope/array.h>

#include "ir/builder.h"
#include "lax/params/slicing.h"

namespace jaxscope::jax::detail {

/// A list without dots and masks: each index has its dimension, or is a new axis. Throws JAX's errors.
/// A truth value adds a dimension of size one to the operand, of which it chooses one element or none.
class Indexer {
public:
    Indexer(const std::vector<Index>& list, const ::jaxscope::Dims& shape, const Where& where);

    /// The index arrays in their order, operands of what is emitted; behind positions of a mask, which of them are below zero (none).
    std::vector<Operand> arrays() const;
    /// The operand with a dimension for each truth value.
    Value with_truths(Builder& b, Value x) const;
    const ::jaxscope::Dims& truths() const { return truths_; }
    bool slices() const;            ///< nothing but numbers that lie inside, ranges and new axes
    bool slices_at_starts() const;  ///< scalars too, and numbers that lie outside: starts that are known when it runs

    Value slice(Builder& b, Value x) const;
    Value dynamic_slice(Builder& b, Value x, const Values& arrays) const;

    struct Gather {
        ::jaxscope::Dims result;  ///< shape, new axes among them
        ::jaxscope::Dims added;   ///< where the new axes are in it
        ::jaxscope::Dims reversed;
        ::jaxscope::Dims sizes;
        GatherDims dims;
        Value indices;
        bool repeats = false;  ///< index arrays may name a place twice
    };
    Gather gather(Builder& b, const Values& arrays) const;

private:
    class GatherMaker;
    struct Entry {
        Index index;
        std::int64_t dim = -1;  ///< of the operand; of a new axis: none
        Array below_zero = {};  ///< of positions that a mask chooses: known, as NumPy's are in JAX
    };
    void number_dims();
    Value dynamic_start(Builder& b, const Entry& e, const Values& arrays, std::size_t& next) const;
    std::vector<Entry> entries_;
    ::jaxscope::Dims shape_;
    ::jaxscope::Dims truths_;  ///< the dimensions that truth values add
    Where where_;
    bool together_ = true;  ///< numbers and index arrays stand side by side: their dimensions stay where they are
};

/// What becomes of indices that lie outside, by JAX's name; null: none was given. Throws JAX's error for other names.
std::optional<OutOfBounds> index_mode(const char* name, const Where& where);
Value zero_of(::jaxscope::DType type);

/// x[list], and x.at[list].set(values).
Array at_indices(const Operand& x, const std::vector<Index>& list, const Reading& how = {});
/// `x.at[list].set(values)`
Array set_at(const Array& x, const std::vector<Index>& list, const Array& values);
Array set_at(const Array& x, const std::vector<Index>& list, const Where& where, const Operand& values);
/// The place where the user wrote the list.
Where place_of(const std::vector<Index>& list, const Where& otherwise);

}  // namespace jaxscope::jax::detail
