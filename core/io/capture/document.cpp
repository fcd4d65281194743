// SPDX-License-Identifier: Apache-2.0
#include "io/capture/document.h"

#include <algorithm>

#include "base/limits.h"
#include "io/capture/program.h"

namespace jaxscope {

CaptureDocument::CaptureDocument(Program& program, std::string name)
    : program_(program), name_(std::move(name)), tables_(program), tree_(steps_) {}

const CaptureDocument::Key* CaptureDocument::root_key(std::string_view name) {
    using D = CaptureDocument;
    using T = CaptureTables;
    static constexpr Key kKeys[] = {
        {"format", &D::format, nullptr},
        {"version", &D::version, nullptr},
        {"producer", &D::producer, nullptr},
        {"name", &D::program_name, nullptr},
        {"flags", &D::flags, nullptr},
        {"strings", nullptr, &D::table<&T::add_string>},
        {"avals", nullptr, &D::table<&T::add_aval>},
        {"files", nullptr, &D::table<&T::add_file>},
        {"frames", nullptr, &D::table<&T::add_frame>},
        {"tracebacks", nullptr, &D::table<&T::add_traceback>},
        {"name_stacks", nullptr, &D::table<&T::add_name_stack>},
        {"sources", nullptr, &D::table<&T::add_source>},
        {"contexts", nullptr, &D::table<&T::add_context>},
        {"literals", nullptr, &D::table<&T::add_literal>},
        {"arrays", nullptr, nullptr, Place::Arrays},
        {"params", nullptr, &D::params},
        {"jaxprs", nullptr, nullptr, Place::Jaxprs},
        {"custom_rules", nullptr, &D::custom_rule},
        {"program", &D::program, nullptr},
        {"marked", &D::marked, nullptr},
        {"regions", nullptr, &D::region},
        {"xla", &D::xla, nullptr},
        {"targets", nullptr, &D::target},
    };
    for (const Key& k : kKeys)
        if (name == k.name) return &k;
    return nullptr;
}

void CaptureDocument::fail(const std::string& expected, const std::string& found) const {
    throw Error(ErrorCode::BadInput, json_path(steps_) + ": expected " + expected + ", found " + found);
}
void CaptureDocument::syntax_error(const std::string& what) const { fail("JSON", what); }

namespace {
const char* kind_name(JsonKind kind) {
    static constexpr const char* kNames[] = {"null", "a bool", "an integer", "an integer", "a number", "a string", "an array", "an object"};
    return kNames[static_cast<std::size_t>(kind)];
}
}  // namespace

// ---- Events -----------------------------------------------------------------------------------------------------------------

template <class Add>
void CaptureDocument::scalar(Add add) {
    if (mode_ == Mode::Structure) {
        // Its kind says nothing more than that it is no container.
        enter(JsonKind::Null);
        if (mode_ == Mode::Skip) {
            mode_ = Mode::Structure;
            return;
        }
    }
    if (mode_ == Mode::Collect) {
        add();
        if (depth_inside_ == 0) convert();
    } else if (mode_ == Mode::Values) {
        tree_.clear();
        add();
        check_values(filler_->number(tree_.root()));
        if (depth_inside_ == 0) mode_ = Mode::Structure;
    }
}
void CaptureDocument::scalar_null() {
    scalar([&] { tree_.add_null(); });
}
void CaptureDocument::scalar_bool(bool v) {
    scalar([&] { tree_.add_bool(v); });
}
void CaptureDocument::scalar_int(std::int64_t v) {
    scalar([&] { tree_.add_int(v); });
}
void CaptureDocument::scalar_uint(std::uint64_t v) {
    scalar([&] {
        if (v <= static_cast<std::uint64_t>(INT64_MAX))
            tree_.add_int(static_cast<std::int64_t>(v));
        else
            tree_.add_uint(v);
    });
}
void CaptureDocument::scalar_float(double v) {
    scalar([&] { tree_.add_float(v); });
}
void CaptureDocument::scalar_string(std::string_view v) {
    scalar([&] { tree_.add_string(v); });
}

void CaptureDocument::key(std::string& v) {
    if (mode_ == Mode::Collect) {
        tree_.add_key(v);
    } else if (mode_ == Mode::Structure) {
        steps_.back().key.swap(v);
        steps_.back().index = 0;
    }
}

void CaptureDocument::begin(JsonKind kind) {
    if (mode_ == Mode::Structure) {
        enter(kind);
        if (mode_ == Mode::Structure) return;  // a level was opened
    }
    if (levels_.size() + ++depth_inside_ > kMaxJsonDepth.value)
        throw Error(ErrorCode::LimitExceeded, json_path(steps_) + ": expected at most " + std::to_string(kMaxJsonDepth.value) +
                                                  " values inside each other, found more");
    if (mode_ == Mode::Collect) tree_.begin(kind);
    if (mode_ == Mode::Values) check_values(kind == JsonKind::Array ? filler_->open_list() : "a list of numbers");
}

void CaptureDocument::end() {
    if (mode_ == Mode::Structure) return close_level();
    --depth_inside_;
    if (mode_ == Mode::Collect) tree_.end();
    if (mode_ == Mode::Values) check_values(filler_->close_list());
    if (depth_inside_ > 0) return;
    if (mode_ == Mode::Collect)
        convert();
    else
        mode_ = Mode::Structure;
}

void CaptureDocument::check_values(const std::string& expected) const {
    if (!expected.empty()) fail(expected + " (" + to_text(*array_aval_) + ")", "something else in its values");
}

// ---- Structure --------------------------------------------------------------------------------------------------------------

void CaptureDocument::enter(JsonKind kind) {
    if (steps_.empty()) {
        if (!levels_.empty() || kind != JsonKind::Object)
            fail("one JSON object", kind == JsonKind::Null ? "a single value" : kind_name(kind));
        return open(Place::Root, JsonKind::Object, kind);
    }
    if (steps_.back().array) ++steps_.back().index;
    const Level& level = levels_.back();
    switch (level.place) {
        case Place::Root:
            return enter_root_value(kind);
        case Place::Table:
            return collect(level.element);
        case Place::Eqns:
            return collect(&CaptureDocument::eqn);
        case Place::Jaxprs:
            begin_jaxpr();
            return open(Place::Jaxpr, JsonKind::Object, kind);
        case Place::Arrays:
            begin_array();
            return open(Place::Array, JsonKind::Object, kind);
        case Place::Jaxpr:
            return enter_jaxpr_member(kind);
        case Place::Array:
            return enter_array_member(kind);
    }
}

void CaptureDocument::open(Place place, JsonKind expected, JsonKind found, Converter element) {
    if (found != expected) fail(kind_name(expected), found == JsonKind::Null ? "a single value" : kind_name(found));
    levels_.push_back({place, element});
    JsonStep& step = steps_.emplace_back();
    step.array = expected == JsonKind::Array;
}

void CaptureDocument::close_level() {
    const Place place = levels_.back().place;
    levels_.pop_back();
    steps_.pop_back();
    if (place == Place::Jaxpr) end_jaxpr();
    if (place == Place::Array) end_array();
}

void CaptureDocument::collect(Converter converter) {
    mode_ = Mode::Collect;
    converter_ = converter;
    tree_.clear();
}
void CaptureDocument::convert() {
    mode_ = Mode::Structure;
    (this->*converter_)(tree_.root());
}

void CaptureDocument::enter_root_value(JsonKind kind) {
    const Key* k = root_key(steps_.back().key);
    if (k && !seen_.insert(k).second) fail("the key '" + std::string(k->name) + "' once", "it again");
    if (!k) {
        mode_ = Mode::Skip;
    } else if (k->whole) {
        collect(k->whole);
    } else {
        if (!has_format_ || !has_version_) fail("'format' and 'version' before anything else", "'" + std::string(k->name) + "'");
        open(k->place, JsonKind::Array, kind, k->element);
    }
}

void CaptureDocument::enter_jaxpr_member(JsonKind kind) {
    using D = CaptureDocument;
    static constexpr Key kKeys[] = {
        {"name", &D::jaxpr_name, nullptr},       {"constvars", &D::jaxpr_constvars, nullptr},     {"consts", &D::jaxpr_consts, nullptr},
        {"invars", &D::jaxpr_invars, nullptr},   {"arg_names", &D::jaxpr_arg_names, nullptr},     {"effects", &D::jaxpr_effects, nullptr},
        {"outvars", &D::jaxpr_outvars, nullptr}, {"shared_vars", &D::jaxpr_shared_vars, nullptr},
    };
    const std::string& name = steps_.back().key;
    if (name == "eqns") {
        if (!has_invars_ || has_eqns_ || has_outvars_) fail("'constvars' and 'invars', then 'eqns', then 'outvars'", "another order");
        has_eqns_ = true;
        return open(Place::Eqns, JsonKind::Array, kind);
    }
    for (const Key& k : kKeys)
        if (name == k.name) return collect(k.whole);
    mode_ = Mode::Skip;
}

void CaptureDocument::enter_array_member(JsonKind) {
    const std::string& name = steps_.back().key;
    if (name == "aval") return collect(&CaptureDocument::array_aval);
    if (name == "npz") return collect(&CaptureDocument::array_npz);
    if (name != "values") {
        mode_ = Mode::Skip;
        return;
    }
    if (!array_aval_) fail("'aval' before 'values'", "none");
    if (filler_) fail("'values' once", "it twice");
    filler_.emplace(*array_aval_);
    mode_ = Mode::Values;
}

}  // namespace jaxscope
