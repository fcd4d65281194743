// equinox.internal.while_loop: gradients through loops whose number of steps isn't known.
#include <jaxscope/loops.h>

#include "programs.h"

namespace {

namespace eqxi = jax::eqxi;

struct State {
    Array x, steps;
};

/// Gradients by the factor, which the body closes over, and by the start.
auto gradients(const eqxi::LoopOptions& options, int steps) {
    return [options, steps](const Array& p, const Array& x) {
        const auto loss = [&](const Array& factor, const Array& start) {
            const auto unfinished = [&](const State& s) { return s.steps < steps; };
            const auto body = [&](const State& s) {
                return State{jnp::tanh(factor * s.x) + 0.1 * jnp::sin(s.x) * jnp::cos(s.steps.astype(jnp::float32)), s.steps + 1};
            };
            return jnp::sum(eqxi::while_loop(unfinished, body, State{start, Array(0)}, options).x);
        };
        return jax::value_and_grad<0, 1>(loss)(p, x);
    };
}
/// Ends when nothing is above a bound any more.
auto until_small(const eqxi::LoopOptions& options) {
    return [options](const Array& p, const Array& x) {
        const auto loss = [&](const Array& factor, const Array& start) {
            const auto unfinished = [](const Array& v) { return jnp::max(jnp::abs(v)) > 0.2; };
            return jnp::sum(jnp::square(eqxi::while_loop(
                unfinished, [&](const Array& v) { return jnp::sin(factor * v) * 0.9; }, start, options)));
        };
        return jax::value_and_grad<0, 1>(loss)(p, x);
    };
}
struct Saving {
    Array x, steps, saved;
};
/// All states on the way are kept in a buffer, which is read as well.
auto with_buffer(const eqxi::LoopOptions& options) {
    return [options](const Array& p, const Array& x) {
        const auto loss = [&](const Array& factor, const Array& start) {
            const auto unfinished = [](const Saving& s) { return s.steps < 9; };
            const auto body = [&](const Saving& s) {
                Array next = jnp::tanh(factor * s.x) + 0.2;
                return Saving{next, s.steps + 1, s.saved.at({s.steps}).set(next)};
            };
            const auto buffers = [](auto& s) -> auto& { return s.saved; };
            const Saving end = eqxi::while_loop(unfinished, body, Saving{start, Array(0), jnp::zeros({9, 3})}, buffers, options);
            return jnp::sum(jnp::sin(end.saved) * (jnp::arange(27).reshape({9, 3}) + 1.)) + jnp::sum(end.x);
        };
        return jax::value_and_grad<0, 1>(loss)(p, x);
    };
}

}  // namespace

void programs::equinox_loops() {
    const Array p = jnp::array({0.9, 1.1, 0.7}), x = jnp::array({0.3, -0.8, 1.2});
    for (const auto& [steps, checkpoints] : {std::pair{0, 2}, {1, 1}, {7, 1}, {7, 2}, {40, 2}, {40, 5}}) {
        const std::string name = "steps_" + std::to_string(steps) + "_" + std::to_string(checkpoints);
        programs::numbers(name.c_str(), gradients({.kind = "checkpointed", .checkpoints = checkpoints}, steps), p, x);
    }
    programs::numbers("default_checkpoints", gradients({.kind = "checkpointed", .max_steps = 30}, 12), p, x);
    programs::numbers("ends_at_max_steps", gradients({.kind = "checkpointed", .max_steps = 5}, 12), p, x);
    programs::numbers("bounded", gradients({.kind = "bounded", .max_steps = 20, .base = 4}, 12), p, x);
    programs::numbers("bounded_end", gradients({.kind = "bounded", .max_steps = 6, .base = 4}, 12), p, x);
    programs::numbers("until_small", until_small({.kind = "checkpointed", .checkpoints = 4}), p, x);
    programs::numbers("until_small_bounded", until_small({.kind = "bounded", .max_steps = 64}), p, x);
    programs::numbers("buffer", with_buffer({.kind = "checkpointed", .checkpoints = 3}), p, x);
    programs::numbers("buffer_bounded", with_buffer({.kind = "bounded", .max_steps = 9}), p, x);
}
