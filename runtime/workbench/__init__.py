"""The workbench: emitted sources changed by hand, which run, are checked, compared, timed, merged and shipped."""
