"""What somebody says of findings: what a decision covers, and the numbers that name several."""
