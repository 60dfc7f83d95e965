# For tests of changes that Astra proposes; $SCRATCH/set has the change's words, one a line.

# The arguments, one a line, without the settings that the remedy changes; then the remedy's.
changed() { # ARGUMENTS...
    while [ $# -gt 0 ]; do
        if [ "$1" = --set ] && grep -q "^${2%%=*}=" "$SCRATCH/set"; then
            shift 2
        else
            echo "$1"
            shift
        fi
    done
    sed 's/^/--set\n/' "$SCRATCH/set"
}
