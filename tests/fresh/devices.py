"""Exits 0 if the libibverbs selected by `nerve run` has a device. Used because no RDMA program is installed yet."""
import ctypes
import sys

count = ctypes.c_int()
verbs = ctypes.CDLL('libibverbs.so.1')
verbs.ibv_get_device_list.restype = ctypes.c_void_p
verbs.ibv_get_device_list(ctypes.byref(count))
print(count.value, 'devices')
sys.exit(count.value == 0)
