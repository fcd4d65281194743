// SPDX-License-Identifier: Apache-2.0
#include "io/capture/writer.h"

#include <zstd.h>

#include "base/atomic_file.h"
#include "base/cancel.h"
#include "io/capture/output.h"
#include "ir/primitive.h"

namespace jaxscope {

namespace {

void syms(JsonWriter& w, const char* key, const std::vector<Sym>& list) {
    w.key(key);
    w.begin_array();
    for (const Sym s : list) w.value(s.str());
    w.end_array();
}
void ints(JsonWriter& w, const char* key, const std::vector<int>& list) {
    w.key(key);
    w.begin_array();
    for (const int i : list) w.value(i);
    w.end_array();
}
void bools(JsonWriter& w, const char* key, const std::vector<bool>& list) {
    w.key(key);
    w.begin_array();
    for (const bool b : list) w.value(b);
    w.end_array();
}
template <class T>
void entry(JsonWriter& w, const char* key, const T& value) {
    w.key(key);
    w.value(value);
}
void entry(JsonWriter& w, const char* key, Sym value) {
    w.key(key);
    if (value.empty())
        w.null();
    else
        w.value(value.str());
}

}  // namespace

CaptureOutput::CaptureOutput(const Program& program, const WriteOptions& options, std::vector<NpzArray>* archive)
    : program_(program), options_(options), archive_(archive) {
    for (const SourceFile& f : program.files) file(f.path, f.project);
}

std::int64_t CaptureOutput::file(const std::string& path, bool project) {
    const auto [found, added] = file_index_.emplace(path, static_cast<std::int64_t>(file_index_.size()));
    if (!added) return found->second;
    const SourceFile* known = nullptr;
    for (const SourceFile& f : program_.files)
        if (f.path == path) known = &f;
    if (!files_.empty()) files_ += ',';
    files_ += json_text([&](JsonWriter& w) {
        w.begin_object();
        entry(w, "path", std::string_view(path));
        entry(w, "project", known ? known->project : project);
        if (known && known->text) entry(w, "text", std::string_view(*known->text));
        w.end_object();
    });
    return found->second;
}

// ---- Jaxprs -----------------------------------------------------------------------------------------------------------------

void CaptureOutput::add_jaxprs(const JaxprPtr& root) {
    if (!root || jaxpr_ids_.contains(root.get())) return;
    roots_.push_back(root);
    for (const Jaxpr* j : all_jaxprs(*root)) {
        if (jaxpr_ids_.contains(j)) continue;
        write_jaxpr(*j);
        jaxpr_ids_.emplace(j, static_cast<std::int64_t>(jaxpr_ids_.size()));
    }
}

void CaptureOutput::write_atoms(JsonWriter& w, std::span<const Atom> atoms) {
    w.begin_array();
    for (const Atom a : atoms) w.value(a.is_literal() ? -1 - literal(a.literal()) : static_cast<std::int64_t>(a.var().index));
    w.end_array();
}

namespace {
void write_effects(JsonWriter& w, EffectSet effects) {
    w.begin_array();
    for (const Effect& e : effects.list()) w.value(e.text.str());
    w.end_array();
}
}  // namespace

void CaptureOutput::write_eqn(JsonWriter& w, const Jaxpr& j, const Eqn& e) {
    w.begin_array();
    w.value(string(e.prim->name.c_str()));
    write_atoms(w, j.inputs(e));
    w.begin_array();
    for (std::uint32_t k = 0; k < e.n_out; ++k) {
        const Var v = j.output(e, k);
        w.value(j.dropped(v) ? -1 - aval(j.aval(v)) : aval(j.aval(v)));
    }
    w.end_array();
    w.value(params(e.params));
    w.value(source(e.source));
    w.value(context(e.context));
    if (!e.effects.empty()) write_effects(w, e.effects);
    w.end_array();
}

namespace {

void write_shared_vars(JsonWriter& w, const std::vector<SharedVars>& runs) {
    w.key("shared_vars");
    w.begin_array();
    for (const SharedVars& run : runs) {
        w.begin_array();
        for (const std::uint32_t n : {run.first, run.count, run.id}) w.value(static_cast<std::int64_t>(n));
        w.end_array();
    }
    w.end_array();
}

}  // namespace

void CaptureOutput::write_jaxpr(const Jaxpr& j) {
    if (!jaxprs_.empty()) jaxprs_ += ',';
    jaxprs_ += json_text([&](JsonWriter& w) {
        const auto avals = [&](const char* key, const Avals& list) {
            w.key(key);
            w.begin_array();
            for (const AvalRef a : list) w.value(aval(a));
            w.end_array();
        };
        w.begin_object();
        entry(w, "name", j.name);
        avals("constvars", j.const_avals());
        if (j.consts.size() == j.num_constvars) {  // a closed one
            w.key("consts");
            w.begin_array();
            for (const ArrayPtr& a : j.consts) w.value(array(a));
            w.end_array();
        }
        avals("invars", j.in_avals());
        syms(w, "arg_names", j.arg_names);
        w.key("effects");
        write_effects(w, j.effects);
        w.key("eqns");
        w.begin_array();
        for (const Eqn& e : j.eqns) check_cancelled(), write_eqn(w, j, e);
        w.end_array();
        w.key("outvars");
        write_atoms(w, j.outvars);
        if (!j.shared_vars.empty()) write_shared_vars(w, j.shared_vars);
        w.end_object();
    });
}

// ---- What stands around -----------------------------------------------------------------------------------------------------

std::string CaptureOutput::head() {
    return json_text([&](JsonWriter& w) {
        w.begin_object();
        entry(w, "jaxscope",
              std::string_view(program_.producer.starts_with("jaxscope ") ? program_.producer.substr(9) : program_.producer));
        entry(w, "jax", std::string_view(program_.jax_version));
        w.end_object();
    });
}

std::string CaptureOutput::rules() {
    static const Sym custom_jvp("custom_jvp");
    return json_text([&](JsonWriter& w) {
        w.begin_array();
        for (const CustomRule& r : program_.rules ? program_.rules->rules : std::vector<CustomRule>{}) {
            w.begin_object();
            entry(w, "kind", r.kind);
            entry(w, "function", r.function);
            entry(w, "static", r.static_args);
            w.key("avals");
            w.begin_array();
            for (const AvalRef a : r.avals) w.value(aval(a));
            w.end_array();
            // A rule that C++ traced takes all tangents, and none of its own are zero.
            const bool plain = r.kind == custom_jvp && r.perturbed.empty() && r.jaxpr;
            bools(w, "perturbed", plain ? std::vector<bool>(r.avals.size(), true) : r.perturbed);
            bools(w, "zero_cotangents", r.zero_cotangents);
            entry(w, "symbolic_zeros", r.symbolic_zeros);
            if (r.covers) entry(w, "covers", true);
            w.key("jaxpr");
            if (r.jaxpr)
                w.value(jaxpr(r.jaxpr));
            else
                w.null();
            if (!r.why.empty()) entry(w, "why", r.why);
            bools(w, "out_zeros", plain ? std::vector<bool>(r.jaxpr->outvars.size() / 2, false) : r.out_zeros);
            ints(w, "input_forwards", r.input_forwards);
            if (!r.closed_over.empty()) ints(w, "closed_over", r.closed_over);
            if (r.variant_of >= 0) entry(w, "variant_of", r.variant_of);
            if (r.axis_size > 0) {
                entry(w, "axis_size", r.axis_size);
                bools(w, "in_batched", r.in_batched);
                bools(w, "out_batched", r.out_batched);
            }
            if (!r.in_dims.empty()) ints(w, "in_dims", r.in_dims);
            if (!r.out_dims.empty()) ints(w, "out_dims", r.out_dims);
            w.end_object();
        }
        w.end_array();
    });
}

std::string CaptureOutput::program() {
    const Program& p = program_;
    return json_text([&](JsonWriter& w) {
        w.begin_object();
        entry(w, "jaxpr", jaxpr(p.jaxpr));
        syms(w, "in_paths", p.in_paths);
        syms(w, "out_paths", p.out_paths);
        ints(w, "arg_of_input", p.arg_of_input);
        syms(w, "arg_names", p.arg_names);
        bools(w, "donated", p.donated);
        bools(w, "kept", p.kept);
        w.key("static");
        w.begin_array();
        for (const auto& [path, text] : p.static_args) {
            w.begin_object();
            w.key("path");
            w.value(path.str());
            w.key("text");
            w.value(text.str());
            w.end_object();
        }
        w.end_array();
        if (p.differentiate_given) ints(w, "differentiate", p.differentiate);
        entry(w, "has_aux", p.has_aux);
        entry(w, "jit", p.jit);
        w.key("donate_warnings");
        w.begin_array();
        for (const std::string& s : p.donate_warnings) w.value(s);
        w.end_array();
        if (!p.same_arrays.empty()) {
            w.key("same_arrays");
            w.begin_array();
            for (const std::vector<int>& group : p.same_arrays) {
                w.begin_array();
                for (const int i : group) w.value(static_cast<std::int64_t>(i));
                w.end_array();
            }
            w.end_array();
        }
        if (!p.in_shardings.empty()) {
            w.key("in_shardings");
            w.begin_array();
            for (const Attr& s : p.in_shardings) attr(w, s);
            w.end_array();
        }
        w.key("values");
        w.begin_array();
        for (const ArrayPtr& a : p.values) {
            if (a)
                w.value(array(a));
            else
                w.null();
        }
        w.end_array();
        w.end_object();
    });
}

std::string CaptureOutput::regions() {
    return json_text([&](JsonWriter& w) {
        const auto number = [&](const char* key, const std::optional<int>& v) {
            w.key(key);
            if (v)
                w.value(*v);
            else
                w.null();
        };
        w.begin_array();
        for (const Region& r : program_.regions) {
            w.begin_object();
            entry(w, "name", r.name);
            entry(w, "kind", r.kind);
            entry(w, "jaxpr", jaxpr(r.jaxpr));
            syms(w, "in_paths", r.in_paths);
            ints(w, "arg_of_input", r.arg_of_input);
            syms(w, "arg_names", r.arg_names);
            syms(w, "out_paths", r.out_paths);
            ints(w, "wrt", r.wrt);
            bools(w, "wrt_inputs", r.wrt_inputs);
            entry(w, "has_aux", r.has_aux);
            entry(w, "outputs", r.outputs);
            entry(w, "source", source(r.source));
            number("parent", r.parent);
            number("mark", r.mark);
            entry(w, "why_unmarked", r.why_unmarked);
            w.end_object();
        }
        w.end_array();
    });
}

namespace {

void axes(JsonWriter& w, const char* key, const std::vector<int>& list) {
    w.key(key);
    w.begin_array();
    for (const int d : list)
        if (d == MarkedCall::kNotMapped)
            w.null();
        else
            w.value(d);
    w.end_array();
}

}  // namespace

std::string CaptureOutput::marked() {
    if (!program_.marked) return "null";
    return json_text([&](JsonWriter& w) {
        w.begin_object();
        entry(w, "jaxpr", jaxpr(program_.marked));
        if (!program_.marked_calls.empty()) {
            w.key("calls");
            w.begin_array();
            for (const MarkedCall& c : program_.marked_calls) {
                w.begin_object();
                entry(w, "mark", c.mark);
                entry(w, "half", std::string_view(c.backward ? "backward" : "forward"));
                entry(w, "jaxpr", jaxpr(c.jaxpr));
                w.key("batch");
                w.begin_array();
                for (const MarkedCall::Level& l : c.batch) {
                    w.begin_object();
                    entry(w, "axis", l.axis);
                    entry(w, "size", l.size);
                    axes(w, "in", l.in);
                    axes(w, "out", l.out);
                    w.end_object();
                }
                w.end_array();
                w.end_object();
            }
            w.end_array();
        }
        w.end_object();
    });
}

std::string CaptureOutput::text() {
    add_jaxprs(program_.jaxpr);
    add_jaxprs(program_.marked);
    for (const MarkedCall& c : program_.marked_calls) add_jaxprs(c.jaxpr);
    for (const Region& r : program_.regions) add_jaxprs(r.jaxpr);
    if (program_.rules)
        for (const CustomRule& r : program_.rules->rules) add_jaxprs(r.jaxpr);
    const std::string flags = json_text([&](JsonWriter& w) {
        w.begin_object();
        for (const auto& [name, value] : program_.flags) {
            w.key(name.str());
            attr(w, value);
        }
        w.end_object();
    });
    const std::string rules_text = rules(), program_text = program(), regions_text = regions();
    std::string out = "{\"format\":\"jaxscope.capture\",\"version\":1,\"producer\":" + head();
    out += ",\"name\":" + json_text([&](JsonWriter& w) { w.value(program_.name.str()); });
    out += ",\"flags\":" + flags;
    const std::pair<const char*, const std::string*> tables[] = {
        {"strings", &strings_.elements()}, {"avals", &avals_.elements()},           {"files", &files_},
        {"frames", &frames_.elements()},   {"tracebacks", &tracebacks_.elements()}, {"name_stacks", &name_stacks_.elements()},
        {"sources", &sources_.elements()}, {"contexts", &contexts_.elements()},     {"literals", &literals_.elements()},
        {"arrays", &arrays_.elements()},   {"params", &params_.elements()},         {"jaxprs", &jaxprs_},
    };
    for (const auto& [name, elements] : tables) out.append(",\"").append(name).append("\":[").append(*elements).append("]");
    out += ",\"custom_rules\":" + rules_text + ",\"program\":" + program_text;
    return out + ",\"marked\":" + marked() + ",\"regions\":" + regions_text + ",\"xla\":" + xla() + targets() + "}\n";
}

std::string capture_text(const Program& program, std::vector<NpzArray>* archive, const WriteOptions& options) {
    return CaptureOutput(program, options, archive).text();
}

void write_capture(const Program& program, const std::string& path, const WriteOptions& options) {
    std::vector<NpzArray> archive;
    std::string text = capture_text(program, &archive, options);
    if (options.compress) {
        std::string packed(ZSTD_compressBound(text.size()), '\0');
        const std::size_t n = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3);
        if (ZSTD_isError(n))
            throw Error(ErrorCode::CannotRun, std::string("expected memory to compress the capture, found: ") + ZSTD_getErrorName(n));
        packed.resize(n);
        text = std::move(packed);
    }
    AtomicFile file(path);
    file.stream().write(text.data(), static_cast<std::streamsize>(text.size()));
    if (archive.empty()) return file.commit();
    AtomicFile arrays(archive_of(path));
    write_npz(arrays.stream(), archive);
    AtomicFile::commit({&arrays, &file});  // the archive first: a capture whose arrays aren't there yet would be read without them
}

}  // namespace jaxscope
