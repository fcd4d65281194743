// SPDX-License-Identifier: Apache-2.0
#include "sharding/shard_picture.h"

#include <QPainter>
#include <algorithm>

#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {

namespace {
constexpr int kMargin = 16, kFewestPixels = 14;
}

ShardPicture::ShardPicture(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Which device has which part"));
    on_theme_change(this, [this] { update(); });
}

void ShardPicture::show_nothing() {
    value_.reset();
    grid_[0] = grid_[1] = {};
    setAccessibleDescription({});
    update();
}

/// One dimension that is cut stands from top to bottom, or from left to right where it is the last one of several.
void ShardPicture::show_value(const ShardRow& row, const sharding::Mesh& mesh) {
    value_ = row;
    mesh_ = mesh;
    std::vector<Side> cut;
    for (std::size_t d = 0; d < row.shape.size(); ++d)
        if (const std::int64_t parts = mesh.size_of(row.placed.at(d)); parts > 1)
            cut.push_back({static_cast<int>(d), static_cast<int>(parts), row.shape[d]});
    grid_[0] = grid_[1] = {};
    more_ = std::max(static_cast<int>(cut.size()) - 2, 0);
    if (cut.size() >= 2)
        grid_[0] = cut[0], grid_[1] = cut[1];
    else if (cut.size() == 1)
        grid_[row.shape.size() > 1 && cut[0].dimension + 1 == static_cast<int>(row.shape.size()) ? 1 : 0] = cut[0];
    setAccessibleDescription(about());
    update();
}

QString ShardPicture::devices_at(int row, int column) const {
    if (!value_ || row < 0 || column < 0 || row >= rows() || column >= columns()) return {};
    QStringList have;
    const int at[2] = {row, column};
    for (std::int64_t device = 0; device < mesh_.devices(); ++device) {
        bool here = true;
        for (int side = 0; side < 2 && here; ++side)
            here = grid_[side].dimension < 0 ||
                   mesh_.position(device, value_->placed.at(static_cast<std::size_t>(grid_[side].dimension))) == at[side];
        if (here) have << QString::number(device);
    }
    return have.join(QStringLiteral(", "));
}

QString ShardPicture::about() const {
    if (!value_) return {};
    QString text = utf8(value_->aval + " as " + value_->spec + ": " + value_->local + ", " + bytes_text(value_->bytes) + " on each");
    if (value_->copies > 1) text += tr(", each part on %1 devices").arg(value_->copies);
    if (more_ > 0) text += tr("; %1 further dimensions are cut, too").arg(more_);
    return text;
}

void ShardPicture::paint_part(QPainter& painter, const QRectF& all, int row, int column) const {
    const Palette& p = theme().palette();
    const double height = all.height() / rows(), width = all.width() / columns();
    const QRectF part(all.left() + column * width, all.top() + row * height, width, height);
    painter.setPen(QPen(theme()(p.known), 1));
    painter.setBrush(theme()(p.known_canvas));
    painter.drawRect(part);
    const int at[2] = {row, column};
    QRectF padded = part;
    bool uneven = false;
    for (int side = 0; side < 2; ++side) {
        const Side& s = grid_[side];
        const std::int64_t most = (s.size + s.parts - 1) / s.parts;
        const std::int64_t own = std::clamp<std::int64_t>(s.size - at[side] * most, 0, most);
        if (s.dimension < 0 || own == most) continue;
        const double kept = most > 0 ? static_cast<double>(own) / static_cast<double>(most) : 0;
        side == 0 ? padded.setTop(part.top() + kept * height) : padded.setLeft(part.left() + kept * width);
        uneven = true;
    }
    if (uneven) painter.fillRect(padded, QBrush(theme()(p.muted), Qt::BDiagPattern));
    if (height < kFewestPixels || width < 2 * kFewestPixels) return;
    painter.setPen(theme()(p.ink));
    const QString text = devices_at(row, column);
    painter.drawText(part.adjusted(3, 0, -3, 0), Qt::AlignCenter,
                     painter.fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(width) - 6));
}

QRect ShardPicture::head_rect() const {
    constexpr int kTop = 6;
    const QRect room(kMargin, kTop, width() - 2 * kMargin, std::max(height() / 2 - kTop, 0));
    return QFontMetrics(text_font(12)).boundingRect(room, int(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, about()).intersected(room);
}

void ShardPicture::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Palette& p = theme().palette();
    painter.fillRect(rect(), theme()(p.canvas));
    painter.setFont(text_font(12));
    painter.setPen(theme()(p.muted));
    if (!value_)
        return painter.drawText(rect().adjusted(kMargin, 2, -kMargin, -2), int(Qt::AlignCenter) | Qt::TextWordWrap,
                                tr("Select a value: which device has which part of it stands here."));
    const QRect head = head_rect();
    painter.drawText(head, int(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, about());
    const QRectF all = QRectF(rect()).adjusted(kMargin, head.bottom() + 5, -kMargin, -kMargin);
    painter.setFont(mono_font(11));
    for (int row = 0; row < rows(); ++row)
        for (int column = 0; column < columns(); ++column) paint_part(painter, all, row, column);
}

}  // namespace jaxscope::views
