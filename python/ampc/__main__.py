"""`ampc …` and `python -m ampc …`: the program. Alone, --cmake-dir, --rules-dir and --program print where they are."""

import os
import sys

from . import cmake_dir, program, rules_dir

PLACES = {"--cmake-dir": cmake_dir, "--rules-dir": rules_dir, "--program": program}


def main():
    if len(sys.argv) == 2 and sys.argv[1] in PLACES:
        print(PLACES[sys.argv[1]]())
        return 0
    path = str(program())
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
