#include "app/cli/command.h"

#include <CLI/CLI.hpp>

namespace jaxscope::cli {

void Arguments::positional(const char* name, std::string& value, const char* help, bool required) {
    app_.add_option(name, value, help)->required(required);
}
void Arguments::rest(std::vector<std::string>& values, const char* help) {
    app_.prefix_command(false);
    app_.add_option("command", values, help);
}
void Arguments::flag(const char* name, bool& value, const char* help) { app_.add_flag(name, value, help); }
void Arguments::option(const char* name, std::string& value, const char* help) { app_.add_option(name, value, help); }
void Arguments::option(const char* name, std::vector<std::string>& values, const char* help) {
    app_.add_option(name, values, help)->allow_extra_args(false)->take_all();
}
void Arguments::option(const char* name, int& value, const char* help) { app_.add_option(name, value, help)->capture_default_str(); }
void Arguments::option(const char* name, double& value, const char* help) { app_.add_option(name, value, help)->capture_default_str(); }

}  // namespace jaxscope::cli
