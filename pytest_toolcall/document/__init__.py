"""YAML and JSON documents: values with the line of every key, and the problems found in them."""
