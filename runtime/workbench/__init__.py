"""The workbench: emitted texts changed by hand, which run, are checked, compared, timed, merged and shipped."""
