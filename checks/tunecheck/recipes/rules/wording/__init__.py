"""Rules about what a recipe states: pins, words, figures."""
