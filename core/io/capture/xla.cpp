// SPDX-License-Identifier: Apache-2.0
// What compilers said of the program: the keys `xla` and `targets`, both ways.
#include "io/capture/output.h"
#include "io/capture/program.h"

#include <algorithm>
#include <set>

#include "ir/compiled_operations.h"

namespace jaxscope {

namespace {

bool moves_only(std::string_view opcode) {
    static const std::set<std::string_view> kMoves = {"fusion",    "copy", "broadcast",  "reshape",
                                                      "transpose", "call", "copy-start", "copy-done"};
    return kMoves.contains(opcode);
}

std::optional<double> number(const JsonValue& v, std::string_view key) {
    JsonValue found;
    if (!v.find_value(key, found)) return std::nullopt;
    return found.as_double();
}
std::optional<std::int64_t> size(const JsonValue& v, std::string_view key, std::int64_t most = INT64_MAX) {
    JsonValue found;
    if (!v.find_value(key, found)) return std::nullopt;
    return found.as_int(0, most, "bytes");
}
int line(const JsonValue& v) { return static_cast<int>(size(v, "line", INT32_MAX).value_or(0)); }
std::string text(const JsonValue& v, std::string_view key) {
    JsonValue found;
    return v.find_value(key, found) ? std::string(found.as_string()) : std::string();
}

OutOfMemory read_out_of_memory(const JsonValue& v) {
    OutOfMemory o;
    o.needed = size(v, "needed");
    o.available = size(v, "available");
    o.text = text(v, "text");
    JsonValue buffers;
    if (!v.find_value("buffers", buffers)) return o;
    for (JsonValue::Items it(buffers); it.more(); it.step()) {
        const JsonValue b = it.value();
        o.buffers.push_back(
            {size(b, "bytes").value_or(0), text(b, "shape"), text(b, "op_name"), text(b, "kind"), text(b, "file"), line(b)});
    }
    return o;
}

CompiledCollective read_collective(const JsonValue& v) {
    CompiledCollective c;
    c.kind = text(v, "kind");
    c.bytes = size(v, "bytes").value_or(0);
    c.members = std::max<std::int64_t>(size(v, "members").value_or(1), 1);
    c.times = size(v, "times");
    c.op_name = text(v, "op_name");
    c.file = text(v, "file");
    c.line = line(v);
    return c;
}
std::vector<std::string> texts(const JsonValue& v, std::string_view key) {
    std::vector<std::string> out;
    JsonValue found;
    if (!v.find_value(key, found)) return out;
    for (JsonValue::Items it(found); it.more(); it.step())
        out.push_back(it.value().is_null() ? std::string() : std::string(it.value().as_string()));
    return out;
}

std::shared_ptr<const CompiledOperations> read_operations(const JsonValue& v) {
    auto out = std::make_shared<CompiledOperations>();
    out->unknown = text(v, "unknown");
    out->unnamed = size(v, "unnamed").value_or(0);
    out->opcodes = texts(v, "opcodes");
    for (const std::string& opcode : out->opcodes) out->moves_only.push_back(moves_only(opcode));
    JsonValue found;
    if (!v.find_value("jaxprs", found)) return out;
    for (JsonValue::Items it(found); it.more(); it.step()) {
        CompiledOperations::Body& body = out->bodies.emplace_back();
        body.jaxpr = text(it.value(), "jaxpr");
        const JsonValue rows = it.value().get("rows");
        for (JsonValue::Items row(rows); row.more(); row.step()) {
            const JsonValue r = row.value();
            const auto count = [&](std::size_t i) { return r.at(i).as_int(0, INT64_MAX, "a count"); };
            const auto opcode = r.at(1).as_int(0, static_cast<std::int64_t>(out->opcodes.size()), "one of the opcodes");
            body.rows.push_back({static_cast<std::uint32_t>(r.at(0).as_int(0, INT32_MAX, "an equation")),
                                 static_cast<std::uint32_t>(opcode), count(2), count(3), count(4)});
        }
    }
    return out;
}

/// Texts that aren't there are null.
void entry(JsonWriter& w, const char* key, const std::string& value) {
    w.key(key);
    if (value.empty())
        w.null();
    else
        w.value(value);
}
template <class T>
void entry(JsonWriter& w, const char* key, const std::optional<T>& value) {
    w.key(key);
    if (value)
        w.value(*value);
    else
        w.null();
}

void write_over_devices(JsonWriter& w, const XlaFacts& x) {
    w.key("collectives");
    w.begin_array();
    for (const CompiledCollective& c : x.collectives) {
        w.begin_object();
        w.entry("kind", c.kind);
        w.entry("bytes", c.bytes);
        w.entry("members", c.members);
        entry(w, "times", c.times);
        w.entry("op_name", c.op_name);
        w.entry("file", c.file);
        w.entry("line", c.line);
        w.end_object();
    }
    w.end_array();
    for (const auto& [key, specs] : {std::pair("input_specs", &x.in_specs), std::pair("output_specs", &x.out_specs)}) {
        w.key(key);
        w.begin_array();
        for (const std::string& s : *specs) s.empty() ? w.null() : w.value(s);
        w.end_array();
    }
}

void write_operations(JsonWriter& w, const CompiledOperations& operations) {
    w.key("operations");
    w.begin_object();
    if (!operations.unknown.empty()) {
        w.entry("unknown", operations.unknown);
        return w.end_object();
    }
    w.key("opcodes");
    w.begin_array();
    for (const std::string& opcode : operations.opcodes) w.value(opcode);
    w.end_array();
    w.entry("unnamed", operations.unnamed);
    w.key("jaxprs");
    w.begin_array();
    for (const CompiledOperations::Body& body : operations.bodies) {
        w.begin_object();
        w.entry("jaxpr", body.jaxpr);
        w.key("rows");
        w.begin_array();
        for (const CompiledOperations::Row& r : body.rows) {
            w.begin_array();
            for (const std::int64_t n : {std::int64_t{r.eqn}, std::int64_t{r.opcode}, r.count, r.stored, r.bytes}) w.value(n);
            w.end_array();
        }
        w.end_array();
        w.end_object();
    }
    w.end_array();
    w.end_object();
}

void write_figures(JsonWriter& w, const XlaFacts& x) {
    w.key("memory_analysis");
    w.begin_object();
    if (x.arguments) w.entry("argument_size_in_bytes", *x.arguments);
    if (x.outputs) w.entry("output_size_in_bytes", *x.outputs);
    if (x.aliased) w.entry("alias_size_in_bytes", *x.aliased);
    if (x.temporaries) w.entry("temp_size_in_bytes", *x.temporaries);
    if (x.peak) w.entry("peak_memory_in_bytes", *x.peak);
    w.end_object();
    w.key("cost_analysis");
    w.begin_object();
    if (x.flops) w.entry("flops", *x.flops);
    if (x.bytes_accessed) w.entry("bytes accessed", *x.bytes_accessed);
    w.end_object();
    w.key("input_output_alias");
    w.begin_array();
    for (const auto& [output, input] : x.aliases) {
        w.begin_array();
        w.value(output);
        w.value(input);
        w.end_array();
    }
    w.end_array();
    if (x.operations) write_operations(w, *x.operations);
    if (!x.collectives.empty() || !x.in_specs.empty() || !x.out_specs.empty()) write_over_devices(w, x);
}

void write_out_of_memory(JsonWriter& w, const OutOfMemory& o) {
    w.begin_object();
    entry(w, "needed", o.needed);
    entry(w, "available", o.available);
    w.key("buffers");
    w.begin_array();
    for (const OutOfMemory::Buffer& b : o.buffers) {
        w.begin_object();
        w.entry("bytes", b.bytes);
        entry(w, "shape", b.shape);
        entry(w, "op_name", b.op_name);
        entry(w, "kind", b.kind);
        entry(w, "file", b.file);
        if (b.line) w.entry("line", b.line);
        w.end_object();
    }
    w.end_array();
    entry(w, "text", o.text);
    w.end_object();
}

}  // namespace

XlaFacts read_xla(const JsonValue& v) {
    XlaFacts x;
    x.known = true;
    x.target = text(v, "target");
    x.device = text(v, "device");
    x.version = text(v, "libtpu");
    if (x.version.empty()) x.version = text(v, "version");  // of the backend that captured
    x.options = text(v, "options");
    x.compile_seconds = number(v, "compile_seconds").value_or(0);
    JsonValue found;
    if (v.find_value("memory_analysis", found)) {
        x.arguments = size(found, "argument_size_in_bytes");
        x.outputs = size(found, "output_size_in_bytes");
        x.aliased = size(found, "alias_size_in_bytes");
        x.temporaries = size(found, "temp_size_in_bytes");
        x.peak = size(found, "peak_memory_in_bytes");
        if (x.peak == 0) x.peak.reset();  // backends that don't know it say so
    }
    if (v.find_value("cost_analysis", found)) {
        x.flops = number(found, "flops");
        x.bytes_accessed = number(found, "bytes accessed");
    }
    if (v.find_value("input_output_alias", found))
        for (JsonValue::Items it(found); it.more(); it.step()) {
            const JsonValue pair = it.value();
            x.aliases.emplace_back(static_cast<int>(pair.at(0).as_int(0, INT32_MAX, "an output")),
                                   static_cast<int>(pair.at(1).as_int(0, INT32_MAX, "an input")));
        }
    if (v.find_value("collectives", found))
        for (JsonValue::Items it(found); it.more(); it.step()) x.collectives.push_back(read_collective(it.value()));
    x.in_specs = texts(v, "input_specs");
    x.out_specs = texts(v, "output_specs");
    if (v.find_value("operations", found)) x.operations = read_operations(found);
    if (v.find_value("out_of_memory", found)) x.out_of_memory = read_out_of_memory(found);
    return x;
}

std::string CaptureOutput::xla() const {
    return json_text([&](JsonWriter& w) {
        if (!program_.xla.known) return w.null();
        w.begin_object();
        entry(w, "device", program_.xla.device);
        entry(w, "version", program_.xla.version);
        w.entry("compile_seconds", program_.xla.compile_seconds);
        write_figures(w, program_.xla);
        w.end_object();
    });
}

std::string CaptureOutput::targets() const {
    if (program_.targets.empty()) return {};
    return ",\"targets\":" + json_text([&](JsonWriter& w) {
               w.begin_array();
               for (const XlaFacts& x : program_.targets) {
                   w.begin_object();
                   entry(w, "target", x.target);
                   entry(w, "device", x.device);
                   entry(w, "libtpu", x.version);
                   entry(w, "options", x.options);
                   w.entry("compile_seconds", x.compile_seconds);
                   if (x.out_of_memory) {
                       w.key("out_of_memory");
                       write_out_of_memory(w, *x.out_of_memory);
                   } else {
                       write_figures(w, x);
                   }
                   w.end_object();
               }
               w.end_array();
           });
}

}  // namespace jaxscope
