// SPDX-License-Identifier: Apache-2.0
#include "picture_export.h"

#include <QAbstractItemModel>
#include <QAbstractScrollArea>
#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QGraphicsScene>
#include <QGraphicsView>
#include <QHeaderView>
#include <QLayout>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSvgGenerator>
#include <QTableView>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "base/atomic_file.h"
#include "base/error.h"

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
    // Qt's SVG knows no clipping: what scrolls would lie over what is beside it.
    picture.clips ? painter.drawImage(QRectF({}, picture.size), as_image(picture)) : picture.paint(painter);
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

namespace {

/// How much of what scrolls doesn't fit its view.
QSize missing(const QAbstractScrollArea& area) {
    if (qobject_cast<const QGraphicsView*>(&area) != nullptr) return {0, 0};
    int down = area.verticalScrollBar()->maximum();  // of texts lines, of tables rows, else pixels
    if (const auto* text = qobject_cast<const QPlainTextEdit*>(&area))
        down = static_cast<int>(text->blockCount() * text->fontMetrics().lineSpacing() + 2 * text->document()->documentMargin()) -
               text->viewport()->height();
    if (const auto* table = qobject_cast<const QTableView*>(&area)) down = table->verticalHeader()->length() - table->viewport()->height();
    return {std::max(0, area.horizontalScrollBar()->maximum()), std::max(0, down)};
}

/// A view as large as all that scrolls in it, as long as this lives: no event is handled meanwhile, so the screen shows nothing of it.
class Grown {
public:
    explicit Grown(QWidget& view) : view_(view), before_(view.geometry()) {
        for (auto* bar : view.findChildren<QScrollBar*>()) bars_.emplace_back(bar, bar->value());
        view.resize(size_of(view));
        activate(view);
    }
    ~Grown() {
        view_.setGeometry(before_);
        activate(view_);
        for (const auto& [bar, value] : bars_) bar->setValue(value);
    }
    Grown(const Grown&) = delete;
    Grown& operator=(const Grown&) = delete;
    static QSize size_of(QWidget& view) {
        constexpr int kMost = 30'000;  // pixels: a picture of more is none that anybody looks at
        QSize more(0, 0);
        QList<QAbstractScrollArea*> areas = view.findChildren<QAbstractScrollArea*>();
        if (auto* own = qobject_cast<QAbstractScrollArea*>(&view)) areas << own;
        for (const QAbstractScrollArea* area : areas)
            if (area->isVisibleTo(&view)) more = more.expandedTo(missing(*area));
        return (view.size() + more).boundedTo({kMost, kMost});
    }

private:
    /// What stands in it is laid out at once.
    static void activate(QWidget& view) {
        if (view.layout() != nullptr) view.layout()->activate();
        for (QWidget* child : view.findChildren<QWidget*>())
            if (child->layout() != nullptr) child->layout()->activate();
    }
    QWidget& view_;
    QRect before_;
    std::vector<std::pair<QScrollBar*, int>> bars_;
};

/// The one thing in a view that scrolls, without the buttons around it; else the view.
QWidget& document_of(QWidget& view) {
    QList<QAbstractScrollArea*> areas;
    for (QAbstractScrollArea* area : view.findChildren<QAbstractScrollArea*>())
        if (area->isVisibleTo(&view)) areas << area;
    const auto size = [](const QWidget& w) { return static_cast<double>(w.width()) * w.height(); };
    return areas.size() == 1 && size(*areas.front()) > size(view) / 2 ? static_cast<QWidget&>(*areas.front()) : view;
}

}  // namespace

Picture picture_of(QWidget& view) {
    const QList<QGraphicsView*> graphs = view.findChildren<QGraphicsView*>();
    const QGraphicsView* graph = graphs.size() == 1 ? graphs.front() : nullptr;  // of two that are compared, both
    if (graph == nullptr || graph->scene() == nullptr || graph->scene()->items().isEmpty()) {
        QWidget& document = document_of(view);
        return {Grown::size_of(document),
                [&document](QPainter& painter) {
                    const Grown whole(document);
                    document.render(&painter, {}, {}, QWidget::DrawChildren);
                },
                qobject_cast<QAbstractScrollArea*>(&document) != nullptr || !document.findChildren<QAbstractScrollArea*>().isEmpty()};
    }
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

namespace {

QString write_bytes(const QByteArray& bytes, const QString& file) {
    try {
        AtomicFile out(QFile::encodeName(file).toStdString());
        out.stream().write(bytes.constData(), bytes.size());
        out.commit();
        return {};
    } catch (const Error& e) {
        return QString::fromUtf8(e.what());
    }
}

/// As in the reports' CSV: quoted where it must be, and what a spreadsheet would take for a formula is kept from being one.
QString cell_text(QString text, QChar separator) {
    if (!text.isEmpty() && QStringLiteral("=+-@\t\r").contains(text[0])) text.prepend(QLatin1Char('\''));
    if (separator == QLatin1Char('\t'))
        return text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
    const bool plain = !text.contains(separator) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n'));
    return plain ? text : QLatin1Char('"') + text.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
}

template <class Line>
void for_each_row(const QAbstractItemModel& table, const Line& line) {
    for (int row = -1; row < table.rowCount(); ++row) {
        QStringList cells;
        for (int c = 0; c < table.columnCount(); ++c)
            cells << (row < 0 ? table.headerData(c, Qt::Horizontal) : table.index(row, c).data()).toString();
        line(cells, row < 0);
    }
}

QString table_as_html(const QAbstractItemModel& table, const QString& name) {
    QString out = QStringLiteral("<h2>%1</h2>\n<table>\n").arg(name.toHtmlEscaped());
    for_each_row(table, [&](const QStringList& cells, bool head) {
        out += QStringLiteral("<tr>");
        for (const QString& cell : cells) out += QStringLiteral("<%1>%2</%1>").arg(QLatin1String(head ? "th" : "td"), cell.toHtmlEscaped());
        out += QStringLiteral("</tr>\n");
    });
    return out + QStringLiteral("</table>\n");
}

}  // namespace

QString write_html(const QString& body, const QString& file) {
    const QString page =
        QStringLiteral(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>jaxscope</title>\n<style>body { font: 14px "
            "sans-serif; margin: 24px; color: #1f2933; } td, th { padding: 2px 14px 2px 0; text-align: left; } svg { max-width: "
            "100%; height: auto; }</style></head>\n<body>\n%1\n</body></html>\n")
            .arg(body);
    return write_bytes(page.toUtf8(), file);
}

QString table_as_text(const QAbstractItemModel& table, QChar separator) {
    QStringList lines;
    for_each_row(table, [&](QStringList cells, bool) {
        for (QString& cell : cells) cell = cell_text(cell, separator);
        lines << cells.join(separator);
    });
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

QString write_table(const QAbstractItemModel& table, const QString& name, const QString& file) {
    const QString kind = file.section('.', -1).toLower();
    if (kind == QLatin1String("html")) return write_html(table_as_html(table, name), file);
    if (kind == QLatin1String("csv")) return write_bytes(table_as_text(table, ',').toUtf8(), file);
    if (kind == QLatin1String("tsv")) return write_bytes(table_as_text(table, '\t').toUtf8(), file);
    return tr("Expected a name that ends in .csv, .tsv or .html, found %1").arg(file);
}

QString write_picture(const Picture& picture, const QString& file) {
    const QString kind = file.section('.', -1).toLower();
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    bool made = false;
    if (kind == QLatin1String("png"))
        made = as_image(picture).save(&bytes, "PNG");
    else if (kind == QLatin1String("svg"))
        made = write_svg(picture, bytes);
    else if (kind == QLatin1String("pdf"))
        made = write_pdf(picture, bytes);
    else if (kind == QLatin1String("html"))
        made = write_svg(picture, bytes);
    else
        return tr("Expected a name that ends in .png, .svg, .pdf or .html, found %1").arg(file);
    if (!made) return tr("%1 couldn't be drawn").arg(file);
    if (kind != QLatin1String("html")) return write_bytes(bytes.data(), file);
    const QString svg = QString::fromUtf8(bytes.data());
    return write_html(svg.mid(svg.indexOf(QLatin1String("<svg"))), file);  // without the head of a file of its own
}

}  // namespace jaxscope::app
