#pragma once
#include <QApplication>
#include <QtTest>

namespace jaxscope::views {

/// Runs one test class with the arguments of Qt Test; returns its exit code.
using RunTests = int (*)(int argc, char** argv);
/// By the name of the source file. All files are one executable, which reads Qt's headers once and is linked once; each is run by itself.
bool add_window_tests(const char* file, RunTests run);

template <class Tests, class Application>
int run_window_tests(int argc, char** argv) {
    Application application(argc, argv);
    Tests tests;
    return QTest::qExec(&tests, argc, argv);
}

}  // namespace jaxscope::views

#define JAXSCOPE_WINDOW_TESTS_IN(Tests, Application)   \
    [[maybe_unused]] static const bool added_##Tests = \
        jaxscope::views::add_window_tests(__FILE__, &jaxscope::views::run_window_tests<Tests, Application>);
#define JAXSCOPE_WINDOW_TESTS(Tests) JAXSCOPE_WINDOW_TESTS_IN(Tests, QApplication)
