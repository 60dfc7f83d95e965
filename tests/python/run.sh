#!/bin/sh
# Tests of the Python package (make python): the unittest suite against the staged package, with the
# examples of the documents, types, the notebook, and the wheel in an environment of its own.
# From the environment: PYTHON, ASTRA (the program), STAGED (the folder that has the package),
# WHEELS (the folder that has the wheel). Ends with "N passed, M failed".
set -eu
cd "$(dirname "$0")"
: "${PYTHON:?}" "${ASTRA:?}" "${STAGED:?}" "${WHEELS:?}"
export PYTHONPATH="$STAGED:$PWD" PYTHONDONTWRITEBYTECODE=1 WHEELS
export PYDEVD_DISABLE_FILE_VALIDATION=1 # kernels of notebooks say so otherwise
exec "$PYTHON" -m counted "$@"
