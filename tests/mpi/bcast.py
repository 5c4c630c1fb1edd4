"""A file of rank 0 to all others by one MPI_Bcast, which rank 0 prints the seconds of, from a barrier until
the last one has it.

    mpirun .. bcast.py SOURCE TARGET
"""

import os
import sys

from mpi4py import MPI

source, target = sys.argv[1:]
world = MPI.COMM_WORLD
root = world.Get_rank() == 0
size = world.bcast(os.path.getsize(source) if root else None)
buffer = bytearray(size)
if root:
    with open(source, "rb") as file:
        file.readinto(buffer)
world.Barrier()
start = MPI.Wtime()
world.Bcast([buffer, MPI.BYTE])
seconds = world.reduce(MPI.Wtime() - start, op=MPI.MAX)
if root:
    print(f"{seconds:.3f}")
else:
    with open(target, "wb") as file:
        file.write(buffer)
