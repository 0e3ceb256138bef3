"""Loop nests: as data, how they are made of steps of the plan, and how their loops are written."""
