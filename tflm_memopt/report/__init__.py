"""Reports for people: text, pages and figures. Reports only present results that were computed before."""
