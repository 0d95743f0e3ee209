"""The words of the field, of the fleet's report and of the machines' own logs that `tunecheck explain` knows."""
