"""Loop nests are data, built from steps of the plan and then written as loops."""
