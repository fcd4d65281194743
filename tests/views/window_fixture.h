#pragma once
#include <QSettings>
#include <QTemporaryDir>

#include "graph/graph_layouter.h"
#include "ir/registry.h"
#include "main_window.h"
#include "theme/theme.h"

namespace jaxscope::views {

const QString kSample = QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/transformer_lm.jaxscope");
const QString kWorker = QStringLiteral(JAXSCOPE_BINARY_DIR "/jaxscope-layout");
constexpr int kPatience = 60'000;  // ms; sanitizer builds on busy machines are slow

inline bool settled(app::MainWindow& window) {
    return window.session()->current().done && !window.session()->busy() && !window.program_view()->busy();
}

/// What a process of window tests needs once: settings of its own, primitives, a theme, the layout worker of the build.
class WindowFixture {
public:
    /// False: there is no folder for the settings.
    bool prepare() {
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, kept_.path());
        register_all_primitives();
        set_theme(false);
        GraphLayouter::set_worker(kWorker);
        return kept_.isValid();
    }

private:
    QTemporaryDir kept_;
};

}  // namespace jaxscope::views
