// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of views. Comes in: a view. Goes out: a file or an image. Never here: which view is in front, and where a file is to lie.
#include <QImage>
#include <QString>
#include <functional>

class QPainter;
class QWidget;

namespace jaxscope::app {

/// What a view shows, in whole: of a graph more than fits the window.
struct Picture {
    QSizeF size;
    std::function<void(QPainter&)> paint;  ///< into a rectangle of that size
};

Picture picture_of(QWidget& view);
QImage as_image(const Picture& picture);
/// Writes .png, .svg or .pdf, whole or not at all. What is wrong, or empty.
QString write_picture(const Picture& picture, const QString& file);

}  // namespace jaxscope::app
