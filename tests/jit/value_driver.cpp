// Runs many captures in one process, as they are, differentiated or mapped, for tests in Python that compare the values with JAX's:
//   value_driver < REQUESTS
// Each line is a request {"file": CAPTURE, "do": "run" | "grad" | "vmap", "out": NPZ}; each answer a line, {} or {"error": TEXT}.
// "fuse": false has each equation run by itself, "debug": true checks every index, "threads" says how many there are (1).
//   grad   the value, then its gradient by every input of inexact type
//   vmap   over two examples of every input: its value, and the same elements in reverse order
#include <algorithm>
#include <cstring>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/arrays/npz.h"
#include "io/load_program.h"
#include "ir/registry.h"
#include "jit/jit.h"
#include "transforms/batch.h"
#include "transforms/vjp.h"

namespace {

using namespace jaxscope;
using nlohmann::json;

/// The array, and behind it its elements in reverse order.
ArrayPtr and_reversed(const ArrayConst& a) {
    auto out = std::make_shared<ArrayConst>();
    Aval both = *a.aval;
    both.shape.insert(both.shape.begin(), 2);
    out->aval = AvalRef(both);
    out->data = a.data;
    const auto width = static_cast<std::size_t>(byte_size(a.aval->dtype));
    out->data.resize(2 * a.data.size());
    for (std::size_t at = 0; at < a.data.size(); at += width) std::memcpy(out->data.end() - at - width, a.data.data() + at, width);
    return out;
}

JaxprPtr transformed(const Program& p, const std::string& what, std::vector<ArrayPtr>& values) {
    const Avals in = p.jaxpr->in_avals();
    if (what == "run") return p.jaxpr;
    if (what == "grad") {
        std::vector<bool> wrt;
        for (const AvalRef a : in) wrt.push_back(is_inexact(a->dtype));
        return value_and_grad(p.jaxpr, wrt);
    }
    for (ArrayPtr& v : values) v = and_reversed(*v);
    return vmap(p.jaxpr, 2, std::vector<int>(in.size(), 0), std::vector<int>(p.jaxpr->outvars.size(), 0));
}

json answer(const json& request) {
    try {
        const ProgramPtr program = load_program(request.at("file").get<std::string>());
        std::vector<ArrayPtr> values = program->values;
        const JaxprPtr j = transformed(*program, request.at("do").get<std::string>(), values);
        JitOptions options;
        options.threads = request.value("threads", 1);
        options.fuse = request.value("fuse", true);
        options.debug = request.value("debug", false);
        const RunResult result = Executable::compile(j, {}, {}, options)->run(values);
        std::vector<NpzArray> members;
        for (std::size_t i = 0; i < result.outputs.size(); ++i) members.push_back({fmt::format("out{}", i), result.outputs[i]});
        write_npz(request.at("out").get<std::string>(), members);
        return json::object();
    } catch (const Error& e) {
        return {{"error", full_text(e)}};
    }
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    register_all_primitives();
    for (std::string line; std::getline(std::cin, line);)
        std::cout << answer(json::parse(line)).dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    return 0;
}
