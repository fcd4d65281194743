// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program over several devices: how its values lie, what devices send and why, and the same under other specs. Comes in: an inspection,
// specs that were typed. Goes out: the value that was clicked, as a selection; a program with other specs. Never here: propagation, plans.
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QWidget>

#include "analysis/inspection.h"
#include "background/background.h"
#include "memory/timeline_widget.h"
#include "models/rows_model.h"
#include "report/sharding/layouts.h"
#include "report/sharding/sharding_report.h"
#include "sharding/shard_picture.h"
#include "sharding/what_if.h"
#include "tables/table_panel.h"

class QSplitter;

namespace jaxscope::views {

class ShardingView : public QWidget {
    Q_OBJECT
public:
    explicit ShardingView(Selection* selection, QWidget* parent = nullptr);
    /// Null: nothing to show. Figures are made when they are looked at.
    void set_inspection(const std::shared_ptr<const Inspection>& inspection);
    /// What a run measured on each device; null: nothing was run.
    void set_run(const std::shared_ptr<const RunReport>& run);
    /// As if it lay so: `params['w1']=P('data', None)`, several with semicolons between; beside those that were tried before. What the
    /// program can't have is said, and nothing changes.
    void try_specs(const QString& text);
    /// The layout of the capture again.
    void forget_specs();
    bool busy() const { return making_.busy(); }
    QString head() const { return head_->text(); }
    QString problem() const { return problem_->isHidden() ? QString() : problem_->text(); }
    QLineEdit* spec_box() const { return specs_; }
    TablePanel* values() const { return values_panel_; }
    TablePanel* collectives() const { return collectives_panel_; }
    TablePanel* findings() const { return findings_panel_; }
    TablePanel* layouts() const { return layouts_panel_; }
    QTabWidget* tables() const { return tables_; }
    ShardPicture* picture() const { return picture_; }

Q_SIGNALS:
    /// The whole window is to show this layout.
    void program_chosen(jaxscope::ProgramPtr program);

protected:
    void showEvent(QShowEvent* event) override;

private:
    /// A layout's figures.
    struct Seen {
        std::shared_ptr<const Inspection> inspection;
        std::shared_ptr<const ShardingReport> report;  ///< null: one device
        std::shared_ptr<const MemoryPlan> plan;        ///< null: it can't be had
        LayoutRow row;
    };
    static Seen look_at(std::shared_ptr<const Inspection> inspection, const std::string& name);
    void make();
    void take(const Seen& seen);
    void tell(const QString& problem);
    void show_seen();
    void show_beside();
    void show_rows(const ShardingReport& report);
    void show_layouts();
    void build_tables();
    TablePanel* add_table(RowsModel* model, const QString& name, const QVector<int>& widths, int stretched);
    void picture_of(int row);
    void restyle();

    Selection* selection_;
    std::shared_ptr<const Inspection> inspection_;
    std::optional<Seen> captured_, shown_;
    std::vector<sharding::SpecChoice> tried_;
    std::vector<LayoutRow> rows_;          ///< of the layouts that were tried
    std::vector<const ShardRow*> listed_;  ///< as the table of values has them
    bool asked_ = false;
    std::int64_t measured_ = 0;  ///< the most of a device; 0: nothing was run
    QLabel *head_, *problem_;
    QLineEdit* specs_;
    QPushButton *back_, *everywhere_;
    RowsModel *values_, *collectives_, *xla_, *findings_, *layouts_;
    QTabWidget* tables_;
    TablePanel *values_panel_ = nullptr, *collectives_panel_ = nullptr, *xla_panel_ = nullptr, *findings_panel_ = nullptr,
               *layouts_panel_ = nullptr;
    ShardPicture* picture_;
    TimelineWidget* timeline_;
    QSplitter* beside_;  ///< the tables: both of these
    Latest making_;
};

}  // namespace jaxscope::views
