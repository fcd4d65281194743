#pragma once
#include <zstd.h>

#include <nlohmann/json.hpp>
#include <string>

namespace jaxscope::test {

inline std::string zstd(const std::string& text) {
    std::string out(ZSTD_compressBound(text.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
    return out;
}

/// A small capture that is right: f(x) = sin(x) * 2.0 with a jit in the middle. Tests break it in one place.
inline nlohmann::ordered_json small_capture() {
    return nlohmann::ordered_json::parse(R"json({
      "format": "jaxscope.capture", "version": 1, "producer": {"jaxscope": "0.1.0", "jax": "0.10.2"}, "name": "f",
      "flags": {"jax_enable_x64": false, "jax_default_matmul_precision": null},
      "strings": ["opq_sin", "mul", "pjit", "f"],
      "avals": [["float32", [3]], ["float32", [], {"weak": true}], ["int32", [2, 2]], ["key<fry>", [2]], ["complex64", [2]]],
      "files": [{"path": "train.py", "project": true, "text": "import jax\n"}],
      "frames": [[0, 41, 5, 41, 22, 3]], "tracebacks": [[0]], "name_stacks": ["", "jvp(loss)"],
      "sources": [[0, 1, "train.py:41:5 (f)"]],
      "contexts": [{"compute_type": null, "threefry_partitionable": true, "mesh": null, "metadata": null}],
      "literals": [[1, 2.0], [1, "nan"], [1, 1e-05]],
      "arrays": [{"aval": 2, "values": [[1, 2], [3, 4]]}, {"aval": 3, "values": [[1, 2], [3, 4294967295]]},
                 {"aval": 4, "values": [[1.5, -2], ["inf", "nan"]]}, {"aval": 0}],
      "params": [{}, {"name": "inner", "jaxpr": {"closed_jaxpr": 0}, "inline": false},
                 {"axes": [0, 1], "mode": {"enum": ["GatherScatterMode", "CLIP"]}, "new_dtype": {"dtype": "float32"}, "nan": {"float": "nan"}}],
      "jaxprs": [
        {"name": "inner", "constvars": [], "consts": [], "invars": [0], "arg_names": ["y"], "effects": [],
         "eqns": [[0, [0], [0], 0, 0, 0, []]], "outvars": [1]},
        {"name": "f", "constvars": [2], "consts": [0], "invars": [0], "arg_names": ["x"], "effects": [],
         "eqns": [[2, [1], [0], 1, 0, 0], [1, [2, -1], [0], 0, 0, 0], [0, [2], [-1], 2, 0, 0]], "outvars": [3]}],
      "custom_rules": [],
      "program": {
    "jaxpr" : 1, "in_paths" : ["x"],
                              "out_paths" : [""],
                                            "arg_of_input" : [0],
                                                             "arg_names" : ["x"],
                                                                           "donated" : [true],
                                                                                       "kept" : [true],
                                                                                                "static"
        : [ {"path" : "flag", "text" : "True"} ],
          "differentiate" : [0],
                            "has_aux" : false,
                                        "jit" : "jax",
                                                "donate_warnings" : [],
                                                                    "values" : [3]}
    })json");
}

}  // namespace jaxscope::test
