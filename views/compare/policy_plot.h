// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>

#include "compare/policy_model.h"

namespace jaxscope::views {

/// Memory of each policy against what it recomputes, as points; measured ones are filled and tell their time. A click applies one.
class PolicyPlot : public QWidget {
    Q_OBJECT
public:
    explicit PolicyPlot(PolicyModel* model, QWidget* parent = nullptr);
    /// Where a row's point stands; nothing where it has no figures.
    std::optional<QPointF> point_of(int row) const;
    QSize minimumSizeHint() const override { return {160, 80}; }
    QSize sizeHint() const override { return {380, 200}; }

Q_SIGNALS:
    void row_clicked(int row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    QRectF plot() const;
    int row_at(QPointF at) const;
    void paint_axes(QPainter& painter) const;
    void paint_labels(QPainter& painter) const;
    PolicyModel* model_;
};

}  // namespace jaxscope::views
