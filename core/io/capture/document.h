// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <unordered_set>

#include "base/paged_list.h"
#include "io/capture/array_filler.h"
#include "io/capture/tables.h"

namespace jaxscope {

/// What a JSON reader's events become: the walk over a capture from front to back. Elements of tables (and whole equations) are
/// collected into one small tree and converted at once; nothing bigger is ever held. Arrays' values go straight to their bytes.
class CaptureDocument {
public:
    CaptureDocument(Program& program, std::string name);

    // Events. Each throws Error{BadInput} or Error{LimitExceeded}, with the path.
    void scalar_null();
    void scalar_bool(bool v);
    void scalar_int(std::int64_t v);
    void scalar_uint(std::uint64_t v);
    void scalar_float(double v);
    void scalar_string(std::string_view v);
    void key(std::string& v);
    void begin(JsonKind kind);
    void end();
    [[noreturn]] void syntax_error(const std::string& what) const;
    /// After the last event: what must be there is there.
    void finish();
    const CaptureTables& tables() const { return tables_; }

private:
    using Converter = void (CaptureDocument::*)(const JsonValue&);
    enum class Place : std::uint8_t { Root, Table, Jaxprs, Jaxpr, Eqns, Arrays, Array };
    enum class Mode : std::uint8_t { Structure, Collect, Skip, Values };
    struct Level {
        Place place = Place::Root;
        Converter element = nullptr;  ///< of a Table
    };
    struct Key {
        const char* name;
        Converter whole, element;  ///< the value at once, or its elements one by one
        Place place = Place::Table;
    };
    static const Key* root_key(std::string_view name);
    std::unordered_set<const Key*> seen_;

    template <class Add>
    void scalar(Add add);
    void enter(JsonKind kind);  ///< decides what the value that comes next is
    void enter_root_value(JsonKind kind);
    void enter_jaxpr_member(JsonKind kind);
    void enter_array_member(JsonKind kind);
    void open(Place place, JsonKind expected, JsonKind found, Converter element = nullptr);
    void collect(Converter converter);
    void convert();
    void close_level();
    [[noreturn]] void fail(const std::string& expected, const std::string& found) const;
    void check_values(const std::string& expected) const;

    // Converters: one element of a table, or the whole value of a key.
    void format(const JsonValue& v);
    void version(const JsonValue& v);
    void producer(const JsonValue& v);
    void program_name(const JsonValue& v);
    void flags(const JsonValue& v);
    template <void (CaptureTables::*add)(const JsonValue&)>
    void table(const JsonValue& v) {
        (tables_.*add)(v);
    }
    void params(const JsonValue& v) { tables_.add_params(v, tree_, steps_); }
    void custom_rule(const JsonValue& v);
    void program(const JsonValue& v);
    void marked(const JsonValue& v);
    void region(const JsonValue& v);
    void xla(const JsonValue& v);
    void target(const JsonValue& v);
    void array_aval(const JsonValue& v) { array_aval_ = tables_.aval(v); }
    void array_npz(const JsonValue& v);
    void jaxpr_name(const JsonValue& v);
    void jaxpr_constvars(const JsonValue& v);
    void jaxpr_consts(const JsonValue& v);
    void jaxpr_invars(const JsonValue& v);
    void jaxpr_arg_names(const JsonValue& v);
    void jaxpr_effects(const JsonValue& v);
    void jaxpr_outvars(const JsonValue& v);
    void jaxpr_shared_vars(const JsonValue& v);
    void eqn(const JsonValue& v);
    void begin_jaxpr();
    void end_jaxpr();
    void begin_array();
    void end_array();
    Atom atom(const JsonValue& v) const;
    void eqn_results(const JsonValue& v, Eqn& e);
    EffectSet effects(const JsonValue& v) const;

    Program& program_;
    std::string name_;
    CaptureTables tables_;
    std::vector<JsonStep> steps_;
    std::vector<Level> levels_;
    JsonTree tree_;
    Mode mode_ = Mode::Structure;
    std::size_t depth_inside_ = 0;  ///< containers open inside what is collected, skipped or filled
    Converter converter_ = nullptr;
    bool has_format_ = false, has_version_ = false;

    // The jaxpr being read.
    std::shared_ptr<Jaxpr> jaxpr_;
    PagedList<Eqn> eqns_;  ///< most of what a capture takes in memory
    int jaxpr_depth_ = 0;
    bool has_constvars_ = false, has_invars_ = false, has_eqns_ = false, has_outvars_ = false;
    // The array being read.
    std::optional<AvalRef> array_aval_;
    std::shared_ptr<ArrayConst> array_;
    std::optional<ArrayFiller> filler_;
};

}  // namespace jaxscope
