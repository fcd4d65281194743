// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory over the steps of a run. Comes in: a plan, peaks to compare it with. Goes out: the step and the buffer that were clicked. Never
// here: figures that the plan doesn't hold.
#include <QWidget>
#include <optional>

#include "analysis/memory_timeline.h"
#include "memory/time_scale.h"
#include "selection/selection.h"

namespace jaxscope::views {

/// Live bytes over the steps of a run, stacked by role, the peak marked. Hovering tells the step, clicking picks what it computes.
/// A selected buffer's life is a bar under the curve. Ctrl and the wheel zooms in time, the wheel or dragging moves, a double click shows
/// all. Instead of the curve, each buffer can be a strip at its place in memory; arguments can be left out. A loop is one step, which can
/// be opened: then the steps are those of one iteration.
class TimelineWidget : public QWidget {
    Q_OBJECT
public:
    /// `compact`: a strip without axis, for the window's foot.
    TimelineWidget(Selection* selection, bool compact, QWidget* parent = nullptr);
    /// `as_it_is`: of the program without the choices made, whose curve stands behind this one, or null. `measured_peak`: of a run, or 0.
    void set_plan(std::shared_ptr<const MemoryPlan> plan, std::shared_ptr<const MemoryPlan> as_it_is, std::int64_t measured_peak);
    /// Why there is no plan; empty: nothing stands in its way.
    void set_problem(const QString& problem);
    /// Does anything run inside of this step of what is shown?
    bool can_open(int step) const;
    bool can_open_any() const;
    void open(int step);
    /// Back to the run, out of all that was opened.
    void close();
    bool opened() const { return !above_.empty(); }
    const std::shared_ptr<const MemoryPlan>& shown() const { return plan_; }
    /// "one of 32 iterations of scan at model.py:31"; empty where the whole run is shown.
    QString where() const;
    enum class Mode { Curve, Strips };
    void set_mode(Mode mode);
    Mode mode() const { return mode_; }
    void show_arguments(bool shown);
    const TimeScale& scale() const { return scale_; }
    /// Where a step begins in the widget.
    double x_of(double step) const;
    /// The buffer whose strip is drawn at a place of the widget; -1: none.
    int strip_at(QPointF at) const;
    QRectF strip_of(int buffer) const;
    /// As they are painted: beside each other, cut where there is no room for all of them.
    struct HeadTexts {
        QString title, figures;
    };
    HeadTexts head_texts() const;
    /// Steps one after the other that belong to the forward or to the backward pass.
    struct Band {
        int first = 0, last = 0;  ///< behind it
        bool backward = false;
    };
    const std::vector<Band>& bands() const { return bands_; }
    static std::vector<Band> bands_of(const MemoryPlan& plan);
    QSize sizeHint() const override { return {600, compact_ ? 98 : 300}; }
    QSize minimumSizeHint() const override { return {200, compact_ ? 72 : 160}; }

Q_SIGNALS:
    /// A step of `plan` was clicked, or what is shown changed to `plan`, whose peak this is.
    void step_picked(std::shared_ptr<const jaxscope::MemoryPlan> plan, int step);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QRectF plot() const;
    void show(std::shared_ptr<const MemoryPlan> plan);
    void paint_openable(QPainter& painter) const;
    std::int64_t live(const MemoryTimeline& timeline, std::size_t step) const;
    std::int64_t top() const;
    /// What the vertical axis shows, once the plan or what is shown of it changes.
    void measure();
    bool strip_shown(const PlannedBuffer& buffer) const;
    void paint_strips(QPainter& painter) const;
    QString words_of(int step) const;
    void pick(QPointF at);
    void pick_step(int step, int strip);
    double y_of(double bytes) const;
    int step_at(double x) const;
    void paint_axis(QPainter& painter) const;
    void paint_bands(QPainter& painter) const;
    void paint_names_of_bands(QPainter& painter, double from, double to) const;
    void paint_areas(QPainter& painter) const;
    void paint_before(QPainter& painter) const;
    void paint_peak(QPainter& painter) const;
    void paint_marks(QPainter& painter) const;
    void paint_head(QPainter& painter) const;
    QString figures() const;

    Selection* selection_;
    bool compact_;
    std::shared_ptr<const MemoryPlan> plan_;                ///< that is shown
    std::vector<std::shared_ptr<const MemoryPlan>> above_;  ///< in whose steps it was opened, the whole program's first
    MemoryTimeline timeline_;
    std::vector<Band> bands_;
    QString problem_;
    MemoryTimeline before_;  ///< of the program as it is; empty where that is what is shown, or an iteration
    std::shared_ptr<const MemoryPlan> as_it_is_;
    std::int64_t as_it_is_peak_ = 0, measured_peak_ = 0;
    int hovered_ = -1;
    TimeScale scale_;
    Mode mode_ = Mode::Curve;
    bool arguments_ = true;
    std::int64_t top_ = 1;
    std::int64_t floor_ = 0;  ///< where strips begin in the arena
    std::optional<QPoint> pressed_;
    double dragged_ = 0;
};

}  // namespace jaxscope::views
