// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/stages/stages.h"
#include "models/table_model.h"

namespace jaxscope::views {

/// Buffers of a MemoryPlan that are alive at a step, largest first: at the peak, unless another step is asked for.
class BufferModel : public TableModel {
    Q_OBJECT
public:
    enum Column { Bytes, Value, Role_, Made, Place, Lives };
    explicit BufferModel(QObject* parent = nullptr);
    /// `step`: of which the plan is, whose arguments have names; or null.
    void set_plan(std::shared_ptr<const MemoryPlan> plan, std::shared_ptr<const Step> step = nullptr);
    /// Of the plan that is set, or of what runs inside of its steps.
    void show_step(std::shared_ptr<const MemoryPlan> plan, int step);
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QString total() const override;
    Picked picked(int row) const override;
    int row_of(const Picked& picked) const override;
    QString empty_text() const override;

private:
    QString made_by(int number) const;  ///< a buffer of `plan_`
    std::shared_ptr<const Step> of_;
    std::shared_ptr<const MemoryPlan> whole_, plan_;  ///< that is set, and whose step is shown
    int step_ = 0;
    std::vector<int> alive_;
    std::int64_t bytes_ = 0;
};

}  // namespace jaxscope::views
