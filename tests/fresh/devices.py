"""Exits 0 if the libibverbs that `nerve run` chose has a device: no RDMA program is installed yet."""
import ctypes
import sys

count = ctypes.c_int()
verbs = ctypes.CDLL('libibverbs.so.1')
verbs.ibv_get_device_list.restype = ctypes.c_void_p
verbs.ibv_get_device_list(ctypes.byref(count))
print(count.value, 'devices')
sys.exit(count.value == 0)
