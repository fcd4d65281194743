// SPDX-License-Identifier: Apache-2.0
#include "models/buffer_model.h"

#include <algorithm>

#include "analysis/memory_timeline.h"
#include "base/units.h"
#include "report/explain_text.h"
#include "theme/theme.h"

namespace jaxscope::views {

BufferModel::BufferModel(QObject* parent) : TableModel(parent) {
    set_columns({"Bytes", "Value", "Role", "Made by", "Your line", "Alive in steps"}, {Bytes}, {Value, Place, Lives});
}

void BufferModel::set_plan(std::shared_ptr<const MemoryPlan> plan, std::shared_ptr<const Step> step) {
    of_ = std::move(step);
    if (plan && plan == whole_) return;  // what was chosen to be shown of it stays
    whole_ = plan;
    const int peak = plan ? plan->peak_step : 0;
    show_step(std::move(plan), peak);
}

void BufferModel::show_step(std::shared_ptr<const MemoryPlan> plan, int step) {
    beginResetModel();
    plan_ = std::move(plan);
    step_ = step;
    alive_ = plan_ ? alive_at(*plan_, step) : std::vector<int>{};
    bytes_ = 0;
    for (const int b : alive_) bytes_ += plan_->buffers[static_cast<std::size_t>(b)].bytes;
    endResetModel();
}

int BufferModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(alive_.size()); }

QVariant BufferModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const PlannedBuffer& buffer = plan_->buffers[static_cast<std::size_t>(alive_[static_cast<std::size_t>(index.row())])];
    if (role == SortRole && index.column() == Bytes) return static_cast<qlonglong>(buffer.bytes);
    if (role == SortRole && index.column() == Lives) return buffer.first_step;
    if (role != Qt::DisplayRole && role != SortRole && role != Qt::ToolTipRole) return style(index.column(), role);
    switch (index.column()) {
        case Bytes:
            return utf8(bytes_text(buffer.bytes));
        case Value:
            return utf8(to_text(buffer.aval));
        case Role_:
            return QString::fromLatin1(role_name(buffer.role));
        case Made:
            return made_by(alive_[static_cast<std::size_t>(index.row())]);
        case Place:
            return buffer.source.loc().line > 0 ? utf8(short_place(buffer.source.loc().file, buffer.source.loc().line))
                                                : QStringLiteral("\u2014");
        case Lives:
            return QStringLiteral("%1 \u2013 %2").arg(std::max(buffer.first_step, 0)).arg(buffer.last_step);
        default:
            return {};
    }
}

/// Nothing makes an argument: its name says which one it is; inside of a loop it has none. One that is donated holds an output in the end.
QString BufferModel::made_by(int number) const {
    const PlannedBuffer& buffer = plan_->buffers[static_cast<std::size_t>(number)];
    const auto made = [](const PlannedBuffer& b) { return b.primitive.empty() ? QStringLiteral("\u2014") : utf8(b.primitive.str()); };
    const auto argument = static_cast<std::size_t>(std::max(buffer.number, 0));
    if (buffer.role != BufferRole::Argument || !of_ || !plan_->opened.empty() || argument >= of_->in_paths.size()) return made(buffer);
    const QString name = utf8(of_->in_paths[argument]);
    const auto taker =
        std::find_if(plan_->buffers.begin(), plan_->buffers.end(), [&](const PlannedBuffer& b) { return b.alias_of == number; });
    if (taker == plan_->buffers.end()) return tr("argument %1").arg(name);
    if (taker->first_step > step_) return tr("argument %1, donated").arg(name);
    return tr("%1, in the memory of %2").arg(made(*taker), name);
}

QString BufferModel::total() const {
    if (!plan_) return {};
    return utf8(count_text(static_cast<std::int64_t>(alive_.size())) + " buffers, " + bytes_text(bytes_) +
                (step_ == plan_->peak_step ? " at the peak" : " in step " + std::to_string(step_)) +
                (plan_->opened.empty() ? "" : " inside of the loop"));
}

Picked BufferModel::picked(int row) const {
    Picked picked;
    picked.buffer = id_of(*plan_, alive_[static_cast<std::size_t>(row)]);
    return picked;
}

int BufferModel::row_of(const Picked& picked) const {
    if (!plan_ || !picked.buffer) return -1;
    const auto found = std::find(alive_.begin(), alive_.end(), buffer_index(*plan_, *picked.buffer));
    return found == alive_.end() ? -1 : static_cast<int>(found - alive_.begin());
}

QString BufferModel::empty_text() const {
    return plan_ ? tr("Nothing is alive here.") : tr("No memory plan yet. It is made in the background once a program is open.");
}

}  // namespace jaxscope::views
