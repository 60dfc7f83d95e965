# The Python package: it is put together, imports, searches, and says what is wrong. `make python`
# tests the rest. Without Python nothing is tested; a library with sanitizers would need them in
# Python itself.
set -eu
PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>"$SCRATCH/no"; then
    echo "not run: no $PYTHON of 3.9 or later"
    exit 0
fi
case $LDFLAGS in *-fsanitize*)
    echo "not run: Python cannot load a library with sanitizers"
    exit 0
    ;;
esac
"$PYTHON" -B bindings/python/stage.py --version "$VERSION" --library "$BUILD/libastra.so" \
    --into "$SCRATCH"
PYTHONPATH=$SCRATCH "$PYTHON" -B - <<'END'
import astra_planner as astra

found = astra.search(model="llama3-8b", cluster="1x8:H100", top=2, set={"tp": [1, 2]})
assert found.best[0].feasible and found.best[0].strategy.tp <= 2, found
assert "Launch plan 1" in str(found) and "<table" in found._repr_html_()
try:
    astra.search(model="lama3-8b", cluster="1x8:H100")
    raise AssertionError("an unknown model is let pass")
except astra.InputError as error:
    assert "did you mean llama3-8b?" in error.message, error
END
