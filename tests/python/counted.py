"""Runs the suite, or the modules that are named, and counts as the other tests do."""

import sys
import time
import unittest


class Slowest(unittest.TextTestResult):
    """Says how long each test took that took long."""

    def startTest(self, test):
        self._began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        took = time.monotonic() - self._began
        if took > 5:
            print(f"{test}: {took:.0f} s", file=sys.stderr)
        super().stopTest(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {test}: {reason}", file=sys.stderr)


def main(names):
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names) if names else loader.discover(".")
    result = unittest.TextTestRunner(resultclass=Slowest).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
