#include "bench/synthetic.h"

#include <fmt/format.h>

#include <iterator>

namespace jaxscope {

namespace {

// strings: 0 sin, 1 mul, 2 add, 3 cos, 4 jit, 5 x, 6 f, 7 name stack
constexpr const char* kHead =
    R"({"format":"jaxscope.capture","version":1,"producer":{"jaxscope":"0.1.0","jax":"0.10.2","jaxlib":"0.10.2","python":"3.11"},"name":"synthetic","flags":{},)"
    R"("strings":["sin","mul","add","cos","jit","x","f","jvp"],"avals":[["float32",[8,16]]],"files":[{"path":"synthetic.py","project":true}],)";

void tables(std::string& out) {
    constexpr int kLines = 1000;
    auto at = std::back_inserter(out);
    out += "\"frames\":[";
    for (int i = 0; i < kLines; ++i) fmt::format_to(at, "{}[0,{},4,{},20,6]", i ? "," : "", i + 1, i + 1);
    out += "],\"tracebacks\":[";
    for (int i = 0; i < kLines; ++i) fmt::format_to(at, "{}[{}]", i ? "," : "", i);
    out += "],\"name_stacks\":[\"\"],\"sources\":[";
    for (int i = 0; i < kLines; ++i) fmt::format_to(at, "{}[{},0,\"synthetic.py:{}:4 (f)\"]", i ? "," : "", i, i + 1);
    out += "],\"contexts\":[{}],\"literals\":[],\"arrays\":[],";
    out +=
        R"("params":[{},{"accuracy":null},{"ctx_mesh":null,"donated_invars":[false],"in_layouts":[null],"in_shardings":[null],"inline":false,)"
        R"("jaxpr":{"closed_jaxpr":0},"keep_unused":false,"name":"f","out_layouts":[null],"out_shardings":[null]}],)";
}

}  // namespace

std::string synthetic_capture(int equations) {
    std::string out = kHead;
    out.reserve(static_cast<std::size_t>(equations) * 28 + 200000);
    auto at = std::back_inserter(out);
    tables(out);
    out += R"("jaxprs":[{"name":"f","constvars":[],"consts":[],"invars":[0],"eqns":[[0,[0],[0],1,0],[1,[1,0],[0],0,1]],"outvars":[2]},)"
           R"({"name":"synthetic","constvars":[],"consts":[],"invars":[0,0],"eqns":[)";
    int last = 1;  // the newest variable: two inputs, then one result an equation
    for (int i = 0; i < equations; ++i, ++last) {
        const int skip = last - (last > 40 && i % 20 == 0 ? 40 : 1);
        const int source = i % 1000;
        if (i) out += ',';
        if (i % 100 == 99)
            fmt::format_to(at, "[4,[{}],[0],2,{}]", last, source);
        else if (i % 4 == 0)
            fmt::format_to(at, "[0,[{}],[0],1,{}]", last, source);
        else if (i % 4 == 1)
            fmt::format_to(at, "[3,[{}],[0],1,{}]", last, source);
        else
            fmt::format_to(at, "[{},[{},{}],[0],0,{}]", i % 4 == 2 ? 1 : 2, last, skip, source);
    }
    fmt::format_to(at, "],\"outvars\":[{}]}}],", last);
    out +=
        R"("custom_rules":[],"program":{"jaxpr":1,"in_paths":["x","y"],"out_paths":[""],"arg_of_input":[0,1],"arg_names":["x","y"],"donated":[false,false],)"
        R"("kept":[true,true],"static":[],"differentiate":[0],"has_aux":false,"jit":"jax","in_shardings":null,"out_shardings":null,"donate_warnings":[],)"
        R"("values":[null,null]},"marked":null,"regions":[],"xla":null})";
    return out;
}

}  // namespace jaxscope
