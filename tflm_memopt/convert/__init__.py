"""The conversion of a model: from the options to the chosen plan and its report."""
