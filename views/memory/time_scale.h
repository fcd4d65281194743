// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QRectF>
#include <algorithm>

namespace jaxscope::views {

/// Which steps of a run a plot shows: all of them, or those that were zoomed to.
class TimeScale {
public:
    void set_steps(int steps) {
        steps_ = std::max(steps, 1);
        show_all();
    }
    void show_all() { first_ = 0, last_ = steps_; }
    bool shows_all() const { return first_ <= 0 && last_ >= steps_; }
    double first() const { return first_; }
    double last() const { return last_; }
    double x_of(double step, const QRectF& plot) const { return plot.x() + (step - first_) / (last_ - first_) * plot.width(); }
    double step_of(double x, const QRectF& plot) const { return first_ + (x - plot.x()) / plot.width() * (last_ - first_); }
    /// `step` stays where it is; never fewer than `kFewest` steps.
    void zoom(double factor, double step) {
        constexpr double kFewest = 8;
        const double length = std::clamp((last_ - first_) / factor, std::min<double>(kFewest, steps_), static_cast<double>(steps_));
        const double part = (step - first_) / (last_ - first_);
        move_to(step - part * length, length);
    }
    void move(double steps) { move_to(first_ + steps, last_ - first_); }

private:
    void move_to(double first, double length) {
        first_ = std::clamp(first, 0.0, steps_ - length);
        last_ = first_ + length;
    }
    int steps_ = 1;
    double first_ = 0, last_ = 1;
};

}  // namespace jaxscope::views
