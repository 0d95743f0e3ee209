"""What causes are called, from night to night."""
