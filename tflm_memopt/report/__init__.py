"""Formats reports for people as text, pages and figures."""
