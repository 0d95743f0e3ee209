"""What the plays say at their end: the plan of --check and the next step of a box that could not be worked on. The
callback plugin tunecheck_plan listens and prints; nothing in here asks a box."""
