! A broadcast and an allreduce from Fortran, verified, by the module MODULE: mpi or mpi_f08.
program fortran
    use MODULE
    implicit none
    integer, parameter :: n = 250000
    integer :: rank, ranks, k, ierr, wrong, whole(n)
    double precision :: part(n), total(n)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    whole = -1
    if (rank == 0) whole = [(k, k = 1, n)]
    call MPI_Bcast(whole, n, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    part = [(dble(k) * (rank + 1), k = 1, n)]
    call MPI_Allreduce(part, total, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    wrong = count(whole /= [(k, k = 1, n)]) + count(total /= [(dble(k) * ranks * (ranks + 1) / 2, k = 1, n)])
    call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0 .and. wrong == 0) print '(a)', 'ok'
    if (rank == 0 .and. wrong /= 0) print '(i0, a)', wrong, ' numbers are wrong'
    call MPI_Finalize(ierr)
end program fortran
