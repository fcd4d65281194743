// SPDX-License-Identifier: Apache-2.0
#pragma once
// A page of a report as the command line writes it, in the window: headings, sentences, tables. Comes in: HTML of core/report's Page. Goes
// out: its text, when somebody copies it. Never here: what the page says.
#include <QTextBrowser>

namespace jaxscope::views {

class PageView : public QTextBrowser {
    Q_OBJECT
public:
    explicit PageView(const QString& name, QWidget* parent = nullptr);
    /// `body`: as Page writes it in the format Html.
    void set_page(const QString& body);
    const QString& body() const { return body_; }
    void tell(const QString& sentence);  ///< instead of a page: what is being done, or why there is none

private:
    void show();
    QString body_;
};

}  // namespace jaxscope::views
