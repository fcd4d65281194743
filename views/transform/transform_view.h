// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the transformations make of the function that is differentiated: its stages side by side. Comes in: an inspection, the selection.
// Goes out: the equation that was clicked, as a selection. Never here: transformations.
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <QWidget>

#include "analysis/inspection.h"
#include "selection/selection.h"
#include "text/jaxpr_text.h"

namespace jaxscope::views {

/// One column for each stage that is switched on. What an equation became is marked in all of them while it is pointed at, and while it is
/// selected, here or elsewhere.
class TransformView : public QWidget {
    Q_OBJECT
public:
    explicit TransformView(Selection* selection, QWidget* parent = nullptr);
    /// Null: nothing to show. The stages are made when they are looked at.
    void set_inspection(const std::shared_ptr<const Inspection>& inspection);
    bool busy() const;
    void show_stage(TransformStage::Kind kind, bool shown);
    bool is_shown(TransformStage::Kind kind) const { return column(kind).box->isVisibleTo(this); }
    JaxprText* text(TransformStage::Kind kind) const { return column(kind).text; }
    void restyle();

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Column {
        QToolButton* button = nullptr;  ///< switches it on and off
        QWidget* box = nullptr;
        QLabel* about = nullptr;
        JaxprText* text = nullptr;
    };
    const Column& column(TransformStage::Kind kind) const { return columns_[static_cast<std::size_t>(kind)]; }
    Column make_column(TransformStage::Kind kind);
    void make();
    void take(const std::vector<TransformStage>& stages);
    void mark(TracebackRef place, const JaxprText* but_where);
    void mark_selected();
    void pick(const JaxprText* where, const EqnLine& equation);

    Selection* selection_;
    std::shared_ptr<const Inspection> inspection_;
    bool asked_ = false;
    const JaxprText* picked_in_ = nullptr;  ///< the column that is being clicked: it stays where it is
    std::vector<Column> columns_;
    QSplitter* splitter_;
    Latest making_;
};

}  // namespace jaxscope::views
