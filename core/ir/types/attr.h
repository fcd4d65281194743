// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/sym.h"
#include "ir/types/aval.h"
#include "ir/types/literal.h"

namespace jaxscope {

class Jaxpr;
using JaxprPtr = std::shared_ptr<const Jaxpr>;
struct ArrayConst;
using ArrayPtr = std::shared_ptr<const ArrayConst>;
struct PolicySpec;
using PolicyPtr = std::shared_ptr<const PolicySpec>;
struct CustomRules;
struct Primitive;
class HostFunction;

class Attr;
using Attrs = std::vector<Attr>;

/// A parameter's value, as Python has it. Everything that a jaxpr's parameters hold fits: what jaxscope doesn't know is an
/// `Object` that keeps its text. Cheap to copy (sequences and records are shared).
class Attr {
public:
    struct None {
        friend bool operator==(None, None) { return true; }
    };
    enum class SeqKind : std::uint8_t { Tuple, List, Set, Dict };  ///< a Dict is a sequence of 2-tuples
    struct Seq {
        SeqKind kind = SeqKind::Tuple;
        Attrs items;
    };
    struct Enum {
        Sym type, member;
        friend bool operator==(const Enum&, const Enum&) = default;
    };
    struct Record {  ///< namedtuples and dataclasses: GatherDimensionNumbers, ...
        Sym type;
        std::vector<std::pair<Sym, Attr>> fields;
        Sym text;  ///< as JAX prints it
    };
    struct JaxprRef {
        JaxprPtr jaxpr;
        bool closed = true;  ///< false: an open Jaxpr in JAX (remat2), whose constvars, if any, have no values
        friend bool operator==(const JaxprRef&, const JaxprRef&) = default;
    };
    struct Rule {  ///< an entry of the program's table of custom rules, which may refer to itself: hence no owning pointer
        std::weak_ptr<const CustomRules> table;
        std::uint32_t index = 0;
        Sym text;
        std::shared_ptr<const CustomRules> owner = {};  ///< of a program that is being traced: what keeps the table
    };
    struct Object {  ///< functions, shardings, meshes, treedefs, anything else
        Sym type, name, text;
        std::shared_ptr<const HostFunction> host = {};  ///< of a program that was traced here: the function itself
        friend bool operator==(const Object&, const Object&) = default;
    };
    using Variant = std::variant<None, bool, std::int64_t, double, std::complex<double>, Sym, DType, AvalRef, Enum,
                                 std::shared_ptr<const Seq>, std::shared_ptr<const Record>, JaxprRef, ArrayPtr, PolicyPtr, Rule, Object>;

    Attr() = default;
    template <class T>
    requires std::constructible_from<Variant, T> Attr(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
    Attr(int value) : value_(std::int64_t{value}) {}                                          // NOLINT(google-explicit-constructor)
    Attr(const char* text) : value_(Sym(text)) {}                                             // NOLINT(google-explicit-constructor)
    static Attr tuple(Attrs items) { return seq(SeqKind::Tuple, std::move(items)); }
    static Attr list(Attrs items) { return seq(SeqKind::List, std::move(items)); }
    static Attr seq(SeqKind kind, Attrs items);

    bool is_none() const { return std::holds_alternative<None>(value_); }
    template <class T>
    const T* get() const {
        return std::get_if<T>(&value_);
    }
    const Seq* get_seq() const;
    const Record* get_record() const;
    const Variant& variant() const { return value_; }
    friend bool operator==(const Attr& a,
                           const Attr& b);  ///< deep; jaxprs, arrays and policies by identity of the object, else content of policies
    std::size_t hash() const;
    /// Jaxprs that stand anywhere in this value, in order.
    void collect_jaxprs(std::vector<JaxprPtr>& out) const;
    bool holds_jaxpr() const;

private:
    Variant value_;
};

/// A host array: a constant of a program or an argument's value. `data` is dense, row-major, little-endian, byte_size(dtype) an
/// element (int4 one byte each, keys their uint32 words, bool one byte 0/1); empty where the capture left it out.
struct ArrayConst {
    AvalRef aval;
    Bytes data;
    Sym npz;  ///< member of the archive next to the capture, when not read yet
    bool known() const { return !data.empty() || aval->bytes() == 0; }
};

/// What a program calls while it runs (pure_callback, io_callback, debug_callback). Captures have only its text.
class HostFunction {
public:
    virtual ~HostFunction() = default;
    /// From operands to results; may throw what it likes. The caller checks the results' number and types.
    virtual std::vector<ArrayPtr> call(const std::vector<ArrayPtr>& operands) const = 0;
};

/// A checkpoint policy as data: its name in jax.checkpoint_policies and arguments. What it answers: transforms/policies.h.
struct PolicySpec {
    Sym name;  ///< "dots_saveable", "save_only_these_names", ...; empty: a callable of the user's
    Attrs args;
    Sym text;  ///< as JAX prints it
    struct Verdict {
        const Primitive* primitive = nullptr;
        Avals in;
        Attr params;   ///< a Dict
        Attr verdict;  ///< "save", "recompute", ("offload", src, dst), "unknown"
    };
    std::vector<Verdict> verdicts;
    friend bool operator==(const PolicySpec& a, const PolicySpec& b) { return a.name == b.name && a.args == b.args && a.text == b.text; }
};

/// As people write it on the command line and in Python: `save_only_these_names(h, attn)`; a callable of the user's: its own text.
std::string policy_text(const PolicySpec& policy);

}  // namespace jaxscope
