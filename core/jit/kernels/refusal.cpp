// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "jit/kernels/library.h"

namespace jaxscope::exec {

namespace {

constexpr const char* kParam = "jaxscope_refused";

class RefusalCall final : public LibraryCall {
public:
    RefusalCall(const std::string& words, bool unknown, SourceLoc loc) : words_(words), unknown_(unknown), loc_(std::move(loc)) {}
    void run(void* const*, void* const*, void*) const override {
        throw Error(unknown_ ? ErrorCode::UnknownPrimitive : ErrorCode::NoRule, words_)
            .in("a branch of cond that the run entered")
            .at(loc_);
    }

private:
    std::string words_;
    bool unknown_;
    SourceLoc loc_;
};

}  // namespace

Op refused_when_met(Op op, const Error& error) {
    std::vector<Params::Entry> entries(op.params->entries().begin(), op.params->entries().end());
    entries.emplace_back(Sym(kParam), Attr::tuple({Attr(error.fact()), Attr(error.code == ErrorCode::UnknownPrimitive)}));
    op.params = Params::make(std::move(entries));
    return op;
}

LibraryCallPtr make_refusal(const Op& op) {
    static const Sym name(kParam);
    const Attr* a = op.params->find(name);
    const Attr::Seq* s = a ? a->get_seq() : nullptr;
    if (!s || s->items.size() != 2 || !s->items[0].get<Sym>() || !s->items[1].get<bool>()) return nullptr;
    return std::make_shared<RefusalCall>(s->items[0].get<Sym>()->str(), *s->items[1].get<bool>(), op.source.loc());
}

}  // namespace jaxscope::exec
