"""The plan of a tape: where every value lives, before anything runs.

``places`` is the data, ``planner`` makes it, with a function for each kind of kernel in ``kinds``; ``instructions`` has
what a plan asks of an instruction, and ``arena`` shares the memory out.
"""
