// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret.h"

namespace jaxscope {

std::string eqn_label(const Jaxpr& j, std::size_t index, Sym path) {
    return "eqn " + (path.empty() ? "" : path.str() + "/") + std::to_string(index) + ": " + j.eqns[index].prim->name;
}

EqnWalk::EqnWalk(const Jaxpr& j, const Options& options)
    : j_(j),
      options_(options),
      place_(options.within    ? *options.within
             : options.builder ? options.builder->source->name_stack
                               : NameStack()) {
    if (!options.builder) return;
    source_ = options.builder->source;
    context_ = options.builder->context;
}

EqnWalk::~EqnWalk() {
    if (!options_.builder) return;
    options_.builder->source = source_;
    options_.builder->context = context_;
}

void EqnWalk::refuse_operands(std::size_t wanted, std::size_t found) const {
    throw Error(ErrorCode::BadInput,
                "expected as many operands as the body has inputs, " + std::to_string(wanted) + ", found " + std::to_string(found))
        .at(source_.loc());
}

void EqnWalk::add_context(Error& error, std::size_t i) const {
    error.at(j_.eqns[i].source.loc()).in(std::string(options_.doing) + " " + eqn_label(j_, i, options_.path));
}

Values inline_jaxpr(JaxprBuilder& b, const Jaxpr& j, const Values& consts, const Values& in, Inlined how) {
    Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_consts(consts);
    run.bind_inputs(in);
    return run.forward([&](const Eqn& e, const Values& args) {
        if (how == Inlined::AsTheyAre) return b.append(*e.prim, args, e.params, j.out_avals(e), e.effects);
        return b.emit(*e.prim, args, e.params, j.out_avals(e), e.effects);
    });
}

}  // namespace jaxscope
