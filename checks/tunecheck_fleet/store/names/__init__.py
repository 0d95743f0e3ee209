"""Which machine has which name: what is found out at the end of an audit, and every name that a machine had."""
