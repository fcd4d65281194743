// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which device has which part of a value. Comes in: a shape, a spec, a mesh. Goes out: a picture. Never here: how values come to lie so.
#include <QWidget>

#include "report/sharding/sharding_report.h"

namespace jaxscope::views {

/// The array as a grid of its parts, each with the numbers of the devices that have it, over the first two dimensions that are cut. What
/// the last parts are padded with is hatched.
class ShardPicture : public QWidget {
    Q_OBJECT
public:
    explicit ShardPicture(QWidget* parent = nullptr);
    void show_value(const ShardRow& row, const sharding::Mesh& mesh);
    void show_nothing();
    /// "0, 4": the devices that have the part at this place of the grid; empty: there is none.
    QString devices_at(int row, int column) const;
    int rows() const { return grid_[0].parts; }
    int columns() const { return grid_[1].parts; }
    /// What is shown, in words, and the room that they take above the picture.
    QString about() const;
    QRect head_rect() const;
    QSize sizeHint() const override { return {300, 240}; }
    QSize minimumSizeHint() const override { return {180, 140}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Side {
        int dimension = -1;  ///< -1: nothing is cut along it
        int parts = 1;
        std::int64_t size = 1;
    };
    void paint_part(QPainter& painter, const QRectF& all, int row, int column) const;
    std::optional<ShardRow> value_;
    sharding::Mesh mesh_;
    Side grid_[2];
    int more_ = 0;  ///< dimensions that are cut, too, and not drawn
};

}  // namespace jaxscope::views
