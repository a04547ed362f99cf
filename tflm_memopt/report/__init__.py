"""Reports for people: text, pages and figures. They show computed results and compute nothing."""
