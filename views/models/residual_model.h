// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>

#include "models/table_model.h"

namespace jaxscope::views {

/// Rows of a ResidualReport.
class ResidualModel : public TableModel {
    Q_OBJECT
public:
    enum Column { Bytes, Value, Source, Line, Why, Change };
    explicit ResidualModel(QObject* parent = nullptr);
    /// `as_it_is`: what the program saves without the choices made; null or `report` itself: nothing to compare with. What it has more
    /// stands in rows at the end. `would_be`: it is of a gradient that nobody asks for.
    void set_report(std::shared_ptr<const ResidualReport> report, std::shared_ptr<const ResidualReport> as_it_is = nullptr,
                    bool would_be = false);
    bool is_added(int row) const { return row < num_now() && added_[static_cast<std::size_t>(row)]; }
    /// Of the added rows: the equations in the forward half that make them.
    std::set<std::string> added_equations() const;
    bool would_be() const { return would_be_; }
    /// Are there choices, whose rows may be new or gone?
    bool compares() const { return as_it_is_ != nullptr; }
    bool is_removed(int row) const { return row >= num_now(); }
    const ResidualReport* report() const { return report_.get(); }
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QString total() const override;
    Picked picked(int row) const override;
    int row_of(const Picked& picked) const override;
    QString empty_text() const override;

private:
    int num_now() const { return report_ ? static_cast<int>(report_->rows.size()) : 0; }
    const ResidualRow& row(int number) const;
    void compare();
    std::shared_ptr<const ResidualReport> report_, as_it_is_;
    std::vector<bool> added_;   ///< per row of `report_`
    std::vector<int> removed_;  ///< rows of `as_it_is_`
    bool would_be_ = false;
};

}  // namespace jaxscope::views
