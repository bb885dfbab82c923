"""The examples of docs/extending.md."""
