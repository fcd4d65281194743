// SPDX-License-Identifier: Apache-2.0
#include "picture_export.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QGraphicsScene>
#include <QGraphicsView>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QWidget>
#include <algorithm>
#include <cmath>

namespace jaxscope::app {
namespace {

constexpr double kMostPixels = 60e6;  // an image beyond that is made smaller

QString tr(const char* text) { return QCoreApplication::translate("Picture", text); }

bool write_svg(const Picture& picture, QIODevice& out) {
    QSvgGenerator svg;
    svg.setOutputDevice(&out);
    svg.setSize(picture.size.toSize());
    svg.setViewBox(QRectF({}, picture.size));
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    picture.paint(painter);
    return painter.end();
}

bool write_pdf(const Picture& picture, QIODevice& out) {
    constexpr double kPointsPerPixel = 0.75;
    QPdfWriter pdf(&out);
    pdf.setPageSize(QPageSize(picture.size * kPointsPerPixel, QPageSize::Point));
    pdf.setPageMargins({});
    QPainter painter;
    if (!painter.begin(&pdf)) return false;
    const double scale = pdf.width() / picture.size.width();
    painter.scale(scale, scale);
    picture.paint(painter);
    return painter.end();
}

}  // namespace

Picture picture_of(QWidget& view) {
    const auto* graph = view.findChild<QGraphicsView*>();
    if (graph == nullptr || graph->scene() == nullptr || graph->scene()->items().isEmpty())
        return {view.size(), [&view](QPainter& painter) { view.render(&painter, {}, {}, QWidget::DrawChildren); }};
    QGraphicsScene* scene = graph->scene();
    return {scene->sceneRect().size(),
            [scene](QPainter& painter) { scene->render(&painter, QRectF({}, scene->sceneRect().size()), scene->sceneRect()); }};
}

QImage as_image(const Picture& picture) {
    const double pixels = picture.size.width() * picture.size.height();
    const double scale = std::min(2.0, std::sqrt(kMostPixels / std::max(pixels, 1.0)));
    QImage image((picture.size * scale).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(scale, scale);
    picture.paint(painter);
    return image;
}

QString write_picture(const Picture& picture, const QString& file) {
    const QString kind = file.section('.', -1).toLower();
    QSaveFile out(file);
    if (!out.open(QIODevice::WriteOnly)) return tr("%1 can't be written: %2").arg(file, out.errorString());
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    bool made = false;
    if (kind == QLatin1String("png"))
        made = as_image(picture).save(&bytes, "PNG");
    else if (kind == QLatin1String("svg"))
        made = write_svg(picture, bytes);
    else if (kind == QLatin1String("pdf"))
        made = write_pdf(picture, bytes);
    else
        return tr("Expected a name that ends in .png, .svg or .pdf, found %1").arg(file);
    if (!made) return tr("%1 couldn't be drawn").arg(file);
    if (out.write(bytes.data()) != bytes.data().size() || !out.commit()) return tr("%1 can't be written: %2").arg(file, out.errorString());
    return {};
}

}  // namespace jaxscope::app
