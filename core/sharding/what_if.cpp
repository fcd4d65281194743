// SPDX-License-Identifier: Apache-2.0
#include "sharding/what_if.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"
#include "sharding/captured.h"

namespace jaxscope::sharding {

namespace {

class SpecReader {
public:
    explicit SpecReader(std::string text) : text_(std::move(text)) {}
    Spec read() {
        Spec out;
        expect("P(");
        while (!take(")")) {
            out.dims.push_back(take("(") ? several() : one());
            if (!take(",") && !at(")")) fail();
        }
        skip();
        if (pos_ != text_.size()) fail();
        return out;
    }

private:
    [[noreturn]] void fail() const {
        throw Error(ErrorCode::BadUsage, "expected a spec such as P('x', None, ('y', 'z')), found '" + text_ + "'");
    }
    void skip() {
        while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
    }
    bool at(const std::string& token) {
        skip();
        return text_.compare(pos_, token.size(), token) == 0;
    }
    bool take(const std::string& token) {
        if (!at(token)) return false;
        pos_ += token.size();
        return true;
    }
    void expect(const std::string& token) {
        if (!take(token)) fail();
    }
    AxisNames one() {
        skip();
        const char quote = pos_ < text_.size() && (text_[pos_] == '\'' || text_[pos_] == '"') ? text_[pos_++] : '\0';
        const std::size_t begin = pos_;
        while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) ++pos_;
        const std::string name = text_.substr(begin, pos_ - begin);
        if (name.empty() || (quote && (pos_ == text_.size() || text_[pos_++] != quote))) fail();
        return !quote && name == "None" ? AxisNames() : AxisNames{Sym(name)};
    }
    AxisNames several() {
        AxisNames out;
        while (!take(")")) {
            for (const Sym n : one()) out.push_back(n);
            if (!take(",") && !at(")")) fail();
        }
        return out;
    }
    std::string text_;
    std::size_t pos_ = 0;
};

bool below(const std::string& path, const std::string& chosen) {
    return path.starts_with(chosen) && (path.size() == chosen.size() || path[chosen.size()] == '[' || path[chosen.size()] == '.');
}

/// What JAX refuses of an argument, too.
void check(const SpecChoice& c, AvalRef aval, const std::string& path, const Mesh& mesh) {
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorCode::BadUsage, "expected a spec that " + path + " (" + to_text(aval) + ") can have over " + to_text(mesh) +
                                             ", found " + to_text(c.spec) + ": " + why);
    };
    AxisNames all = c.spec.axes();
    std::sort(all.begin(), all.end(), [](Sym a, Sym b) { return a.str() < b.str(); });
    if (std::adjacent_find(all.begin(), all.end()) != all.end()) refuse("an axis stands in it twice");
    for (const Sym a : all)
        if (std::none_of(mesh.axes.begin(), mesh.axes.end(), [&](const Mesh::Axis& m) { return m.name == a; }))
            refuse("the mesh has no axis '" + a.str() + "'");
    if (c.spec.dims.size() > aval->shape.size()) refuse("it is for more dimensions");
    if (!uneven_dims(aval->shape, {mesh, c.spec}).empty()) refuse("the parts wouldn't be equal");
}

/// An entry of a list parameter of the call that the program is.
void put_entry(Jaxpr& j, const char* name, std::size_t i, const Attr& value) {
    const Attr* given = j.eqns[0].params->find(name);
    const Attr::Seq* list = given ? given->get_seq() : nullptr;
    if (!list || i >= list->items.size()) return;
    Attrs items = list->items;
    items[i] = value;
    j.eqns[0].params = with_param(j.eqns[0].params, name, Attr::tuple(std::move(items)));
}

class WhatIf {
public:
    WhatIf(const Program& program, Mesh mesh)
        : out_(program), mesh_(std::move(mesh)), jaxpr_(*program.jaxpr), call_(only_call(*program.jaxpr)) {
        if (program.marked && only_call(*program.marked)) marked_ = std::make_shared<Jaxpr>(*program.marked);
        out_.in_shardings.resize(jaxpr_.num_invars);
    }
    void apply(const SpecChoice& c) {
        bool any = false;
        for (std::size_t i = 0; i < out_.in_paths.size(); ++i) {
            if (!below(out_.in_paths[i].str(), c.path)) continue;
            any = true;
            input(c, i);
        }
        for (std::size_t k = 0; call_ && k < out_.out_paths.size(); ++k) {
            if (!below(out_.out_paths[k].str(), c.path)) continue;
            any = true;
            result(c, k);
        }
        if (any) return;
        std::vector<std::string_view> paths;
        for (const Sym path : out_.in_paths) paths.emplace_back(path.str());
        for (std::size_t k = 0; call_ && k < out_.out_paths.size(); ++k) paths.emplace_back(out_.out_paths[k].str());
        throw unknown_name(ErrorCode::NotFound, "expected the path of an input" + std::string(call_ ? " or result" : ""), c.path, paths);
    }
    Program finish() && {
        out_.jaxpr = std::make_shared<const Jaxpr>(std::move(jaxpr_));
        if (marked_) out_.marked = marked_;
        out_.xla = {};  // XLA spoke of another layout
        out_.targets.clear();
        return std::move(out_);
    }

private:
    void input(const SpecChoice& c, std::size_t i) {
        const Var v = jaxpr_.invar(static_cast<std::uint32_t>(i));
        check(c, jaxpr_.aval(v), out_.in_paths[i].str(), mesh_);
        out_.in_shardings[i] = to_attr(NamedSharding{mesh_, c.spec});
        each_call([&](Jaxpr& j) {
            const auto in = j.inputs(j.eqns[0]);
            for (std::size_t n = 0; n < in.size(); ++n)
                if (in[n] == Atom(j.invar(static_cast<std::uint32_t>(i)))) put_entry(j, "in_shardings", n, out_.in_shardings[i]);
        });
    }
    void result(const SpecChoice& c, std::size_t k) {
        check(c, jaxpr_.aval(jaxpr_.outvars[k]), out_.out_paths[k].str(), mesh_);
        each_call([&](Jaxpr& j) {
            if (j.outvars[k].is_var() && j.outvars[k].var().index >= j.eqns[0].first_out)
                put_entry(j, "out_shardings", j.outvars[k].var().index - j.eqns[0].first_out, to_attr(NamedSharding{mesh_, c.spec}));
        });
    }
    template <class F>
    void each_call(F&& change) {
        if (call_) change(jaxpr_);
        if (marked_) change(*marked_);
    }
    Program out_;
    Mesh mesh_;
    Jaxpr jaxpr_;
    const Eqn* call_;
    std::shared_ptr<Jaxpr> marked_;
};

}  // namespace

SpecChoice parse_spec_choice(const std::string& text) {
    const std::size_t eq = text.rfind("=");
    if (eq == std::string::npos || eq == 0)
        throw Error(ErrorCode::BadUsage, "expected PATH=SPEC such as params['w']=P('x', None), found '" + printable(text) + "'");
    return {std::string(trim(text.substr(0, eq))), SpecReader(std::string(trim(text.substr(eq + 1)))).read()};
}

Program with_specs(const Program& program, const std::vector<SpecChoice>& choices) {
    std::optional<Mesh> mesh = mesh_of(program);
    if (!mesh)
        throw Error(ErrorCode::CannotRun, "expected a program over several devices, found one in which nothing names a mesh")
            .at({program.path, 0, 0});
    WhatIf out(program, std::move(*mesh));
    for (const SpecChoice& c : choices) out.apply(c);
    return std::move(out).finish();
}

}  // namespace jaxscope::sharding
