"""Code that depends on other plugins, or on what pytest and its plugins keep private."""
