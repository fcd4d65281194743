// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QToolButton>
#include <QWidget>

#include "compare/policy_model.h"

namespace jaxscope::views {

/// Memory of each policy against what it recomputes, or against its time where it was measured, as points; measured ones are filled and
/// tell their time. A click applies one.
class PolicyPlot : public QWidget {
    Q_OBJECT
public:
    explicit PolicyPlot(PolicyModel* model, QWidget* parent = nullptr);
    enum class Axis { Work, Time };
    Axis axis() const { return axis_; }
    void set_axis(Axis axis);
    /// Where a row's point stands; nothing where it has no figures.
    std::optional<QPointF> point_of(int row) const;
    QSize minimumSizeHint() const override { return {160, 80}; }
    QSize sizeHint() const override { return {380, 200}; }

Q_SIGNALS:
    void row_clicked(int row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    QRectF plot() const;
    std::optional<double> across(const PolicyRow& row) const;
    QString across_text(double figure) const;
    void set_against();
    void restyle();
    int row_at(QPointF at) const;
    void paint_axes(QPainter& painter) const;
    void paint_labels(QPainter& painter) const;
    PolicyModel* model_;
    Axis axis_ = Axis::Work;
    QToolButton* against_;  ///< in the axis' place: what it counts, to be chosen
};

}  // namespace jaxscope::views
