"""A signed apt repository in a folder, and what stands in there for packages of NVIDIA's repositories."""
