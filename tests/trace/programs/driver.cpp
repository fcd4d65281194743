// Runs the whole programs: `program_driver FOLDER` (tests/differential/test_programs.py).
#include "programs.h"

int main(int, char** argv) {
    programs::folder() = argv[1];
    programs::training();
    programs::models();
    programs::loops();
    programs::inference();
    programs::further();
    programs::learning();
    programs::tutorials();
    programs::equinox_loops();
}
