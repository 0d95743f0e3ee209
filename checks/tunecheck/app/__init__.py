"""Use cases: read a host, judge it, write the reports. What the verbs, the gate and the fleet share."""
