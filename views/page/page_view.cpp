// SPDX-License-Identifier: Apache-2.0
#include "page/page_view.h"

#include <QScrollBar>

#include "theme/theme.h"

namespace jaxscope::views {

PageView::PageView(const QString& name, QWidget* parent) : QTextBrowser(parent) {
    setAccessibleName(name);
    setFrameShape(QFrame::NoFrame);
    setOpenLinks(false);
    document()->setDocumentMargin(20);
    on_theme_change(this, &PageView::show);
}

void PageView::set_page(const QString& body) {
    body_ = body;
    show();
    verticalScrollBar()->setValue(0);
}

void PageView::tell(const QString& sentence) { set_page(QStringLiteral("<p>%1</p>").arg(sentence.toHtmlEscaped())); }

void PageView::show() {
    const Palette& p = theme().palette();
    const int at = verticalScrollBar()->value();
    document()->setDefaultFont(text_font(13));
    document()->setDefaultStyleSheet(
        QStringLiteral("body, p, td, th { color: %1; } h2 { color: %1; font-size: 15px; margin-top: 18px; margin-bottom: 6px; }"
                       "th { color: %2; font-weight: 600; text-align: left; } td, th { padding: 2px 18px 2px 0; }"
                       "code, .code, pre { font-family: '%3'; font-size: 12px; } .n, .number { text-align: right; }")
            .arg(QLatin1String(p.ink), QLatin1String(p.muted), mono_font().family()));
    setHtml(body_);
    verticalScrollBar()->setValue(at);
}

}  // namespace jaxscope::views
