// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of views. Comes in: a view. Goes out: a file or an image. Never here: which view is in front, and where a file is to lie.
#include <QImage>
#include <QString>
#include <functional>

class QAbstractItemModel;
class QPainter;
class QWidget;

namespace jaxscope::app {

/// What a view shows, in whole: of a graph more than fits the window.
struct Picture {
    QSizeF size;
    std::function<void(QPainter&)> paint;  ///< into a rectangle of that size
    bool clips = false;                    ///< it holds what scrolls, which is cut where its own part ends
};

Picture picture_of(QWidget& view);
QImage as_image(const Picture& picture);
/// Writes .png, .svg, .pdf, or .html with the picture in it, whole or not at all. What is wrong, or empty.
QString write_picture(const Picture& picture, const QString& file);
/// A page that stands alone.
QString write_html(const QString& body, const QString& file);

/// All rows as they are shown and sorted, with the heads of the columns: for spreadsheets and texts.
QString table_as_text(const QAbstractItemModel& table, QChar separator);
/// Writes .csv, .tsv or .html. What is wrong, or empty.
QString write_table(const QAbstractItemModel& table, const QString& name, const QString& file);

}  // namespace jaxscope::app
