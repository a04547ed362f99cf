"""Reports for people: text, pages and figures. This package only presents results and computes none."""
