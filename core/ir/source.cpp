#include "ir/source.h"

#include "base/intern.h"

namespace jaxscope {

namespace {

struct SourceHash {
    std::size_t operator()(const Source& s) const {
        std::size_t h = hash_mix(s.summary.id(), s.name_stack.id());
        for (const Frame& f : s.frames) {
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

SourceRef::SourceRef(const Source& source) : id_(table<Source, SourceHash>().intern(source)) {}
const Source& SourceRef::operator*() const { return table<Source, SourceHash>().get(id_); }

const Frame* SourceRef::user_frame() const {
    const Source& s = **this;
    for (const Frame& f : s.frames)
        if (f.project) return &f;
    return s.frames.empty() ? nullptr : &s.frames.front();
}

SourceLoc SourceRef::loc() const {
    const Frame* f = user_frame();
    return f ? SourceLoc{f->file.str(), f->line, f->column + 1} : SourceLoc{};
}

ContextRef::ContextRef(const EqnContext& context) : id_(table<EqnContext, ContextHash>().intern(context)) {}
const EqnContext& ContextRef::operator*() const { return table<EqnContext, ContextHash>().get(id_); }

}  // namespace jaxscope
