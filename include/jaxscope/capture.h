// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a capture of a traced program: what `jaxscope` opens, shows and runs.
#include <jaxscope/filter.h>

namespace jaxscope {

struct CaptureOptions {
    jax::Argnames arg_names = {};
    const char* name = nullptr;
};
struct SaveOptions {
    bool source = true;  ///< the text of your files whose lines it names, where they can be read when it is captured
};
namespace jax::detail {
struct CaptureState;
CaptureState* make_capture(Call& call, JitState* state, const CaptureOptions& options);
void save_capture(const CaptureState& state, const std::string& path, const SaveOptions& options);
void drop_capture(CaptureState* state) noexcept;
}  // namespace jax::detail

/// A traced program with its regions, arguments and donations.
class Capture {
public:
    explicit Capture(jax::detail::CaptureState* state) : state_(state) {}
    Capture(Capture&& o) noexcept : state_(o.state_) { o.state_ = nullptr; }
    Capture& operator=(Capture&&) = delete;
    ~Capture() {
        if (state_) jax::detail::drop_capture(state_);
    }
    /// Writes FILE, and FILE.npz for larger arrays. Throws Error when that can't be done.
    void save(const std::string& path, const SaveOptions& options = {}) const { jax::detail::save_capture(*state_, path, options); }

private:
    jax::detail::CaptureState* state_;
};

template <class F, class... A>
Capture capture(const F& f, const A&... a) {
    jax::detail::CallOf<F, A...> call(f, a...);
    return Capture(jax::detail::make_capture(call, nullptr, {}));
}
template <class F, class... A>
Capture capture(const jax::Jitted<F>& f, const A&... a) {
    jax::detail::CallOf<F, A...> call(f.function(), a...);
    return Capture(jax::detail::make_capture(call, &f.state(), {}));
}
template <class F, class... A>
Capture capture(const jax::FilterJitted<F>& f, const A&... a) {
    return f.with_call([&](jax::detail::Call& call) { return Capture(jax::detail::make_capture(call, &f.state(), {})); }, a...);
}

}  // namespace jaxscope
