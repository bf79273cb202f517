"""Who compiles kernels: Numba, with less to do for each; Numba as it comes; or nobody."""
