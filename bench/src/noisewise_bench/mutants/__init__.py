"""Do the tests notice faults? Faults are planted in a copy of the library, one at a time.

A mutation tester of others is not used: mutmut and cosmic-ray plant every fault they know, the
latter in the working tree itself, and have no sample drawn by a seed, no change of a constant by a
share of it, and no order of the tests by the room of the fault, so that a few thousand faults
against a suite of ten minutes would take days on two cores.
"""
