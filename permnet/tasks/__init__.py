"""What is asked of a model: samplers, their exact solver and the frozen benchmarks.

The solver is a module of its own, `permnet.tasks.solve`: nothing that answers with a model imports
it.
"""
