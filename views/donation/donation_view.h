// SPDX-License-Identifier: Apache-2.0
#pragma once
// Donated inputs and the outputs that take their memory, as pairs. Comes in: a DonationReport. Goes out: the leaf that was clicked. Never
// here: who pairs with whom, and why not (core/donation).
#include <QScrollArea>

#include "commands/short_paths.h"
#include "donation/pairing.h"
#include "selection/selection.h"

namespace jaxscope::views {

/// Inputs at the left, outputs at the right, a line from each donated input to the output in its memory. Lost donations stand first, with
/// their reason; above all, what was found: what JAX refuses, what else could be donated.
class DonationCanvas : public QWidget {
    Q_OBJECT
public:
    explicit DonationCanvas(Selection* selection);
    void set_report(std::shared_ptr<const DonationReport> report);
    /// Leaves in the order of their rows: the report's donated ones, then those that are kept back.
    const std::vector<int>& order() const { return order_; }
    /// Where the row of a leaf stands; `leaf` counts the report's.
    QRect row_rect(int leaf) const;
    /// The box at the left of its row: ticked, the leaf is donated.
    QRect tick_rect(int leaf) const;
    /// Of the row there in whole: paths, type and reason.
    QString tool_tip_at(const QPoint& at) const;
    /// What stands at the left of a row: the donated leaf's path, as much of it as has room.
    QString shown_path(int leaf) const;
    /// Is the pair's output another place of the tree than its input? JAX pairs by shape alone.
    static bool crosses(const DonatedLeaf& leaf);

Q_SIGNALS:
    void row_shown(const QRect& rect);  ///< of what was picked elsewhere
    void leaf_ticked(int input, bool donate);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void place_rows();
    const DonatedLeaf& leaf(int number) const;
    bool is_kept_back(int number) const { return number >= static_cast<int>(report_->donated.size()); }
    void paint_tick(QPainter& painter, int row) const;
    int lost_rows() const;
    int output_room() const;
    QString shortened(const QString& mark, const std::string& path, int room) const;
    void paint_lost(QPainter& painter, int row) const;
    void paint_pair(QPainter& painter, int row) const;
    void paint_findings(QPainter& painter) const;
    int picked() const;
    Selection* selection_;
    std::shared_ptr<const DonationReport> report_;
    ShortPaths paths_;
    int widest_output_ = 0;   ///< pixels
    std::vector<int> order_;  ///< leaves: lost ones first, each kind by bytes
    std::vector<QRect> finding_rects_;
    int rows_top_ = 0;
};

/// The Donation tab of the pictures.
class DonationView : public QScrollArea {
    Q_OBJECT
public:
    explicit DonationView(Selection* selection, QWidget* parent = nullptr);
    DonationCanvas* canvas() const { return canvas_; }
    void set_report(std::shared_ptr<const DonationReport> report) { canvas_->set_report(std::move(report)); }

private:
    DonationCanvas* canvas_;
};

}  // namespace jaxscope::views
