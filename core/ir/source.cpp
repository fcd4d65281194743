// SPDX-License-Identifier: Apache-2.0
#include "ir/source.h"

#include "base/intern.h"

namespace jaxscope {

namespace {

struct SourceHash {
    std::size_t operator()(const Source& s) const {
        return hash_mix(hash_mix(s.traceback.id(), s.name_stack.id()), s.own_place * 2u + s.unused_in_body);
    }
};
struct TracebackHash {
    std::size_t operator()(const Traceback& t) const {
        std::size_t h = t.summary.id();
        for (const Frame& f : t.frames) {
            h = hash_mix(h, (std::size_t{f.file.id()} << 32) | f.function.id());
            h = hash_mix(h, (static_cast<std::size_t>(f.line) << 32) | static_cast<std::size_t>(f.column));
        }
        return h;
    }
};
struct ContextHash {
    std::size_t operator()(const EqnContext& c) const {
        return hash_mix(hash_mix(c.compute_type.id(), c.threefry_partitionable), hash_mix(c.mesh.id(), c.metadata.id()));
    }
};
template <class T, class H>
InternTable<T, H>& table() {
    static auto& t = *[] {
        auto* made = new InternTable<T, H>;
        made->intern(T{});
        return made;
    }();
    return t;
}

}  // namespace

TracebackRef::TracebackRef(const Traceback& traceback) : id_(table<Traceback, TracebackHash>().intern(traceback)) {}
const Traceback& TracebackRef::operator*() const { return table<Traceback, TracebackHash>().get(id_); }

SourceRef::SourceRef(const Source& source) : id_(table<Source, SourceHash>().intern(source)) {}
const Source& SourceRef::operator*() const { return table<Source, SourceHash>().get(id_); }

const Frame* SourceRef::user_frame() const {
    const std::vector<Frame>& frames = (*this)->frames();
    for (const Frame& f : frames)
        if (f.project) return &f;
    return frames.empty() ? nullptr : &frames.front();
}

SourceLoc SourceRef::loc() const {
    const Frame* f = user_frame();
    if (!f) return {};
    return {f->file.str(), f->line, f->column || f->end_column ? f->column + 1 : 0};  // C++ tells no columns
}

void SourcesWithin::find(SourceRef inner) {
    const auto [found, fresh] = known_.try_emplace(inner.id());
    if (fresh) found->second = inner.with(outer_ + inner->name_stack);
    last_inner_ = inner;
    last_ = found->second;
}

ContextRef::ContextRef(const EqnContext& context) : id_(table<EqnContext, ContextHash>().intern(context)) {}
const EqnContext& ContextRef::operator*() const { return table<EqnContext, ContextHash>().get(id_); }

}  // namespace jaxscope
